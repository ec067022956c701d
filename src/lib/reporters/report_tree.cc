// Builds trees from paths and folds tiny nodes.
#include "lib/reporters/report_tree.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tare::inline TARE_ABI {
namespace {

// In this order everything below a path follows it without gaps: '/' sorts before all else.
bool path_before(const ReportLeaf& a, const ReportLeaf& b) {
  return std::lexicographical_compare(a.path.begin(), a.path.end(), b.path.begin(), b.path.end(), [](char x, char y) {
    return (x == '/' ? 0 : 1 + static_cast<unsigned char>(x)) < (y == '/' ? 0 : 1 + static_cast<unsigned char>(y));
  });
}

// So a child of this name is the last one, or there is none yet.
ReportNode& child_named(ReportNode& parent, std::string_view name) {
  if (parent.children.empty() || parent.children.back().name != name) parent.children.emplace_back().name = name;
  return parent.children.back();
}

void place(ReportNode& root, const ReportLeaf& leaf) {
  ReportNode* node = &root;
  node->amount += leaf.amount;
  std::string_view rest = leaf.path;
  for (std::size_t slash = rest.find('/'); slash != rest.npos; slash = rest.find('/')) {
    rest.remove_prefix(slash + 1);
    node = &child_named(*node, rest.substr(0, rest.find('/')));
    node->amount += leaf.amount;
  }
  node->reports += leaf.reports;
  node->mark = leaf.mark;
}

void set_own_amounts_apart(ReportNode& node) {
  if (node.children.empty()) return;
  std::int64_t own = node.amount;
  for (ReportNode& child : node.children) {
    own -= child.amount;
    set_own_amounts_apart(child);
  }
  if (node.reports == 0) return;
  ReportNode& itself = node.children.emplace_back();
  itself.name = "(itself)";
  itself.amount = own;
  itself.reports = std::exchange(node.reports, 0);
  itself.mark = std::exchange(node.mark, {});
}

bool larger(const ReportNode& a, const ReportNode& b) {
  const std::int64_t size_a = std::abs(a.amount), size_b = std::abs(b.amount);
  return size_a != size_b ? size_a > size_b : a.name < b.name;
}

void sort_and_fold(ReportNode& node, double tiny) {
  std::vector<ReportNode>& children = node.children;
  std::sort(children.begin(), children.end(), larger);
  const auto first_tiny = std::find_if(children.begin(), children.end(), [tiny](const ReportNode& child) {
    return static_cast<double>(std::abs(child.amount)) < tiny;
  });
  if (first_tiny == children.begin() && !children.empty()) {  // one line for all children would repeat the parent's
    node.is_folded = true;
    children.clear();
    return;
  }
  const auto tiny_count = children.end() - first_tiny;
  if (tiny_count > 1) {
    ReportNode folded;
    folded.name = "(" + std::to_string(tiny_count) + " tiny)";
    for (auto child = first_tiny; child != children.end(); ++child) folded.amount += child->amount;
    children.erase(first_tiny, children.end());
    children.push_back(std::move(folded));
    std::sort(children.begin(), children.end(), larger);
  }
  for (ReportNode& child : children) sort_and_fold(child, tiny);
}

}  // namespace

ReportNode make_tree(std::vector<ReportLeaf> leaves, std::int64_t whole, double tiny_percent) {
  std::sort(leaves.begin(), leaves.end(), path_before);
  ReportNode root;
  if (!leaves.empty()) root.name = leaves.front().path.substr(0, leaves.front().path.find('/'));
  for (const ReportLeaf& leaf : leaves) place(root, leaf);
  set_own_amounts_apart(root);
  sort_and_fold(root, static_cast<double>(std::abs(whole)) * tiny_percent / 100);
  return root;
}

}  // namespace tare::inline TARE_ABI
