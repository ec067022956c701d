// Return address -> Rule, shared by all threads: an open-addressing table read without locks.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/unwind/cfi.h"
#include "recorder/unwind/rule.h"
#include "recorder/unwind/unwind.h"
#include "trace/model/ids.h"

namespace tare::recorder {

class RowCache {
 public:
  // 16 bytes, four to a cache line: cc1plus has 6,300 rows at work, which then fit a level-2 cache.
  struct Slot {
    std::atomic<std::uint64_t>
        key;  // as Row::bits: address | module << 48; kRetired set: no address equals it. 0: empty
    std::atomic<std::uint64_t> rule;  // written before key, never changed
  };
  struct Table {
    std::uint64_t mask;
    std::uint32_t shift;
    std::uint32_t used;
    alignas(64) Slot slots[1];
  };

  static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t kRetired = arch::kNoCodeBit;

  const Table* table() const { return table_.load(std::memory_order_acquire); }

  // False: not there yet, see add().
  static bool find(const Table& table, std::uint64_t address, Rule& rule) {
    for (std::uint64_t i = home(table, address);; i = (i + 1) & table.mask) {
      const std::uint64_t key = table.slots[i].key.load(std::memory_order_acquire);
      if ((key & kAddressMask) == address) {
        rule = Rule(table.slots[i].rule.load(std::memory_order_relaxed));
        return true;
      }
      if (key == 0) return false;
    }
  }

  // Has code been seen near this address, in no object? Distinguishes return addresses into generated code from other
  // words.
  bool near_generated_code(std::uint64_t address) const;

  // Works out the rule from the unwind tables, enters it and publishes the row. Never fails: without room the rule is
  // right and its row is 0.
  Rule add(std::uint64_t address, CfiWork& work);
  // The same for a row of kind NoObject if an object has come to the address since.
  bool upgrade(std::uint64_t address, CfiWork& work, Rule& rule);

  // A row that is no return address: `bits` as Row has them. False: no room.
  bool publish_made(std::uint64_t bits, std::uint32_t& row);

  void retire(trace::ModuleId module);
  void attach(const Tables& tables);
  void close() { tables_.ensure = nothing_more; }

 private:
  static std::uint64_t home(const Table& table, std::uint64_t address) {
    return (address * 0x9e3779b97f4a7c15) >> table.shift;
  }
  static Table* make_table(std::uint32_t bits);
  static void put(Table& table, std::uint64_t key, Rule rule);
  Rule enter(std::uint64_t address, trace::ModuleId module, Rule rule);
  bool publish(std::uint64_t key, std::uint32_t& row);
  Table* with_room();

  void note_generated_code(std::uint64_t address);

  // Places of 4 MiB with generated code: compilers keep it together. A handful each, the oldest gives way.
  static constexpr int kPlaceShift = 22;
  static constexpr std::uint32_t kPlaces = 32;
  std::atomic<std::uint64_t> places_[kPlaces] = {};
  std::atomic<std::uint32_t> next_place_{0};

  std::atomic<Table*> table_{nullptr};
  Tables tables_{};
};

extern RowCache g_rows;

// Incremented when rows are retired: threads then drop their stored frames.
extern std::atomic<std::uint64_t> g_generation;
// A bit of g_generation that no thread's own number has: captures take the slow branch, and weave managed frames in.
// Programs without such frames need no instruction for it.
inline constexpr std::uint64_t kWeaves = std::uint64_t{1} << 63;

struct Counters {
  std::atomic<std::uint64_t> unknown_pcs, failures, full_walks, rows_lost, rows_retired;
};
extern Counters g_counters;
inline void count(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

}  // namespace tare::recorder
