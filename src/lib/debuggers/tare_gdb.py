"""Shows the library's types in gdb: (gdb) source /usr/share/tare/tare_gdb.py. Needs the program's debug information.

Atoms and Bytes as their text, text streams as theirs, Buffers and HeapVectors with their elements, RefPtrs and Members
with the object that they point to. Reads memory, calls nothing.
"""

from __future__ import annotations

import re
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
    bases = int(gdb.parse_and_eval(f"(unsigned long)&{global_of(member.type, 'gc::cage_bases')}"))
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
    "gc::BasicMember<.*>": MemberPrinter,
    "gc::VectorBy<.*>": vector_printer,
}


def register(objfile: gdb.Objfile | None = None) -> None:
    printers = gdb.printing.RegexpCollectionPrettyPrinter("tare")
    for number, (names, make) in enumerate(PRINTERS.items()):
        printers.add_printer(str(number), f"^{TARE}{names}$", make)
    gdb.printing.register_pretty_printer(objfile, printers, replace=True)


register()
