// Snapshots and differences as trees of text.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "lib/reporters/report_paths.h"
#include "lib/reporters/report_tree.h"
#include "tare/memory_snapshot.h"

namespace tare::inline TARE_ABI {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * 1024;
constexpr std::string_view kUnclassified = "explicit/heap-unclassified";

enum class Sign : std::uint8_t { OnlyMinus, Always };

// Writes the amounts of one tree: all in the same unit, so that they can be compared by eye.
class AmountWriter {
 public:
  AmountWriter(ReportUnits units, std::int64_t largest, ReportAmounts amounts, Sign sign) : units_(units), sign_(sign) {
    const std::int64_t size = std::abs(largest);
    // From ten units on, two decimals show a thousandth of the whole.
    if (units == ReportUnits::Bytes && amounts == ReportAmounts::Scaled) {
      unit_ = size >= 10 * kMiB ? kMiB : size >= 10 * kKiB ? kKiB : 1;
    }
  }

  std::string text(std::int64_t amount) const {
    std::string out = amount < 0 ? "-" : sign_ == Sign::Always ? "+" : "";
    const double size = std::abs(static_cast<double>(amount));
    char digits[40];
    if (units_ == ReportUnits::Percentage) {
      std::snprintf(digits, sizeof digits, "%.2f%%", size / 100);
      return out += digits;
    }
    if (unit_ != 1) {
      std::snprintf(digits, sizeof digits, "%.2f %s", size / static_cast<double>(unit_), unit_ == kMiB ? "MiB" : "KiB");
      return out += digits;
    }
    out += with_commas(amount < 0 ? 0 - static_cast<std::uint64_t>(amount) : static_cast<std::uint64_t>(amount));
    return units_ == ReportUnits::Bytes ? out += " B" : out;
  }

 private:
  static std::string with_commas(std::uint64_t value) {
    std::string digits = std::to_string(value);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
    return digits;
  }

  ReportUnits units_;
  Sign sign_;
  std::int64_t unit_ = 1;
};

std::string share(std::int64_t amount, std::int64_t whole) {
  const double percent =
      whole == 0 ? 100.0 : 100.0 * static_cast<double>(amount) / std::abs(static_cast<double>(whole));
  char text[40];
  if (percent >= 99.995) {
    std::snprintf(text, sizeof text, " (%.1f%%)", percent);
  } else {
    std::snprintf(text, sizeof text, percent < 0 ? " (%06.2f%%)" : " (%05.2f%%)", percent);
  }
  return text;
}

class TreePrinter {
 public:
  TreePrinter(const AmountWriter& amounts, std::int64_t whole, std::string& out)
      : amounts_(amounts), whole_(whole), out_(out) {}

  void print(const ReportNode& root) { print(root, 0, std::string(), std::string()); }

 private:
  void print(const ReportNode& node, std::size_t parent_width, const std::string& lead, const std::string& indent) {
    const std::string amount = amounts_.text(node.amount);
    out_ += lead;
    for (std::size_t width = amount.size(); width < parent_width; ++width) out_ += "─";
    out_ += amount + share(node.amount, whole_);
    out_ += node.is_folded ? " ++ " : node.children.empty() ? " ── " : " -- ";
    out_ += node.name;
    if (node.reports > 1) out_ += " [" + std::to_string(node.reports) + "]";
    out_ += node.mark;
    out_ += '\n';
    for (const ReportNode& child : node.children) {
      const bool is_last = &child == &node.children.back();
      print(child, std::max(amount.size(), parent_width), indent + (is_last ? "└──" : "├──"),
            indent + (is_last ? "   " : "│  "));
    }
  }

  const AmountWriter& amounts_;
  std::int64_t whole_;
  std::string& out_;
};

// All reports to print, grouped into trees. A tree has one first name and one unit, because amounts of different units
// can't be added up.
class Page {
 public:
  Page(const ReportTextOptions& options, Sign sign) : options_(options), sign_(sign) {}

  void add(const ReportLeaf& leaf, ReportUnits units) {
    if (is_explicit(leaf.path, units)) {
      explicit_.push_back(leaf);
    } else {
      others_[{std::string(leaf.path.substr(0, leaf.path.find('/'))), units}].push_back(leaf);
    }
  }

  std::string text() {
    if (!explicit_.empty()) {
      out_ += "Explicit Allocations\n\n";
      print_tree(explicit_, ReportUnits::Bytes);
      out_ += '\n';
    }
    if (others_.empty()) return std::move(out_);
    out_ += "Other Measurements\n\n";
    std::vector<std::pair<std::string, std::string>> singles;  // amount, the rest of the line
    for (const auto& [root, leaves] : others_) {
      if (leaves.size() > 1 && root.second != ReportUnits::Percentage) {
        print_tree(leaves, root.second);
        out_ += '\n';
        continue;
      }
      for (const ReportLeaf& leaf : leaves) {
        const AmountWriter amounts(root.second, leaf.amount, options_.amounts, sign_);
        singles.emplace_back(amounts.text(leaf.amount), std::string(leaf.path) + std::string(leaf.mark));
      }
    }
    std::size_t width = 0;
    for (const auto& [amount, path] : singles) width = std::max(width, amount.size());
    for (const auto& [amount, path] : singles) {
      out_.append(width - amount.size(), ' ').append(amount).append(" ── ").append(path).append("\n");
    }
    if (!singles.empty()) out_ += '\n';
    return std::move(out_);
  }

 private:
  void print_tree(const std::vector<ReportLeaf>& leaves, ReportUnits units) {
    std::int64_t whole = 0, sum_of_sizes = 0;
    for (const ReportLeaf& leaf : leaves) {
      whole += leaf.amount;
      sum_of_sizes += std::abs(leaf.amount);
    }
    if (sign_ == Sign::Always) whole = sum_of_sizes;  // gains and losses may cancel out
    const AmountWriter amounts(units, whole, options_.amounts, sign_);
    TreePrinter(amounts, whole, out_).print(make_tree(leaves, whole, options_.tiny_percent));
  }

  const ReportTextOptions& options_;
  Sign sign_;
  std::vector<ReportLeaf> explicit_;
  std::map<std::pair<std::string, ReportUnits>, std::vector<ReportLeaf>> others_;
  std::string out_;
};

}  // namespace

std::string to_text(const MemorySnapshot& snapshot, const ReportTextOptions& options) {
  Page page(options, Sign::OnlyMinus);
  for (const MemoryReport& report : snapshot.reports) {
    page.add({report.path, report.amount, report.reports, {}}, report.units);
  }
  const std::optional<std::int64_t> unclassified = snapshot.heap_unclassified_bytes();
  if (unclassified) page.add({kUnclassified, *unclassified, 1, {}}, ReportUnits::Bytes);
  std::string out = page.text();
  if (!unclassified) out += "The allocator doesn't say what it holds: heap-unclassified is unknown.\n";
  if (unclassified && *unclassified < 0) {
    out += "More heap is reported than the allocator holds: some of it is reported twice, or isn't heap.\n";
  }
  for (const std::string& problem : snapshot.problems) out.append(problem).append(".\n");
  return out;
}

std::string to_text(const MemoryDifference& difference, const ReportTextOptions& options) {
  Page page(options, Sign::Always);
  for (const MemoryDifference::Line& line : difference.lines) {
    page.add({line.path, line.change(), 1, !line.before ? " [+]" : !line.after ? " [-]" : ""}, line.units);
  }
  if (difference.heap_unclassified_change.value_or(0) != 0) {
    page.add({kUnclassified, *difference.heap_unclassified_change, 1, {}}, ReportUnits::Bytes);
  }
  std::string out = page.text();
  return out.empty() ? "Nothing changed.\n" : out;
}

}  // namespace tare::inline TARE_ABI
