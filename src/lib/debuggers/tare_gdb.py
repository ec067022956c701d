"""Shows the library's types in gdb: (gdb) source /usr/share/tare/tare_gdb.py. Needs the program's debug information.

Atoms and Bytes as their text, text streams as theirs, Buffers and HeapVectors with their elements; RefPtrs, CompressedPtrs,
Members and Persistents with the object that they point to; variants with their type and value. Reads memory, calls nothing.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable, Iterator

import gdb
import gdb.printing

FIRST_DYNAMIC_HANDLE = 8 * 8192
SIZE_MASK = (1 << 30) - 1


# The library's namespace; its inline part is named after the version: tare::v0_1_0.
TARE = r"tare::(?:v\d+_\w+::)?"


def global_of(type_: gdb.Type, name: str) -> str:
    """A variable of the same copy of the library as the type: a process may have several versions."""
    match = re.match(TARE, str(type_.strip_typedefs().unqualified()))
    return (match.group() if match else "tare::") + name


def quoted(value: gdb.Value, size: int) -> str:
    """The text of `size` bytes at a char*; gdb cuts it as it cuts others (print elements)."""
    if int(value) == 0:
        return "null"
    return value.lazy_string(length=size, encoding="UTF-8").value().format_string() if size else '""'


def pointer(address: int, to: gdb.Type) -> gdb.Value:
    return gdb.Value(address).cast(to.pointer())


class AtomPrinter:
    def __init__(self, value: gdb.Value) -> None:
        self.handle = int(value["handle_"])
        self.range_base = global_of(value.type, "atom_details::range_base")

    def to_string(self) -> str:
        if self.handle == 0:
            return "null"
        if self.handle < FIRST_DYNAMIC_HANDLE:
            index = self.handle - 1
            return f"static atom {index % 8192} of list {index // 8192}"
        base = int(gdb.parse_and_eval(f"(unsigned long){self.range_base}"))
        header = base + 8 * self.handle
        words = pointer(header, gdb.lookup_type("unsigned int"))
        return quoted(pointer(header + 8, gdb.lookup_type("char")), int(words[1]) & SIZE_MASK)


class BytesPrinter:
    def __init__(self, value: gdb.Value) -> None:
        self.value = value

    def to_string(self) -> str:
        return quoted(self.value["data_"], int(self.value["size_"]))


class ElementsPrinter:
    """An array by its first element and how many there are."""

    def __init__(self, name: str, first: gdb.Value, size: int, capacity: int) -> None:
        self.name, self.first, self.size, self.capacity = name, first, size, capacity

    def to_string(self) -> str:
        return f"{self.name} of {self.size}, capacity {self.capacity}"

    def children(self) -> Iterator[tuple[str, gdb.Value]]:
        return ((f"[{i}]", (self.first + i).dereference()) for i in range(self.size))

    def display_hint(self) -> str:
        return "array"


def buffer_printer(value: gdb.Value) -> ElementsPrinter:
    return ElementsPrinter("tare::Buffer", value["data_"], int(value["size_"]), int(value["capacity_"]))


def decoded(member: gdb.Value) -> int | None:
    """Where a Member points; None for decodings that aren't known here. 1 is the sentinel."""
    bits = int(member["bits_"])
    if bits <= 1:
        return bits
    group = member.type.strip_typedefs().template_argument(1)
    slot = 0
    if re.fullmatch(f"{TARE}gc::DefaultGroup", group.name) is None:
        try:
            decoding = gdb.lookup_type(f"{group.name}::Decoding").strip_typedefs()
        except gdb.error:
            return None
        match = re.match(TARE + r"gc::SplitDecoding<(\d+)", decoding.name)
        if match is None:
            return None
        slot = int(match[1])
    # In quotes, because a program of clang's describes the variable nowhere: only its symbol has the name.
    bases = int(gdb.parse_and_eval(f"(unsigned long)&'{global_of(member.type, 'gc::cage_bases')}'"))
    return int(pointer(bases, gdb.lookup_type("unsigned long"))[slot + 1]) + 8 * bits


class MemberPrinter:
    def __init__(self, value: gdb.Value) -> None:
        self.value = value
        self.address = decoded(value)

    def to_string(self) -> str:
        if self.address is None:
            return f"compressed {int(self.value['bits_']):#x}"
        if self.address <= 1:
            return ("null", "sentinel")[self.address]
        target = self.value.type.strip_typedefs().template_argument(0)
        return f"({target.name} *) {self.address:#x}"

    def children(self) -> Iterator[tuple[str, gdb.Value]]:
        if self.address is not None and self.address > 1:
            yield "object", pointer(self.address, self.value.type.strip_typedefs().template_argument(0))


class PointerPrinter:
    """The object at an address: of a CompressedPtr or a Persistent."""

    def __init__(self, address: int, target: gdb.Type) -> None:
        self.address, self.target = address, target

    def to_string(self) -> str:
        return "null" if self.address == 0 else f"({self.target} *) {self.address:#x}"

    def children(self) -> Iterator[tuple[str, gdb.Value]]:
        if self.address != 0 and self.target.strip_typedefs().code != gdb.TYPE_CODE_VOID:
            yield "object", pointer(self.address, self.target)


class TextPrinter:
    def __init__(self, text: str) -> None:
        self.text = text

    def to_string(self) -> str:
        return self.text


def compressed_printer(value: gdb.Value) -> PointerPrinter | TextPrinter:
    """The window's start is a constant of the tag, or a variable of CageBase<Tag>."""
    bits = int(value["bits_"])
    type_ = value.type.strip_typedefs().unqualified()
    target, tag = type_.template_argument(0), type_.template_argument(1)
    if bits <= 1:
        return PointerPrinter(0, target) if bits == 0 else TextPrinter("sentinel")
    try:
        granule = int(gdb.parse_and_eval(f"'{tag}::kGranuleBytes'"))
        names = [field.name for field in tag.strip_typedefs().fields()]
        where = f"{tag}::kBase" if "kBase" in names else f"{global_of(type_, 'CageBase')}<{tag}>::base_"
        return PointerPrinter(int(gdb.parse_and_eval(f"'{where}'")) + granule * bits, target)
    except gdb.error:
        return TextPrinter(f"compressed {bits:#x}")  # the compiler left the tag's constants out


def root_printer(value: gdb.Value) -> PointerPrinter:
    return PointerPrinter(int(value["object_"]), value.type.strip_typedefs().template_argument(0))


NUMBERS = {"b": "?", "y": "B", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "h": "i", "d": "d"}


def view_printer(value: gdb.Value) -> TextPrinter:
    """A variant's type, and its value if it's a number or a text; of a container, how many bytes it has."""
    size, data = int(value["size_"]), int(value["data_"])
    kind = value["type_"].string(length=int(value["type_size_"]))
    order = "<" if (int(value["flags_"]) & 2 == 0) == (sys.byteorder == "little") else ">"
    shown = f"{size} bytes"
    if data != 0 and kind in NUMBERS:
        format_ = order + NUMBERS[kind]
        memory = gdb.selected_inferior().read_memory(data, struct.calcsize(format_))
        shown = str(struct.unpack(format_, bytes(memory))[0])
    elif data != 0 and kind in ("s", "o", "g"):
        shown = quoted(value["data_"], max(size - 1, 0))
    return TextPrinter(f"'{kind}' {shown}")


class RefPtrPrinter:
    def __init__(self, value: gdb.Value) -> None:
        self.stored = value["stored_"]

    def to_string(self) -> str:
        return "null" if self.stored.type.code == gdb.TYPE_CODE_PTR and int(self.stored) == 0 else "tare::RefPtr"

    def children(self) -> Iterator[tuple[str, gdb.Value]]:
        if self.stored.type.code != gdb.TYPE_CODE_PTR or int(self.stored) != 0:
            yield "object", self.stored


def vector_printer(value: gdb.Value) -> ElementsPrinter | MemberPrinter | None:
    member = value["array_"]
    if all(field.name != "bits_" for field in member.type.strip_typedefs().fields()):
        return None  # a RootedVector's is a Persistent
    element = value.type.strip_typedefs().template_argument(0)
    address = decoded(member)
    if address is None:
        return MemberPrinter(member)
    if address <= 1:
        return ElementsPrinter("tare::gc::HeapVector", pointer(0, element), 0, 0)
    array = pointer(address, member.type.strip_typedefs().template_argument(0)).dereference()
    first = pointer(address + array.type.sizeof, element)
    return ElementsPrinter("tare::gc::HeapVector", first, int(array["size_"]), int(array["capacity_"]))


PRINTERS: dict[str, Callable[[gdb.Value], object]] = {
    "Atom": AtomPrinter,
    "Bytes": BytesPrinter,
    "(TextWriter|FixedTextStream|BasicTextStream<.*>)": BytesPrinter,
    "Buffer<.*>": buffer_printer,
    r"(\w+::)?BasicRefPtr<.*>": RefPtrPrinter,
    "CompressedPtr<.*>": compressed_printer,
    "gc::BasicMember<.*>": MemberPrinter,
    "gc::Root<.*>": root_printer,
    "variant::View": view_printer,
    "gc::VectorBy<.*>": vector_printer,
}


def register(objfile: gdb.Objfile | None = None) -> None:
    printers = gdb.printing.RegexpCollectionPrettyPrinter("tare")
    for number, (names, make) in enumerate(PRINTERS.items()):
        printers.add_printer(str(number), f"^{TARE}{names}$", make)
    gdb.printing.register_pretty_printer(objfile, printers, replace=True)


register()
