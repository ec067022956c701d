"""Random C++ types: as text, as text in another order of fields, and as what the compiler says of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

# A pointer to data is written P, so that the same text compiles with 4-byte ones.
PRELUDE = """
#include <cstddef>
#include <cstdint>
#include <cstdio>
#ifdef NARROW
typedef std::uint32_t P;
#else
typedef void *P;
#endif
typedef void (*F)();
enum class Small : unsigned char { One };
enum Large { Two };
struct Empty {};
struct Own { Own(); int a; char b; };
struct Pod { long a; char b; };
struct Wide { alignas(32) char c; };
"""

_SCALARS = (
    "char",
    "short",
    "int",
    "long",
    "float",
    "double",
    "bool",
    "P",
    "P",
    "F",
    "long double",
    "__int128",
    "Small",
)
_TYPES = (*_SCALARS, *_SCALARS, "Large", "Own", "Pod", "Empty", "wchar_t", "int Own::*", "void (Own::*)()")
_BITS = (("int", 31), ("unsigned", 32), ("char", 8), ("long", 63), ("bool", 1), ("short", 15), ("Large", 2))


@dataclass
class Member:
    name: str
    text: str  # the whole declaration
    is_bit_field: bool = False


@dataclass
class Struct:
    name: str
    head: str
    members: list[Member] = field(default_factory=list)
    is_virtual: bool = False
    has_virtual_base: bool = False
    is_flexible: bool = False  # can be in no other
    is_packed: bool = False
    is_plain: bool = True  # members alone, each in its own bytes

    def text(self, name: str, order: list[str] | None = None) -> str:
        """Members in the order of these names; what has no name (bases, tables of functions) is where it was."""
        members = {each.name: each for each in self.members}
        chosen = [members[each] for each in order if each in members] if order else self.members
        assert len(chosen) == len(self.members)
        body = "".join(f" {each.text}\n" for each in chosen)
        virtual = f" virtual void f_{self.name}();\n" if self.is_virtual else ""
        return f"struct {self.head.replace('$', name)} {{\n{body}{virtual}}};\n"


def random_structs(count: int, seed: int) -> list[Struct]:
    dice = random.Random(seed)
    made: list[Struct] = []
    for number in range(count):
        made.append(_struct(dice, number, [each.name for each in made if not each.is_flexible]))
    return made


def source(structs: list[Struct]) -> str:
    """A program that prints `NAME SIZE ALIGN` and `NAME MEMBER OFFSET SIZE` of all."""
    text = [PRELUDE, *(each.text(each.name) for each in structs)]
    text += [f"{each.name} *v_{each.name};" for each in structs]
    for each in structs:
        text.append(f"static void print_{each.name}() {{")
        text.append(f' printf("{each.name} %zu %zu\\n", sizeof({each.name}), alignof({each.name}));')
        if not each.has_virtual_base:
            text += [
                f' printf("{each.name} {member.name} %zu %zu\\n", offsetof({each.name}, {member.name}),'
                f" {'(std::size_t)0' if member.name == 'rest' else f'sizeof({each.name}::{member.name})'});"
                for member in each.members
                if not member.is_bit_field
            ]
        text.append("}")
    text += ["int main() {", *(f" print_{each.name}();" for each in structs), "}", ""]
    return "\n".join(text)


def _struct(dice: random.Random, number: int, earlier: list[str]) -> Struct:
    head = "$"
    if dice.random() < 0.05:
        head = "alignas(64) $"
    elif dice.random() < 0.05:
        head = "__attribute__((packed)) $"
    is_packed = "packed" in head
    bases: list[str] = []
    if len(earlier) > 20 and not is_packed:
        while dice.random() < 0.25 and len(bases) < 3:
            base = dice.choice(earlier)
            if all(base != each.removeprefix("virtual ") for each in bases):
                bases.append(f"virtual {base}" if dice.random() < 0.2 else base)
        if dice.random() < 0.1:
            bases.append("Own")
        if dice.random() < 0.1:
            bases.append("Empty")
    if bases:
        head += " : " + ", ".join(bases)
    made = Struct(f"S{number}", head, is_virtual=not is_packed and dice.random() < 0.1)
    made.has_virtual_base = "virtual" in head
    made.is_packed = is_packed
    for place in range(dice.choice((1, 2, 3, 4, 5, 6, 8, 12, 30))):
        made.members.append(_member(dice, earlier, f"m{place}", not is_packed))
    if not bases and dice.random() < 0.03:
        made.members.append(Member("rest", "char rest[];"))
        made.is_flexible = True
    made.is_plain = (
        not bases
        and not made.is_virtual
        and not any(each.is_bit_field or "no_unique" in each.text for each in made.members)
    )
    return made


def _member(dice: random.Random, earlier: list[str], name: str, may_align: bool) -> Member:
    is_private = dice.random() < 0.05
    text, is_bit_field = _declaration(dice, earlier, name, may_align)
    return Member(name, f"private: {text}; public:" if is_private else f"{text};", is_bit_field)


def _declaration(dice: random.Random, earlier: list[str], name: str, may_align: bool) -> tuple[str, bool]:
    what = dice.random()
    if what < 0.15:
        base, most = dice.choice(_BITS)
        return f"{base} {name} : {dice.randint(1, most)}", True
    if what < 0.2:
        return f"union {{ int a; char b[{dice.randint(1, 9)}]; }} {name}", False
    if what < 0.25:
        return f"struct {{ char a; {dice.choice(_SCALARS)} b; }} {name}", False
    if what < 0.33 and earlier:
        return f"{dice.choice(earlier)} {name}", False
    if what < 0.36 and may_align:
        return f"alignas(16) int {name}", False
    if what < 0.39 and may_align:
        return f"[[no_unique_address]] {dice.choice(('Empty', 'Own'))} {name}", False
    if what < 0.45:
        return f"{dice.choice(_SCALARS)} {name}[{dice.choice((1, 2, 3, 5, 128, 256, 40000, 65536))}]", False
    if what < 0.47 and may_align:
        return f"Wide {name}", False
    type_name = dice.choice(_TYPES)
    if type_name.endswith("*)()"):
        return f"void (Own::*{name})()", False
    return f"{type_name} {name}", False
