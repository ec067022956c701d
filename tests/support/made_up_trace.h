// Builds small recordings by hand: shapes, stacks and ordered events, without a program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/tables/replay.h"
#include "trace/model/dictionary.h"
#include "trace/model/event.h"
#include "trace/model/process_info.h"

namespace tare::core {

class MadeUpTrace {
 public:
  MadeUpTrace() {
    dictionary.stacks.push_back({});
    dictionary.modules.push_back({0x1000, 0x1000, 0x100000, "/bin/made-up", {0xab, 0xcd}, 0});
    info.allocator = trace::AllocatorKind::Glibc;
    info.exe = "/bin/made-up";
    info.pid = 4242;
  }

  // A stack of one frame at that address, or one more frame below `caller`.
  trace::StackId stack(std::uint64_t address, trace::StackId caller = trace::kEmptyStack) {
    const auto key = std::tuple(address, trace::index(caller));
    if (const auto found = stacks_.find(key); found != stacks_.end()) return found->second;
    const auto [row, fresh] = rows_.try_emplace(address, static_cast<trace::RowId>(dictionary.rows.size()));
    if (fresh) dictionary.rows.push_back(address);  // module 0
    dictionary.stacks.push_back({caller, row->second});
    return stacks_[key] = static_cast<trace::StackId>(dictionary.stacks.size() - 1);
  }

  // glibc's usable size unless told.
  trace::ShapeId shape(trace::StackId stack, std::uint64_t requested, std::uint64_t usable = 0, double weight = 1,
                       trace::AllocApi api = trace::AllocApi::Malloc) {
    if (usable == 0) usable = requested <= 24 ? 24 : (requested + 8 + 15) / 16 * 16 - 8;
    const auto key = std::tuple(trace::index(stack), requested, usable, weight, api);
    if (const auto found = shapes_.find(key); found != shapes_.end()) return found->second;
    dictionary.shapes.push_back({stack, api, 0, 0, 0, requested, usable, weight});
    return shapes_[key] = static_cast<trace::ShapeId>(dictionary.shapes.size() - 1);
  }

  trace::ShapeId map_shape(std::uint64_t length, trace::MapApi api = trace::MapApi::Mmap) {
    dictionary.shapes.push_back({trace::kEmptyStack, static_cast<trace::AllocApi>(api), 0, 1, 0, length, length, 1});
    return static_cast<trace::ShapeId>(dictionary.shapes.size() - 1);
  }

  void alloc(std::uint64_t address, trace::ShapeId shape, std::uint16_t thread = 0) {
    add(trace::EventKind::Alloc, address, shape, thread);
  }
  void free(std::uint64_t address, std::uint16_t thread = 0) {
    add(trace::EventKind::Free, address, trace::kNoShape, thread);
  }
  void realloc(std::uint64_t old_address, std::uint64_t address, trace::ShapeId shape, std::uint16_t thread = 0) {
    add(trace::EventKind::ReallocEnd, old_address, trace::kNoShape, thread);
    add(trace::EventKind::ReallocStart, address, shape, thread);
  }
  void add(trace::EventKind kind, std::uint64_t address, trace::ShapeId shape = trace::kNoShape,
           std::uint16_t thread = 0) {
    stamp += step;
    events.push_back({stamp, address, shape, thread, kind, 0});
  }

  // One tick is one nanosecond, from tick 0.
  std::vector<trace::ClockPair> clock() const { return {{0, 5000}, {stamp + 1, stamp + 5001}}; }

  Tables replay(ReplayOptions options = {}, const LiveSet* inherited = nullptr) const {
    const std::vector<trace::ClockPair> pairs = clock();
    options.clock_pairs = pairs;
    Replay replay(dictionary, info, options);
    if (inherited) replay.inherit(*inherited);
    replay.consume(events);
    return replay.finish(pairs);
  }

  // As replay(), with a look at the tables after every `gap` events; `judge` gets what was seen, and what a replay
  // makes that ends there.
  template <typename Judge>
  Tables replay_with_looks(std::size_t gap, const Judge& judge) const {
    const std::vector<trace::ClockPair> pairs = clock();
    Replay replay(dictionary, info, {});
    const std::span<const trace::Event> all = events;
    for (std::size_t at = 0; at < all.size(); at += gap) {
      replay.consume(all.subspan(at, std::min(gap, all.size() - at)));
      Replay shorter(dictionary, info, {});
      shorter.consume(all.first(std::min(at + gap, all.size())));
      judge(replay.tables_so_far(pairs), shorter.finish(pairs));
    }
    return replay.finish(pairs);
  }

  trace::Dictionary dictionary;
  trace::ProcessInfo info;
  std::vector<trace::Event> events;
  std::uint64_t stamp = 0;
  std::uint64_t step = 256;  // lifetimes are summed in units of 256 ticks

 private:
  std::map<std::uint64_t, trace::RowId> rows_;
  std::map<std::tuple<std::uint64_t, std::uint32_t>, trace::StackId> stacks_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, double, trace::AllocApi>, trace::ShapeId> shapes_;
};

inline std::int64_t process_value(const Tables& tables, const char* column) {
  return tables["process"][column].ints.at(0);
}

// Where two makings of tables differ, for a test to say; empty: nowhere.
inline std::string difference(const Tables& a, const Tables& b) {
  std::string found;
  for (const Table& table : a.tables) {
    const Table* other = b.find(table.name);
    if (other == nullptr || other->columns.size() != table.columns.size()) return table.name;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (!(table.columns[i] == other->columns[i])) found += table.name + "." + table.columns[i].name + " ";
    }
  }
  return found;
}

// Row of `table` whose column has that value; fails the test's array access if there is none.
inline std::size_t row_where(const Table& table, const char* column, std::int64_t value) {
  const Column& found = table[column];
  std::size_t row = 0;
  while (row < found.ints.size() && found.ints[row] != value) ++row;
  return row;
}

}  // namespace tare::core
