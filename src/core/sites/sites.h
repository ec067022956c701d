// Allocation sites: stacks without the allocation wrappers at their inner end, cut to some depth.
//
//   SiteFinder finder(tables, 8);
//   while (!(rows = finder.unnamed_rows()).empty()) {
//     for (row in rows) finder.name(row, functions of the row, inlined ones first);  // or place() without a name
//   }
//   finder.add_to(tables);
//
// Only rows near the inner end need names: a row needs one if all rows between it and the allocator are wrappers.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/columns/tables.h"
#include "core/sites/managed_sites.h"
#include "trace/model/ids.h"

namespace tare::core {

struct NamelessFunction {
  trace::ModuleId module;
  std::uint64_t begin = 0;

  auto operator<=>(const NamelessFunction&) const = default;
};

class SiteFinder {
 public:
  static constexpr std::uint32_t kDefaultDepth = 8;  // as DMD's; deeper splits one cause into many

  // Stacks are those that site_sizes and chains name. `depth`: frames of a site, at least 1.
  explicit SiteFinder(const Tables& tables, std::uint32_t depth = kDefaultDepth);

  // Rows that must be named to go on, each once; empty when all sites are known.
  std::vector<trace::RowId> unnamed_rows();

  // The functions at that row, innermost (inlined) first. A row is a wrapper if all of them are; one without a name
  // isn't.
  void name(trace::RowId row, std::span<const std::string_view> functions);

  // The same for a row without a name, in the function `function` of `bytes`. It is a wrapper if it's small, calls the
  // allocator at one or two places for many callers, and requests many sizes.
  void place(trace::RowId row, NamelessFunction function, std::uint64_t bytes);

  // Puts tables `sites` (site_id, stack_id: the stack from the site's own frame on, uncut; site_row: its innermost row)
  // and `stack_sites` (stack_id, site_id).
  void add_to(Tables& tables) const;

 private:
  enum class Kind : std::uint8_t { Unknown, Wrapper, Caller };

  void judge_placed();

  std::uint32_t depth_;
  std::vector<std::uint32_t> caller_of_;  // by stack
  std::vector<std::uint32_t> row_of_;
  ManagedSites managed_;
  std::vector<std::uint32_t> stacks_;                             // that need a site, ascending
  std::vector<std::uint32_t> inner_;                              // by position in stacks_: where trimming has got to
  std::vector<Kind> kinds_;                                       // by row
  std::map<NamelessFunction, std::vector<trace::RowId>> placed_;  // not judged yet
  std::vector<std::pair<std::uint32_t, std::int64_t>> sizes_;     // stacks and their requested sizes, ascending
};

}  // namespace tare::core
