// Walks DIEs with libdw: once over a unit for its functions, once over a function for the calls inlined into it.
#include "core/symbols/dwarf_unit.h"

#include <dwarf.h>

#include <algorithm>
#include <tuple>

namespace tare::core {
namespace {

constexpr unsigned kMaxNesting =
    200;  // deeper only in damaged files; recursion stays within a few hundred KiB of stack

// libdw follows DW_AT_sibling blindly; a damaged one may lead backwards, and we would never end.
bool next_sibling(Dwarf_Die* die) {
  Dwarf_Die next;
  if (dwarf_siblingof(die, &next) != 0 || next.addr <= die->addr) return false;
  *die = next;
  return true;
}

template <typename Visit>  // visit(low, high)
void for_each_range(Dwarf_Die* die, Visit&& visit) {
  Dwarf_Addr base;
  Dwarf_Addr low;
  Dwarf_Addr high;
  for (ptrdiff_t offset = 0; (offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0;) {
    if (low != 0 && low < high) visit(low, high);  // at 0: dropped by the linker
  }
}

std::string_view text_of(Dwarf_Attribute* attribute) {
  const char* text = attribute == nullptr ? nullptr : dwarf_formstring(attribute);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

std::optional<std::uint32_t> number_of(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0) return std::nullopt;
  if (value > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

DwarfFrame names_of(Dwarf_Die* die) {
  DwarfFrame frame;
  Dwarf_Attribute attribute;
  frame.linkage_name = text_of(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
  if (frame.linkage_name.empty()) {
    frame.linkage_name = text_of(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute));
  }
  frame.name = text_of(dwarf_attr_integrate(die, DW_AT_name, &attribute));
  return frame;
}

std::optional<LineProgram> line_program_of(Dwarf_Die* unit, const LineSections& sections) {
  Dwarf_Attribute attribute;
  Dwarf_Word offset = 0;
  if (dwarf_attr(unit, DW_AT_stmt_list, &attribute) == nullptr || dwarf_formudata(&attribute, &offset) != 0) return {};
  return LineProgram::parse(sections, offset, text_of(dwarf_attr(unit, DW_AT_comp_dir, &attribute)));
}

}  // namespace

DwarfUnit::DwarfUnit(Dwarf_Die unit_die, Dwarf_Die functions_die, const LineSections& sections)
    : die_(functions_die), lines_(line_program_of(&unit_die, sections)) {}

void DwarfUnit::index_functions(Depth depth) {
  functions_.clear();
  const auto walk = [&](auto&& self, Dwarf_Die parent, unsigned nesting) -> void {
    Dwarf_Die die;
    if (nesting > kMaxNesting || dwarf_child(&parent, &die) != 0) return;
    do {
      bool descend = false;
      switch (dwarf_tag(&die)) {
        case DW_TAG_subprogram: {
          const Dwarf_Off offset = dwarf_dieoffset(&die);
          for_each_range(&die,
                         [&](std::uint64_t low, std::uint64_t high) { functions_.push_back({low, high, offset}); });
          descend = depth == Depth::Everything;
          break;
        }
        case DW_TAG_namespace:
        case DW_TAG_module:
          descend = true;
          break;
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
        case DW_TAG_interface_type:
        case DW_TAG_enumeration_type:
        case DW_TAG_variant_part:
        case DW_TAG_lexical_block:
          descend = depth == Depth::Everything;
          break;
        default:
          break;
      }
      if (descend) self(self, die, nesting + 1);
    } while (next_sibling(&die));
  };
  walk(walk, die_, 0);
  std::sort(functions_.begin(), functions_.end(), [](const Function& a, const Function& b) {
    return std::tie(a.low, b.high, a.die) < std::tie(b.low, a.high, b.die);
  });
  indexed_ = depth;
}

// The last that starts at or before the address: of nested functions the inner one. An overlap that ends before the
// address hides the outer one only if functions nest, which next to no language does; then the neighbours are tried.
const DwarfUnit::Function* DwarfUnit::function_at(std::uint64_t address) const {
  auto after = std::upper_bound(functions_.begin(), functions_.end(), address,
                                [](std::uint64_t a, const Function& function) { return a < function.low; });
  for (int tries = 0; after != functions_.begin() && tries < 16; ++tries) {
    --after;
    if (address < after->high) return &*after;
  }
  return nullptr;
}

std::vector<std::vector<DwarfFrame>> DwarfUnit::find(std::span<const std::uint64_t> addresses) {
  if (!indexed_) index_functions(Depth::NamespacesOnly);
  if (indexed_ == Depth::NamespacesOnly &&
      std::any_of(addresses.begin(), addresses.end(), [&](std::uint64_t a) { return function_at(a) == nullptr; })) {
    index_functions(Depth::Everything);
  }
  std::vector<std::optional<LineRow>> rows(addresses.size());
  if (lines_) rows = lines_->find(addresses);

  std::vector<std::vector<DwarfFrame>> frames(addresses.size());
  for (std::size_t begin = 0; begin < addresses.size();) {
    const Function* function = function_at(addresses[begin]);
    std::size_t end = begin + 1;
    if (function == nullptr) {
      if (rows[begin]) frames[begin].emplace_back();
    } else {
      while (end < addresses.size() && function_at(addresses[end]) == function) ++end;
      auto found = chains(*function, addresses.subspan(begin, end - begin));
      std::move(found.begin(), found.end(), frames.begin() + static_cast<std::ptrdiff_t>(begin));
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (frames[i].empty() || !rows[i]) continue;
      frames[i].front().file = rows[i]->file;
      frames[i].front().line = rows[i]->line;
    }
    begin = end;
  }
  return frames;
}

std::vector<std::vector<DwarfFrame>> DwarfUnit::chains(const Function& function,
                                                       std::span<const std::uint64_t> addresses) {
  // Calls in the order of the file: parents before children. An address belongs to the last that holds it.
  struct Call {
    Dwarf_Die die;
    std::ptrdiff_t parent;  // -1: the function
  };
  std::vector<Call> calls;
  std::vector<std::ptrdiff_t> innermost(addresses.size(), -1);
  const auto walk = [&](auto&& self, Dwarf_Die parent_die, std::ptrdiff_t parent, unsigned nesting) -> void {
    Dwarf_Die die;
    if (nesting > kMaxNesting || dwarf_child(&parent_die, &die) != 0) return;
    do {
      switch (dwarf_tag(&die)) {
        case DW_TAG_inlined_subroutine: {
          const auto call = static_cast<std::ptrdiff_t>(calls.size());
          calls.push_back({die, parent});
          for_each_range(&die, [&](std::uint64_t low, std::uint64_t high) {
            auto hit = std::lower_bound(addresses.begin(), addresses.end(), low);
            for (; hit != addresses.end() && *hit < high; ++hit) innermost[hit - addresses.begin()] = call;
          });
          self(self, die, call, nesting + 1);
          break;
        }
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
          self(self, die, parent, nesting + 1);
          break;
        default:
          break;
      }
    } while (next_sibling(&die));
  };
  Dwarf_Die die;
  std::vector<std::vector<DwarfFrame>> frames(addresses.size());
  if (dwarf_offdie(dwarf_cu_getdwarf(die_.cu), function.die, &die) == nullptr) return frames;
  walk(walk, die, -1, 0);

  const DwarfFrame outermost = names_of(&die);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    DwarfFrame call_site;  // file and line of the call that was inlined belong to the next outer frame
    for (std::ptrdiff_t call = innermost[i]; call >= 0; call = calls[static_cast<std::size_t>(call)].parent) {
      Dwarf_Die* inlined = &calls[static_cast<std::size_t>(call)].die;
      DwarfFrame frame = names_of(inlined);
      frame.file = call_site.file;
      frame.line = call_site.line;
      frames[i].push_back(frame);
      call_site.file = number_of(inlined, DW_AT_call_file);
      call_site.line = number_of(inlined, DW_AT_call_line).value_or(0);
    }
    DwarfFrame frame = outermost;
    frame.file = call_site.file;
    frame.line = call_site.line;
    frames[i].push_back(frame);
  }
  return frames;
}

}  // namespace tare::core
