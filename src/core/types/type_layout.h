// The layout of one type as the compiler made it: its fields with offsets, the gaps between them, and the results of
// other orders or narrower pointers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tare::core {

enum class TypeKind : std::uint8_t { Struct, Class, Union };

enum class Language : std::uint8_t { C, Cxx, Rust, Other };

enum class FieldKind : std::uint8_t {
  Member,
  BitField,
  Base,
  VirtualBase,   // DWARF has no offset; they follow the other fields
  TablePointer,  // to the table of virtual functions
  Variant,       // one of those of a Rust enum, which lie over each other
  Flexible,      // an array without a length, at the end
};

struct Field {
  std::string name;  // empty: an anonymous member, or a base
  std::string type;  // as the source names it
  FieldKind kind = FieldKind::Member;
  std::uint64_t offset_bits = 0;  // from the object's begin; of a virtual base 0
  std::uint64_t size_bits = 0;    // of a base: its size inside the object, because others may lie in its tail padding
  std::uint32_t align_bytes = 1;  // of a bit-field that of its declared type
};

// Bits between fields that nothing uses.
struct Hole {
  std::uint64_t offset_bits = 0;
  std::uint64_t size_bits = 0;

  bool operator==(const Hole&) const = default;
};

// The result of the search for another order of fields.
enum class OrderState : std::uint8_t {
  Movable,
  Overlaid,        // a union, or variants: all lie at the same place
  Packed,          // without regard to alignment: there is nothing to gain
  CompilerOrders,  // Rust: the compiler has chosen already
  NotUnderstood,   // the implemented rules give other offsets than the compiler: no order is proposed
};

struct TypeLayout {
  std::string name;  // qualified; of a type without name that of its typedef or of the member it is the type of
  TypeKind kind = TypeKind::Struct;
  Language language = Language::Other;
  std::string file;  // empty: unknown
  std::uint32_t line = 0;
  std::uint64_t size_bytes = 0;
  std::uint32_t align_bytes = 1;
  std::vector<Field> fields;     // as declared, bases first
  std::vector<Hole> holes;       // by offset, tail padding not among them
  std::uint64_t hole_bytes = 0;  // whole ones
  std::uint64_t hole_bits = 0;   // beside them, around bit-fields; those of the tail that are no byte, too
  std::uint64_t tail_padding_bits = 0;
  std::uint32_t cache_lines = 0;        // of 64 bytes, where the object begins with one
  std::uint32_t straddling_fields = 0;  // that lie in two lines and would fit into one

  OrderState order_state = OrderState::Movable;
  std::uint64_t reordered_bytes = 0;  // size with `order`; size_bytes where none is better
  // Fields by index, including bases and fields that must not move; empty: unchanged.
  std::vector<std::uint32_t> order;

  // With pointers to data of 4 instead of 8 bytes, also in members and bases; pointers to functions and to tables of
  // virtual functions stay.
  std::uint32_t pointers = 0;
  std::uint64_t narrow_bytes = 0;  // in the order as it is; size_bytes where order_state isn't Movable or Overlaid
  std::uint64_t narrow_reordered_bytes = 0;
  std::vector<std::uint32_t> narrow_order;  // empty: it stays

  bool is_standard_layout = false;  // as C has it: other programs, files and the network may rely on the order
  bool is_polymorphic = false;

  std::uint64_t tail_padding_bytes() const { return tail_padding_bits / 8; }
};

}  // namespace tare::core
