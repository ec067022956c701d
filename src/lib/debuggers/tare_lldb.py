"""Shows the library's types in lldb: (lldb) command script import /usr/share/tare/tare_lldb.py.

As tare_gdb.py does in gdb: Atoms, Bytes and text streams as their text, Buffers and HeapVectors with their elements;
RefPtrs, CompressedPtrs, Members and Persistents with the object that they point to; variants with their type and value.
Reads memory, calls nothing.
"""

from __future__ import annotations

import re
import struct
import sys

import lldb

FIRST_DYNAMIC_HANDLE = 8 * 8192
SIZE_MASK = (1 << 30) - 1
LONGEST_TEXT = 1024
MOST_ELEMENTS = 10_000


def field(value: lldb.SBValue, name: str) -> lldb.SBValue:
    """A member, also of a base class, of the value itself: not of what a synthetic view shows."""
    value = value.GetNonSyntheticValue()
    found = value.GetChildMemberWithName(name)
    if found.IsValid():
        return found.GetNonSyntheticValue()
    for index in range(value.GetType().GetNumberOfDirectBaseClasses()):
        found = field(value.GetChildAtIndex(index), name)
        if found.IsValid():
            return found
    return lldb.SBValue()


def number(value: lldb.SBValue, name: str) -> int:
    return field(value, name).GetValueAsUnsigned()


def word_at(process: lldb.SBProcess, address: int, size: int) -> int:
    return process.ReadUnsignedFromMemory(address, size, lldb.SBError())


def quoted(process: lldb.SBProcess, address: int, size: int) -> str:
    if address == 0:
        return "null"
    data = process.ReadMemory(address, min(size, LONGEST_TEXT), lldb.SBError()) if size else b""
    text = (data or b"").decode("utf-8", "replace").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"' + ("..." if size > LONGEST_TEXT else "")


def global_address(value: lldb.SBValue, name: str) -> int | None:
    """Where a global variable lies, by symbol: its declared type may have no size."""
    target = value.GetTarget()
    for context in target.FindSymbols(name):
        address = context.GetSymbol().GetStartAddress().GetLoadAddress(target)
        if address != lldb.LLDB_INVALID_ADDRESS:
            return int(address)
    return None


# The library's namespace; its inline part is named after the version: tare::v0_1_0.
NAMESPACE = r"tare::(?:v\d+_\w+::)?"


def own_address(value: lldb.SBValue, name: str) -> int | None:
    """Of a variable of the same copy of the library as the value's type: a process may have several versions."""
    match = re.match(NAMESPACE, value.GetType().GetCanonicalType().GetUnqualifiedType().GetName() or "")
    return global_address(value, (match.group() if match else "tare::") + name)


def atom(value: lldb.SBValue, _: object) -> str:
    handle = number(value, "handle_")
    if handle == 0:
        return "null"
    if handle < FIRST_DYNAMIC_HANDLE:
        return f"static atom {(handle - 1) % 8192} of list {(handle - 1) // 8192}"
    place = own_address(value, "atom_details::range_base")
    if place is None:
        return f"atom {handle}"
    process = value.GetProcess()
    header = word_at(process, place, 8) + 8 * handle
    return quoted(process, header + 8, word_at(process, header + 4, 4) & SIZE_MASK)


def text(value: lldb.SBValue, _: object) -> str:
    return quoted(value.GetProcess(), number(value, "data_"), number(value, "size_"))


def decoded(member: lldb.SBValue) -> int | None:
    """Where a Member points; None for decodings that aren't known here. 1 is the sentinel."""
    bits = number(member, "bits_")
    if bits <= 1:
        return bits
    group = member.GetType().GetCanonicalType().GetTemplateArgumentType(1)
    slot = 0
    if re.fullmatch(f"{NAMESPACE}gc::DefaultGroup", group.GetName() or "") is None:
        decoding = member.GetTarget().FindFirstType(f"{group.GetName()}::Decoding").GetCanonicalType()
        match = re.match(NAMESPACE + r"gc::SplitDecoding<(\d+)", decoding.GetName() or "")
        if match is None:
            return None
        slot = int(match[1])
    bases = own_address(member, "gc::cage_bases")
    return None if bases is None else word_at(member.GetProcess(), bases + 8 * (slot + 1), 8) + 8 * bits


def template_type(value: lldb.SBValue) -> lldb.SBType:
    return value.GetType().GetCanonicalType().GetTemplateArgumentType(0)


def member(value: lldb.SBValue, _: object) -> str:
    return at_address(value, decoded(value))


def static_value(owner: lldb.SBType, name: str, target: lldb.SBTarget) -> int | None:
    """A constant of a class, from its debug information; None where the compiler left it out."""
    constant = owner.GetStaticFieldWithName(name)
    return constant.GetConstantValue(target).GetValueAsUnsigned() if constant.IsValid() else None


def compressed_address(value: lldb.SBValue) -> int | None:
    """Where a CompressedPtr points; None if the tag's constants aren't known. 1 is the sentinel."""
    bits = number(value, "bits_")
    if bits <= 1:
        return bits
    tag = value.GetType().GetCanonicalType().GetTemplateArgumentType(1)
    granule = static_value(tag, "kGranuleBytes", value.GetTarget())
    if granule is None:
        return None
    base = static_value(tag, "kBase", value.GetTarget())
    if base is None:
        place = own_address(value, f"CageBase<{tag.GetName()}>::base_")
        if place is None:
            return None
        base = word_at(value.GetProcess(), place, 8)
    return base + granule * bits


def at_address(value: lldb.SBValue, address: int | None) -> str:
    if address is None:
        return f"compressed {number(value, 'bits_'):#x}"
    if address <= 1:
        return ("null", "sentinel")[address]
    return f"({template_type(value).GetName()} *) {address:#x}"


def compressed(value: lldb.SBValue, _: object) -> str:
    return at_address(value, compressed_address(value))


def root(value: lldb.SBValue, _: object) -> str:
    return at_address(value, number(value, "object_"))


NUMBERS = {"b": "?", "y": "B", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "h": "i", "d": "d"}


def variant(value: lldb.SBValue, _: object) -> str:
    """Its type, and its value if it's a number or a text; of a container, how many bytes it has."""
    process, size, data = value.GetProcess(), number(value, "size_"), number(value, "data_")
    memory = process.ReadMemory(number(value, "type_"), number(value, "type_size_"), lldb.SBError())
    kind = (memory or b"").decode("ascii", "replace")
    if data != 0 and kind in NUMBERS:
        order = "<" if (number(value, "flags_") & 2 == 0) == (sys.byteorder == "little") else ">"
        format_ = order + NUMBERS[kind]
        read = process.ReadMemory(data, struct.calcsize(format_), lldb.SBError())
        return f"'{kind}' {struct.unpack(format_, read)[0]}" if read else f"'{kind}'"
    if data != 0 and kind in ("s", "o", "g"):
        return f"'{kind}' {quoted(process, data, max(size - 1, 0))}"
    return f"'{kind}' {size} bytes"


class Children:
    """What lldb asks of a synthetic view: named children, made in update()."""

    def __init__(self, value: lldb.SBValue, _: object) -> None:
        self.value = value
        self.children: list[lldb.SBValue] = []

    def num_children(self) -> int:
        return len(self.children)

    def get_child_at_index(self, index: int) -> lldb.SBValue | None:
        return self.children[index] if 0 <= index < len(self.children) else None

    def get_child_index(self, name: str) -> int:
        return next((i for i, child in enumerate(self.children) if child.GetName() == name), -1)

    def has_children(self) -> bool:
        return True

    def add_elements(self, first: int, element: lldb.SBType, size: int) -> None:
        for i in range(min(size, MOST_ELEMENTS)):
            address = first + i * element.GetByteSize()
            self.children.append(self.value.CreateValueFromAddress(f"[{i}]", address, element))


class MemberChildren(Children):
    def address(self) -> int | None:
        return decoded(self.value)

    def update(self) -> None:
        address = self.address()
        self.children = []
        if address is not None and address > 1:
            # as a pointer, which lldb follows only as far as it is asked to: objects refer to one another in circles
            order = self.value.GetProcess().GetByteOrder()
            data = lldb.SBData.CreateDataFromUInt64Array(order, 8, [address])
            target = template_type(self.value).GetPointerType()
            self.children = [self.value.CreateValueFromData("object", data, target)]


class CompressedChildren(MemberChildren):
    def address(self) -> int | None:
        return compressed_address(self.value)


class RefPtrChildren(Children):
    def update(self) -> None:
        stored = field(self.value, "stored_")
        is_null = stored.GetType().IsPointerType() and stored.GetValueAsUnsigned() == 0
        self.children = [] if is_null else [stored]


class BufferChildren(Children):
    def update(self) -> None:
        self.children = []
        data = field(self.value, "data_")
        self.add_elements(data.GetValueAsUnsigned(), data.GetType().GetPointeeType(), number(self.value, "size_"))


def array_of(vector: lldb.SBValue) -> tuple[int, int, int] | None:
    """The first element, size and capacity of a HeapVector; None if it isn't known here."""
    array = field(vector, "array_")
    if not field(array, "bits_").IsValid():
        return None  # a RootedVector's is a Persistent
    address = decoded(array)
    if address is None or address <= 1:
        return None if address is None else (0, 0, 0)
    header = template_type(array)
    value = vector.CreateValueFromAddress("array", address, header)
    return address + header.GetByteSize(), number(value, "size_"), number(value, "capacity_")


class VectorChildren(Children):
    def update(self) -> None:
        self.children = []
        found = array_of(self.value)
        if found is not None:
            self.add_elements(found[0], template_type(self.value), found[1])


def buffer(value: lldb.SBValue, _: object) -> str:
    return f"tare::Buffer of {number(value, 'size_')}, capacity {number(value, 'capacity_')}"


def vector(value: lldb.SBValue, _: object) -> str:
    found = array_of(value.GetNonSyntheticValue())
    return "tare::gc::HeapVector" + ("" if found is None else f" of {found[1]}, capacity {found[2]}")


def reference(value: lldb.SBValue, _: object) -> str:
    stored = field(value, "stored_")
    return "null" if stored.GetType().IsPointerType() and stored.GetValueAsUnsigned() == 0 else "tare::RefPtr"


# Regular expressions as lldb has them, after NAMESPACE: POSIX, without \w.
VIEWS = (
    ("Atom", "atom", None),
    ("Bytes", "text", None),
    ("(TextWriter|FixedTextStream|TextStream|BasicTextStream<.*>)", "text", None),
    ("Buffer<.*>", "buffer", "BufferChildren"),
    ("([a-z_]+::)?(BasicRefPtr|RefPtr)<.*>", "reference", "RefPtrChildren"),
    ("CompressedPtr<.*>", "compressed", "CompressedChildren"),
    ("gc::(Root|Persistent|WeakPersistent)<.*>", "root", None),
    ("variant::View", "variant", None),
    ("gc::(BasicMember|Member|WeakMember)<.*>", "member", "MemberChildren"),
    ("gc::(VectorBy|HeapVector)<.*>", "vector", "VectorChildren"),
)


def __lldb_init_module(debugger: lldb.SBDebugger, _: object) -> None:
    for name, summary, children in VIEWS:
        names = f"tare::(v[0-9_]+::)?{name}"
        debugger.HandleCommand(f'type summary add -w tare -e -x "^{names}$" -F {__name__}.{summary}')
        if children is not None:
            debugger.HandleCommand(f'type synthetic add -w tare -x "^{names}$" -l {__name__}.{children}')
    debugger.HandleCommand("type category enable tare")
