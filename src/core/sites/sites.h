// Allocation sites: stacks without the allocation wrappers at their inner end, cut to some depth.
//
//   SiteFinder finder(tables, 8);
//   while (!(rows = finder.unnamed_rows()).empty()) {
//     for (row in rows) finder.name(row, functions of the row, inlined ones first);
//   }
//   finder.add_to(tables);
//
// Only rows near the inner end need names: a row needs one if all rows between it and the allocator are wrappers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/columns/tables.h"
#include "core/sites/managed_sites.h"
#include "trace/model/ids.h"

namespace tare::core {

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

  // Puts tables `sites` (site_id, stack_id: the stack from the site's own frame on, uncut; site_row: its innermost row)
  // and `stack_sites` (stack_id, site_id).
  void add_to(Tables& tables) const;

 private:
  enum class Kind : std::uint8_t { Unknown, Wrapper, Caller };

  std::uint32_t depth_;
  std::vector<std::uint32_t> caller_of_;  // by stack
  std::vector<std::uint32_t> row_of_;
  ManagedSites managed_;
  std::vector<std::uint32_t> stacks_;  // that need a site, ascending
  std::vector<std::uint32_t> inner_;   // by position in stacks_: where trimming has got to
  std::vector<Kind> kinds_;            // by row
};

}  // namespace tare::core
