// Walks the units that hold the addresses, and of them the functions that do.
#include "core/allocated_types/pointed_types.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>

namespace tare::core {
namespace {

constexpr unsigned kMaxNesting = 200;        // deeper only in damaged files
constexpr unsigned kMaxIndirections = 32;    // typedefs and qualifiers around a type; more only in a ring
constexpr std::size_t kMostPerAddress = 64;  // of a function with more variables the innermost ones

using Found = std::vector<std::vector<PointedType>>;

std::optional<Dwarf_Die> type_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  if (dwarf_attr_integrate(die, DW_AT_type, &attribute) == nullptr || dwarf_formref_die(&attribute, &type) == nullptr)
    return std::nullopt;
  return type;
}

// Without typedefs and qualifiers; `alias` is the innermost typedef's name, should the type have none.
std::optional<Dwarf_Die> plain_type(std::optional<Dwarf_Die> type, const char** alias) {
  for (unsigned i = 0; type && i < kMaxIndirections; ++i) {
    switch (dwarf_tag(&*type)) {
      case DW_TAG_typedef:
        *alias = dwarf_diename(&*type);
        [[fallthrough]];
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_restrict_type:
      case DW_TAG_atomic_type:
        type = type_of(&*type);
        break;
      default:
        return type;
    }
  }
  return std::nullopt;
}

bool is_class(int tag) { return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type; }

// The type that a variable or a function's result points to, if it is a class of known size.
std::optional<PointedType> pointed_by(Dwarf_Die* die) {
  const char* alias = nullptr;
  std::optional<Dwarf_Die> pointer = plain_type(type_of(die), &alias);
  if (!pointer || dwarf_tag(&*pointer) != DW_TAG_pointer_type) return std::nullopt;
  alias = nullptr;
  std::optional<Dwarf_Die> type = plain_type(type_of(&*pointer), &alias);
  if (!type || !is_class(dwarf_tag(&*type))) return std::nullopt;
  Dwarf_Attribute attribute;
  Dwarf_Word bytes = 0;
  if (dwarf_attr_integrate(&*type, DW_AT_byte_size, &attribute) == nullptr || dwarf_formudata(&attribute, &bytes) != 0)
    return std::nullopt;
  const char* name = dwarf_diename(&*type);
  if (name == nullptr || *name == '\0') name = alias;
  if (name == nullptr || *name == '\0' || bytes == 0) return std::nullopt;
  int line = 0;
  if (dwarf_decl_line(&*type, &line) != 0 || line < 0) line = 0;
  return PointedType{0, name, bytes, static_cast<std::uint32_t>(line)};
}

class UnitWalk {
 public:
  UnitWalk(std::span<const std::uint64_t> addresses, Found& found)
      : addresses_(addresses), found_(found), depth_(addresses.size()) {}

  void walk_unit(Dwarf_Die unit) {
    furthest_ = nullptr;  // units may lie in different files
    walk(unit, 0);
  }

  // Innermost functions first: how far out a function lies is known only when all within it have been seen.
  void finish() {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      std::vector<PointedType>& types = found_[i];
      for (PointedType& type : types) type.functions_out = depth_[i] - type.functions_out;
      std::sort(types.begin(), types.end());
      types.erase(std::unique(types.begin(), types.end()), types.end());
    }
  }

 private:
  // Functions lie in the unit, in namespaces, in classes and in each other.
  void walk(Dwarf_Die parent, unsigned nesting) {
    Dwarf_Die die;
    if (nesting > kMaxNesting || dwarf_child(&parent, &die) != 0) return;
    do {
      switch (dwarf_tag(&die)) {
        case DW_TAG_subprogram:
          if (const std::vector<std::size_t> inside = inside_of(die); !inside.empty()) {
            enter_function(die, inside, nesting);
          }
          break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
          walk(die, nesting + 1);
          break;
        default:
          break;
      }
    } while (next(&die));
  }

  // libdw follows DW_AT_sibling without a check. In a damaged file, it may lead backwards, or into entries that were
  // visited already, twice as many at each level. Entries lie in the file in the order of a walk.
  bool next(Dwarf_Die* die) {
    furthest_ = std::max<const void*>(furthest_, die->addr);
    Dwarf_Die next;
    if (dwarf_siblingof(die, &next) != 0 || next.addr <= furthest_) return false;
    *die = next;
    return true;
  }

  // Indices of the addresses that `die` has code at.
  std::vector<std::size_t> inside_of(Dwarf_Die die) const {
    std::vector<std::size_t> inside;
    Dwarf_Addr base;
    Dwarf_Addr low;
    Dwarf_Addr high;
    for (ptrdiff_t offset = 0; (offset = dwarf_ranges(&die, offset, &base, &low, &high)) > 0;) {
      if (low == 0) continue;  // dropped by the linker
      auto hit = std::lower_bound(addresses_.begin(), addresses_.end(), low);
      for (; hit != addresses_.end() && *hit < high; ++hit)
        inside.push_back(static_cast<std::size_t>(hit - addresses_.begin()));
    }
    return inside;
  }

  void enter_function(Dwarf_Die die, const std::vector<std::size_t>& inside, unsigned nesting) {
    ++functions_;
    for (const std::size_t i : inside) depth_[i] = functions_;
    take(die, inside);  // its result's type
    enter_block(die, inside, nesting + 1);
    --functions_;
  }

  void enter_block(Dwarf_Die parent, const std::vector<std::size_t>& inside, unsigned nesting) {
    Dwarf_Die die;
    if (nesting > kMaxNesting || dwarf_child(&parent, &die) != 0) return;
    do {
      switch (dwarf_tag(&die)) {
        case DW_TAG_variable:
          take(die, inside);
          break;
        case DW_TAG_inlined_subroutine:
          if (const std::vector<std::size_t> within = inside_of(die); !within.empty())
            enter_function(die, within, nesting);
          break;
        case DW_TAG_lexical_block:
          if (const std::vector<std::size_t> within = inside_of(die); !within.empty()) {
            enter_block(die, within, nesting + 1);
          }
          break;
        default:
          break;
      }
    } while (next(&die));
  }

  void take(Dwarf_Die die, const std::vector<std::size_t>& inside) {
    std::optional<PointedType> type = pointed_by(&die);
    if (!type) return;
    type->functions_out = functions_;  // counted from outside until finish()
    for (const std::size_t i : inside) {
      if (found_[i].size() < kMostPerAddress) found_[i].push_back(*type);
    }
  }

  std::span<const std::uint64_t> addresses_;
  Found& found_;
  std::vector<std::uint32_t> depth_;  // functions around the address that were entered, by address
  std::uint32_t functions_ = 0;       // entered now
  const void* furthest_ = nullptr;    // of the unit's entries that were met
};

// The functions of a unit: of split DWARF they lie in a file of their own, which libdw finds.
Dwarf_Die functions_of(Dwarf_Die unit) {
  Dwarf_Die split = {};
  const bool is_split =
      dwarf_cu_info(unit.cu, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr) == 0 && split.cu != nullptr;
  return is_split ? split : unit;
}

}  // namespace

std::vector<std::vector<PointedType>> pointed_types(Dwarf* dwarf, std::span<const std::uint64_t> addresses) {
  Found found(addresses.size());
  UnitWalk walk(addresses, found);
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  Dwarf_Half version;
  std::uint8_t kind;
  while (dwarf_get_units(dwarf, unit, &unit, &version, &kind, &die, nullptr) == 0) {
    if (kind != DW_UT_compile && kind != DW_UT_skeleton) continue;
    // Ranges of units spare the walk through the others: a program has hundreds, its sites lie in a few.
    Dwarf_Addr base;
    Dwarf_Addr low;
    Dwarf_Addr high;
    bool holds_one = false;
    for (ptrdiff_t offset = 0; !holds_one && (offset = dwarf_ranges(&die, offset, &base, &low, &high)) > 0;) {
      const auto hit = std::lower_bound(addresses.begin(), addresses.end(), low);
      holds_one = hit != addresses.end() && *hit < high;
    }
    if (holds_one) walk.walk_unit(functions_of(die));
  }
  walk.finish();
  return found;
}

}  // namespace tare::core
