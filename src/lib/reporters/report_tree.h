// Reports, or changes of them, as the trees that are printed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tare/memory_snapshot.h"

namespace tare::inline TARE_ABI {

struct ReportNode {
  std::string name;         // its part of the path, or "(3 tiny)"
  std::int64_t amount = 0;  // of all below
  std::uint32_t reports = 0;
  std::string_view mark;  // printed after the name of a leaf
  bool is_folded = false;
  std::vector<ReportNode> children;
};

// One amount to be placed.
struct ReportLeaf {
  std::string_view path;
  std::int64_t amount;
  std::uint32_t reports;
  std::string_view mark;
};

// The tree of leaves that begin with the same name. An amount of a path that has others below it becomes a child of
// its own, "(itself)". Children are in order of size, without sign; those below `tiny_percent` of `whole` are folded.
ReportNode make_tree(std::vector<ReportLeaf> leaves, std::int64_t whole, double tiny_percent);

}  // namespace tare::inline TARE_ABI
