// Snapshot by snapshot: equal contents are counted first, then each block goes into its sums.
#include "core/recording/snapshot_sizes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "trace/base/mix_hash.h"
#include "trace/model/id_table.h"

namespace tare::core {
namespace {

constexpr std::int32_t kZeros = 0;     // of column `content_class`
constexpr std::int64_t kUnknown = -1;  // in place of a null

struct Key {
  std::int64_t moment, shape, content_class, reachable, last_write_ns, leak_stack;

  bool operator==(const Key&) const = default;
  std::uint64_t hash() const {
    std::uint64_t hash = trace::mix_hash(static_cast<std::uint64_t>(moment), static_cast<std::uint64_t>(shape));
    hash = trace::mix_hash(hash, static_cast<std::uint64_t>(content_class * 8 + reachable));
    hash = trace::mix_hash(hash, static_cast<std::uint64_t>(last_write_ns));
    return trace::mix_hash(hash, static_cast<std::uint64_t>(leak_stack));
  }
};

struct Sums {
  Key key;
  std::size_t first;  // row of snapshot_blocks
  double blocks = 0;
  double leak_roots = 0;
  double copies = 0;
  double contents = 0;
  double written_blocks = 0;
  double unwritten_bytes = 0;
};

class SnapshotSizes {
 public:
  explicit SnapshotSizes(const Table& blocks)
      : moment_(blocks["snapshot"].ints),
        address_(blocks["address"].ints),
        shape_(blocks["size_id"].ints),
        stack_(blocks["stack_id"].ints),
        requested_(blocks["requested_bytes"].ints),
        usable_(blocks["usable_bytes"].ints),
        header_(blocks["header_bytes"].ints),
        weight_(blocks["weight"].doubles),
        digest_(blocks["digest"]),
        class_(blocks["content_class"]),
        starts_(blocks["start_pointers"]),
        interiors_(blocks["interior_pointers"]),
        reachable_(blocks["reachable"]),
        leak_root_(blocks["leak_root"]),
        last_write_(blocks["last_write_ns"]),
        high_water_(blocks["high_water_bytes"]) {
    for (std::size_t begin = 0; begin < moment_.size();) {
      std::size_t end = begin + 1;
      while (end < moment_.size() && moment_[end] == moment_[begin]) ++end;
      add_snapshot(begin, end);
      begin = end;
    }
  }

  Table table() const;

 private:
  bool may_be_copy(std::size_t row) const {
    if (digest_.is_null(row) || requested_[row] == 0 || class_.codes[row] == kZeros) return false;
    const bool has_starts = !starts_.is_null(row) && starts_.ints[row] != 0;
    const bool has_interiors = !interiors_.is_null(row) && interiors_.ints[row] != 0;
    return !has_starts && !has_interiors;
  }

  std::int64_t leak_stack(std::size_t row, std::size_t begin, std::size_t end) const {
    if (leak_root_.is_null(row)) return kUnknown;
    const auto from = address_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = address_.begin() + static_cast<std::ptrdiff_t>(end);
    const auto root = std::lower_bound(from, to, leak_root_.ints[row]);  // a snapshot's blocks are ordered by address
    if (root == to || *root != leak_root_.ints[row]) return kUnknown;
    return stack_[static_cast<std::size_t>(root - address_.begin())];
  }

  // By row from `begin` on, the number of blocks with its contents; 0: its contents weren't read.
  std::vector<std::uint32_t> copies_in(std::size_t begin, std::size_t end) const {
    struct Content {
      std::size_t first;  // row
      std::uint32_t copies = 0;
    };
    constexpr std::uint32_t kNone = ~0u;
    trace::IdTable known;
    std::vector<Content> contents;
    std::vector<std::uint32_t> of_row;
    of_row.reserve(end - begin);
    for (std::size_t row = begin; row < end; ++row) {
      if (!may_be_copy(row)) {
        of_row.push_back(kNone);
        continue;
      }
      const auto digest = static_cast<std::uint64_t>(digest_.ints[row]);
      const std::uint32_t content = known.find_or_make(
          trace::mix_hash(digest, static_cast<std::uint64_t>(requested_[row])),
          [&](std::uint32_t other) {
            const std::size_t first = contents[other].first;
            return digest_.ints[first] == digest_.ints[row] && requested_[first] == requested_[row];
          },
          [&] {
            contents.push_back({row});
            return static_cast<std::uint32_t>(contents.size() - 1);
          });
      ++contents[content].copies;
      of_row.push_back(content);
    }
    for (std::uint32_t& content : of_row) content = content == kNone ? 0 : contents[content].copies;
    return of_row;
  }

  void add_snapshot(std::size_t begin, std::size_t end) {
    const std::vector<std::uint32_t> copies = copies_in(begin, end);
    for (std::size_t row = begin; row < end; ++row) {
      const Key key{moment_[row],
                    shape_[row],
                    class_.is_null(row) ? kUnknown : class_.codes[row],
                    reachable_.is_null(row) ? kUnknown : reachable_.codes[row],
                    last_write_.is_null(row) ? kUnknown : last_write_.ints[row],
                    leak_stack(row, begin, end)};
      const std::uint32_t id = known_.find_or_make(
          key.hash(), [&](std::uint32_t other) { return sums_[other].key == key; },
          [&] {
            sums_.push_back({key, row});
            return static_cast<std::uint32_t>(sums_.size() - 1);
          });
      Sums& sums = sums_[id];
      sums.blocks += weight_[row];
      if (key.leak_stack != kUnknown && leak_root_.ints[row] == address_[row]) ++sums.leak_roots;
      if (const std::uint32_t equal = copies[row - begin]; equal > 1) {
        ++sums.copies;
        sums.contents += 1.0 / equal;
      }
      if (!high_water_.is_null(row) && high_water_.ints[row] > 0) {
        sums.written_blocks += weight_[row];
        sums.unwritten_bytes += weight_[row] * static_cast<double>(requested_[row] - high_water_.ints[row]);
      }
    }
  }

  const std::vector<std::int64_t>&moment_, &address_, &shape_, &stack_, &requested_, &usable_, &header_;
  const std::vector<double>& weight_;
  const Column &digest_, &class_, &starts_, &interiors_, &reachable_, &leak_root_, &last_write_, &high_water_;
  trace::IdTable known_;
  std::vector<Sums> sums_;
};

Table SnapshotSizes::table() const {
  TableBuilder table("snapshot_sizes");
  const auto int_column = [&](const char* name) { return table.column(name); };
  const auto double_column = [&](const char* name) { return table.column(name); };
  const auto moment = int_column("snapshot");
  const auto size_id = int_column("size_id");
  const auto stack_id = int_column("stack_id");
  const auto requested = int_column("requested_bytes");
  const auto usable = int_column("usable_bytes");
  const auto header = int_column("header_bytes");
  const auto content_class = table.column("content_class", class_.words);
  const auto reachable = table.column("reachable", reachable_.words);
  const auto last_write = int_column("last_write_ns");
  const auto leak_stack = int_column("leak_stack_id");
  const auto blocks = double_column("blocks");
  const auto leak_roots = double_column("leak_roots");
  const auto copies = double_column("copies");
  const auto contents = double_column("contents");
  const auto written_blocks = double_column("written_blocks");
  const auto unwritten_bytes = double_column("unwritten_bytes");
  table.reserve(sums_.size());
  const auto add_known = [&](TableBuilder::ColumnId column, std::int64_t value) {
    table.add(column, value == kUnknown ? std::nullopt : std::optional(value));
  };
  const auto add_word = [&](TableBuilder::ColumnId column, std::int64_t code) {
    if (code == kUnknown) return table.add_null(column);
    table.add_code(column, static_cast<std::int32_t>(code));
  };
  for (const Sums& sums : sums_) {
    table.add(moment, sums.key.moment);
    table.add(size_id, sums.key.shape);
    table.add(stack_id, stack_[sums.first]);
    table.add(requested, requested_[sums.first]);
    table.add(usable, usable_[sums.first]);
    table.add(header, header_[sums.first]);
    add_word(content_class, sums.key.content_class);
    add_word(reachable, sums.key.reachable);
    add_known(last_write, sums.key.last_write_ns);
    add_known(leak_stack, sums.key.leak_stack);
    table.add(blocks, sums.blocks);
    table.add(leak_roots, sums.leak_roots);
    table.add(copies, sums.copies);
    table.add(contents, sums.contents);
    table.add(written_blocks, sums.written_blocks);
    table.add(unwritten_bytes, sums.unwritten_bytes);
  }
  return table.take();
}

}  // namespace

Table snapshot_sizes_table(const Table& snapshot_blocks) { return SnapshotSizes(snapshot_blocks).table(); }

}  // namespace tare::core
