// A value of the language: nil, true or false, a number, a text, or a cell of the heap. 16 bytes with compressed links.
//
// A text is an atom: equal texts are one, compared by 4 bytes, and freed by their table when nobody holds them. A cell
// is named by a Link, so that a value may lie in any collected object whose trace() passes it on, and, for as long as
// a function runs, on the stack. In std::vector and the like it would be found by nobody: that's what HeapVector is
// for.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "cell.h"
#include "link.h"
#include "tare/atom.h"
#include "tare/compressed_ptr.h"
#include "tare/gc/visitor.h"

namespace script {

enum class Kind : std::uint8_t { Nil, Bool, Number, Text, Cell };

class Value {
 public:
  Value() = default;  // nil
  explicit Value(bool truth) : bits_(truth ? kTrue : kFalse) {}
  explicit Value(double number) : bits_(std::isnan(number) ? kNan : std::bit_cast<std::uint64_t>(number)) {}
  explicit Value(tare::Atom text) : text_(std::move(text)) {}
  explicit Value(Cell* cell) : cell_(cell) {}

  Kind kind() const {
    if (cell_) return Kind::Cell;
    if (text_) return Kind::Text;
    if (bits_ == kNil) return Kind::Nil;
    return bits_ == kTrue || bits_ == kFalse ? Kind::Bool : Kind::Number;
  }
  bool is_nil() const { return kind() == Kind::Nil; }
  bool is_number() const { return kind() == Kind::Number; }
  bool is_text() const { return static_cast<bool>(text_); }
  // nil and false are false, all else is true.
  bool is_true() const { return cell_ || text_ || (bits_ != kNil && bits_ != kFalse); }

  double number() const { return std::bit_cast<double>(bits_); }
  std::string_view text() const { return text_.text(); }
  const tare::Atom& atom() const { return text_; }
  Cell* cell() const { return cell_.get(); }

  // The cell if it is of this class, or null.
  template <class T>
  T* as() const {
    Cell* cell = cell_.get();
    return cell != nullptr && cell->kind() == T::kKind ? static_cast<T*>(cell) : nullptr;
  }

  std::size_t hash() const {
    if (text_) return text_.hash();
    return tare::hash_bits(cell_ ? bits_of(cell_) : static_cast<std::uint32_t>(bits_ ^ bits_ >> 32));
  }
  // NaN is no number's equal, nor its own.
  friend bool operator==(const Value& a, const Value& b) {
    if (a.cell_ != b.cell_ || a.text_ != b.text_) return false;
    return a.is_number() && b.is_number() ? a.number() == b.number() : a.bits_ == b.bits_;
  }

  void trace(tare::gc::Visitor& visitor) const { visitor.trace(cell_); }

 private:
  // Values that aren't numbers are NaNs that no calculation has as its result.
  static constexpr std::uint64_t kNan = 0x7ff8'0000'0000'0000;
  static constexpr std::uint64_t kNil = 0x7ff8'0000'0000'0001;
  static constexpr std::uint64_t kFalse = 0x7ff8'0000'0000'0002;
  static constexpr std::uint64_t kTrue = 0x7ff8'0000'0000'0003;

  Link<Cell> cell_;
  tare::Atom text_;
  std::uint64_t bits_ = kNil;
};

static_assert(sizeof(Value) == (sizeof(Link<Cell>) == 4 ? 16 : 24));

}  // namespace script
