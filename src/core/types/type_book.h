// Facts that containing types need of a type: size, alignment, and the bytes that others may share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "core/types/die.h"
#include "core/types/type_layout.h"

namespace tare::core {

// With 4-byte pointers to data instead of 8-byte ones.
struct NarrowFacts {
  std::uint64_t size_bytes = 0;
  std::uint64_t data_bytes = 0;
  std::uint32_t align_bytes = 1;
};

struct TypeFacts {
  std::uint64_t size_bytes = 0;
  std::uint64_t data_bytes = 0;  // without tail padding that a derived class may use, and without virtual bases
  std::uint32_t align_bytes = 1;
  std::uint32_t pointers = 0;
  NarrowFacts narrow;
  std::uint64_t layout_hash = 0;  // classes: hash of all offsets
  bool is_known = false;          // false: only declared here, or damaged
  bool is_exact = false;          // false: something inside isn't known
  bool is_empty = false;          // a class of C++ without data
  bool is_pod = true;             // in the sense of the ABI: nothing is put into its tail padding
  bool is_polymorphic = false;
  bool has_virtual_bases = false;
  bool is_standard_layout = true;
};

class TypeBook {
 public:
  // Follows names, qualifiers and arrays. Results are cached by the entry's offset in the file.
  TypeFacts facts(const Dwarf_Die& die);

  // Of the current unit: Rust's compiler orders fields itself.
  Language language() const { return language_; }
  void set_language(Language language) { language_ = language; }

  // Classes that are only declared in a unit (clang leaves out classes that another unit has) are found by their names:
  // declare() names a unit's declaration, define() gives the facts of the class with that name.
  void declare(const Dwarf_Die& die, std::uint64_t name_hash) { declared_[die.addr] = name_hash; }
  void define(std::uint64_t name_hash, const TypeFacts& facts) { defined_.try_emplace(name_hash, facts); }

  // The cache by offset only saves time. trim() clears it between units if it is large, and forget_known() if unknown
  // types may be known now.
  void trim();
  void forget_known() { known_.clear(); }
  std::size_t declarations() const { return declared_.size(); }
  void forget_declarations() { declared_.clear(); }

 private:
  TypeFacts read(Dwarf_Die die);
  TypeFacts read_array(Dwarf_Die& die);
  TypeFacts read_declared(Dwarf_Die& die) const;

  std::unordered_map<const void*, TypeFacts> known_;
  std::unordered_map<const void*, std::uint64_t> declared_;
  std::unordered_map<std::uint64_t, TypeFacts> defined_;
  int depth_ = 0;
  Language language_ = Language::Other;
};

// Of a scalar of that size.
TypeFacts scalar_facts(std::uint64_t size_bytes, std::uint64_t align_bytes);
// Powers of two from 1 to 64 KiB; other values of a file are rounded down to the next one.
std::uint32_t sane_align(std::uint64_t align_bytes);
// Bytes that sums of sizes are held below.
inline constexpr std::uint64_t kMostTypeBytes = std::uint64_t{1} << 48;

}  // namespace tare::core
