// Pools in the heap's figures, on made-up traces small enough to count by hand.
#include "core/analysis/pools/pool_books.h"

#include <gtest/gtest.h>

#include <random>

#include "support/made_up_trace.h"
#include "trace/spool/program_note.h"

namespace tare::core {
namespace {

using trace::EventKind;
using trace::pool_word;

class PoolTrace : public MadeUpTrace {
 public:
  void create(std::uint32_t pool) { add(EventKind::PoolCreate, pool_word(pool, 0)); }
  void destroy(std::uint32_t pool) { add(EventKind::PoolDestroy, pool_word(pool, 0)); }
  void grow(std::uint32_t pool, std::uint64_t address, std::uint64_t bytes) {
    add(EventKind::PoolGrow, pool_word(pool, address), sized(0x2000, bytes, trace::MapApi::PoolMemory));
  }
  void shrink(std::uint32_t pool, std::uint64_t address) { add(EventKind::PoolShrink, pool_word(pool, address)); }
  void hand_out(std::uint32_t pool, std::uint64_t address, std::uint64_t bytes) {
    add(EventKind::PoolAlloc, pool_word(pool, address), sized(0x3000, bytes, trace::MapApi::PoolBlock));
  }
  void take_back(std::uint32_t pool, std::uint64_t address) { add(EventKind::PoolFree, pool_word(pool, address)); }

 private:
  trace::ShapeId sized(std::uint64_t caller, std::uint64_t bytes, trace::MapApi api) {
    const auto [known, fresh] = sized_.try_emplace({bytes, api});
    if (fresh) {
      known->second = map_shape(bytes, api);
      dictionary.shapes.back().stack = stack(caller);
    }
    return known->second;
  }
  std::map<std::pair<std::uint64_t, trace::MapApi>, trace::ShapeId> sized_;
};

struct Figures {
  std::int64_t blocks, requested, usable, gross;
  bool operator==(const Figures&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Figures& f) {
    return out << f.blocks << " blocks, " << f.requested << " requested, " << f.usable << " usable, " << f.gross
               << " gross";
  }
};

Figures figures(const Tables& tables, const std::string& moment) {
  const auto value = [&](const char* what) { return process_value(tables, (moment + what).c_str()); };
  return {value("_blocks"), value("_requested_bytes"), value("_usable_bytes"), value("_gross_bytes")};
}

// Sums over the rows of site_sizes that have this entry point, or all.
Figures row_sums(const Tables& tables, const std::string& counts, std::string_view api = {}) {
  const Table& sizes = tables["site_sizes"];
  Figures sum{};
  for (std::size_t row = 0; row < sizes.rows(); ++row) {
    if (!api.empty() && sizes["api"].text(row) != api) continue;
    const std::int64_t blocks = sizes[counts].ints[row];
    sum.blocks += blocks;
    sum.requested += blocks * sizes["requested_bytes"].ints[row];
    sum.usable += blocks * sizes["usable_bytes"].ints[row];
    sum.gross += blocks * (sizes["usable_bytes"].ints[row] + sizes["header_bytes"].ints[row]);
  }
  return sum;
}

TEST(PoolBooks, FreesAndResizesFindTheirPool) {
  PoolTrace trace;
  const auto chunk = trace.shape(trace.stack(0x1234), 4096);
  trace.alloc(0x10000, chunk);
  trace.create(1);
  trace.create(2);
  trace.hand_out(1, 0x10010, 64);
  trace.hand_out(2, 0x10110, 32);
  trace.take_back(0, 0x10010);  // of pool 1, resized
  trace.hand_out(0, 0x10210, 128);
  trace.take_back(0, 0x10110);
  trace.hand_out(2, 0x10110, 16);
  trace.destroy(1);  // ends the resized block
  const Tables tables = trace.replay();
  EXPECT_EQ(row_sums(tables, "end_blocks", "pool block"), (Figures{1, 16, 16, 16}));
  EXPECT_EQ(figures(tables, "peak").gross, 4104 + 8);
}

TEST(PoolBooks, ABlockWithoutBytesSharesItsAddress) {
  PoolTrace trace;
  trace.create(1);
  trace.hand_out(1, 0x10010, 0);
  trace.hand_out(1, 0x10010, 64);
  const Tables tables = trace.replay();
  EXPECT_EQ(row_sums(tables, "end_blocks", "pool block"), (Figures{1, 64, 64, 64}));
}

TEST(PoolBooks, AResizeOfAnUnknownBlockIsNoBlock) {
  PoolTrace trace;
  trace.create(1);
  trace.hand_out(1, 0x10010, 64);
  trace.take_back(0, 0x10010);
  trace.take_back(0, 0x10010);
  trace.hand_out(0, 0x10210, 128);
  const Tables tables = trace.replay();
  EXPECT_EQ(row_sums(tables, "end_blocks", "pool block").blocks, 0);
}

TEST(PoolBooks, MemoryOfMallocIsCountedOnce) {
  PoolTrace trace;
  const auto chunk = trace.shape(trace.stack(0x1234), 4096);  // 4104 usable, 8 header
  trace.alloc(0x10000, chunk);
  trace.alloc(0x20000, chunk);  // not the pool's
  trace.create(1);
  trace.grow(1, 0x10010, 4080);
  for (std::uint64_t i = 0; i < 5; ++i) trace.hand_out(1, 0x10010 + 64 * i, 64);
  trace.take_back(1, 0x10010);
  const Tables tables = trace.replay();
  // Two blocks of malloc, the pool's memory, five of its blocks; what malloc gave is all there is.
  EXPECT_EQ(figures(tables, "peak").gross, 2 * (4104 + 8));
  EXPECT_EQ(figures(tables, "end"), (Figures{7, 4096 + 16 + 4 * 64, 2 * 4104, 2 * (4104 + 8)}));
  EXPECT_EQ(row_sums(tables, "end_blocks"), figures(tables, "end"));
  EXPECT_EQ(row_sums(tables, "end_blocks", "malloc"), (Figures{1, 4096, 4104, 4112}));
  EXPECT_EQ(row_sums(tables, "end_blocks", "pool block"), (Figures{4, 256, 256, 256}));
  // The chunk keeps 16 bytes before the memory and 8 of slop; the memory what no block takes.
  EXPECT_EQ(row_sums(tables, "end_blocks", "pool memory"), (Figures{2, 16, 24 + 4080 - 256, 32 + 4080 - 256}));
  EXPECT_EQ(row_sums(tables, "total_blocks", "pool memory"), (Figures{2, 16, 24 + 4080 - 320, 32 + 4080 - 320}));
  EXPECT_EQ(figures(tables, "total").gross, 2 * (4104 + 8));
}

TEST(PoolBooks, MemoryFarIntoABlockIsCountedOnce) {
  constexpr std::uint64_t kMiB = 1 << 20;
  PoolTrace trace;
  const auto large = trace.shape(trace.stack(0x1234), 4 * kMiB);  // 8 more usable, 8 header
  trace.alloc(0x10000, trace.shape(trace.stack(0x1234), 24));
  trace.alloc(0x10'0000'0000, large);
  trace.create(1);
  trace.grow(1, 0x10'0000'0000 + kMiB, kMiB);
  trace.grow(1, 0x10'0000'0000 + 8 * kMiB, kMiB);  // beyond the block: mapped
  const Tables tables = trace.replay();
  EXPECT_EQ(figures(tables, "end").gross, 32 + 4 * kMiB + 16 + kMiB);
}

// A pool's page, far into a run of pages that another pool handed out, behind a page of a third: a collected heap in
// a cage of which others take pages, too.
TEST(PoolBooks, MemoryFarIntoAPoolsBlockIsCountedOnce) {
  constexpr std::uint64_t kCage = 0x7F00'0000'0000;
  constexpr std::uint64_t kKiB = 1024;
  PoolTrace trace;
  for (const std::uint32_t pool : {1, 2, 3}) trace.create(pool);
  trace.grow(1, kCage, 4096 * kKiB);
  trace.hand_out(1, kCage + 64 * kKiB, 1024 * kKiB);
  trace.grow(2, kCage + 128 * kKiB, 128 * kKiB);
  trace.hand_out(2, kCage + 128 * kKiB, 64 * kKiB);
  trace.hand_out(2, kCage + 192 * kKiB, 16);
  trace.grow(3, kCage + 512 * kKiB, 64 * kKiB);  // in the block of pool 1, behind those of pool 2
  trace.hand_out(3, kCage + 512 * kKiB, 100);
  const Tables tables = trace.replay();
  EXPECT_EQ(figures(tables, "end").gross, 4096 * kKiB);
  EXPECT_EQ(figures(tables, "end").requested, (1024 - 128 - 64) * kKiB + 64 * kKiB + 16 + 100);
  trace.shrink(3, kCage + 512 * kKiB);
  EXPECT_EQ(figures(trace.replay(), "end").gross, 4096 * kKiB + 100);  // the block that pool 3 forgot
  trace.destroy(2);
  trace.destroy(3);
  EXPECT_EQ(figures(trace.replay(), "end").gross, 4096 * kKiB);
  EXPECT_EQ(figures(trace.replay(), "end").requested, 1024 * kKiB);
}

TEST(PoolBooks, MappedMemoryMakesThePeak) {
  PoolTrace trace;
  const auto shape = trace.shape(trace.stack(0x1234), 1000);  // 1000 usable, 8 header
  trace.create(1);
  trace.alloc(0x100, shape);
  trace.grow(1, 0x900000, 8192);
  trace.hand_out(1, 0x900000, 1000);
  trace.hand_out(1, 0x901000, 500);
  trace.shrink(1, 0x900000);  // the peak was before
  trace.alloc(0x600, shape);
  const Tables tables = trace.replay();
  EXPECT_EQ(figures(tables, "peak"), (Figures{4, 1000 + 1500, 1000 + 8192, 1008 + 8192}));
  EXPECT_EQ(row_sums(tables, "peak_blocks"), figures(tables, "peak"));
  EXPECT_EQ(process_value(tables, "peak_time_ns"), 3 * 256);  // when the memory came: blocks of it add nothing
  // Blocks that a pool still counts, in memory that it has released, take memory of their own.
  EXPECT_EQ(figures(tables, "end"), (Figures{4, 3500, 3500, 2 * 1008 + 1500}));
}

TEST(PoolBooks, EndsWithItsPool) {
  PoolTrace trace;
  const auto chunk = trace.shape(trace.stack(0x1234), 1000);
  trace.alloc(0x10000, chunk);
  trace.create(1);
  trace.grow(1, 0x10000, 1000);
  trace.grow(1, 0x900000, 4096);
  trace.hand_out(1, 0x10000, 100);
  trace.hand_out(1, 0x900010, 100);
  trace.free(0x10000);  // before the pool says that it has ended
  trace.destroy(1);
  const Tables tables = trace.replay();
  EXPECT_EQ(figures(tables, "peak"), (Figures{5, 200, 1000 + 4096, 1008 + 4096}));
  EXPECT_EQ(figures(tables, "end"), (Figures{0, 0, 0, 0}));
}

TEST(PoolBooks, APoolUponAPoolTakesFromItsBlock) {
  PoolTrace trace;
  trace.create(1);
  trace.grow(1, 0x900000, 65536);
  trace.hand_out(1, 0x900000, 4096);
  trace.create(2);
  trace.grow(2, 0x900000, 4000);
  trace.hand_out(2, 0x900000, 300);
  trace.create(3);
  trace.hand_out(1, 0x904000, 4096);
  trace.hand_out(3, 0x904800, 200);  // of memory that it didn't tell of: in a block of the first
  const Tables tables = trace.replay();
  EXPECT_EQ(figures(tables, "end").gross, 65536);
  EXPECT_EQ(figures(tables, "end").usable, 65536);
  trace.destroy(1);
  trace.destroy(2);
  trace.destroy(3);
  EXPECT_EQ(figures(trace.replay(), "end"), (Figures{0, 0, 0, 0}));
  EXPECT_EQ(figures(trace.replay(), "peak").gross, 65536);
}

TEST(PoolBooks, WhatOverlapsIsNeverNegative) {
  PoolTrace trace;
  trace.alloc(0x100, trace.shape(trace.stack(0x1234), 100));  // 104 usable
  trace.create(1);
  trace.grow(1, 0x100, 1000);  // more than the block has
  trace.hand_out(1, 0x100, 900);
  trace.hand_out(1, 0x110, 900);  // more than the memory has
  trace.grow(1, 0x100, 1000);     // again
  const Tables tables = trace.replay();
  EXPECT_EQ(row_sums(tables, "end_blocks"), figures(tables, "end"));
  EXPECT_GE(figures(tables, "end").gross, 104 + 8);
  for (const std::int64_t blocks : tables["site_sizes"]["end_blocks"].ints) EXPECT_GE(blocks, 0);
  for (const std::int64_t bytes : tables["site_sizes"]["usable_bytes"].ints) EXPECT_LE(bytes, 2000);
}

// The largest sum of what lies at each address, counted without looking at who handed it out, is the peak's gross; and
// rows always add up to it.
TEST(PoolBooks, RandomPoolsAddUpToWhatLiesInMemory) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    PoolTrace trace;
    const auto chunk = trace.shape(trace.stack(0x1234), 4000);  // 4008 usable, 8 header
    std::uint64_t gross = 0, peak = 0;
    struct Piece {
      std::uint64_t address, bytes, next;
      bool is_heap;
    };
    std::vector<Piece> pieces;
    trace.create(1);
    std::uint64_t place = 0x100000;
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t choice = random() % 10;
      if (choice < 2) {
        place += 0x10000;
        const bool is_heap = random() % 2 == 0;
        const std::uint64_t bytes = is_heap ? 3900 : 4096 * (1 + random() % 4);
        if (is_heap) trace.alloc(place, chunk);
        gross += is_heap ? 4016 : bytes;
        trace.grow(1, place + (is_heap ? 16 : 0), bytes);
        pieces.push_back({place, bytes, 0, is_heap});
      } else if (choice < 3 && !pieces.empty()) {
        const std::size_t at = random() % pieces.size();
        const Piece piece = pieces[at];
        const std::uint64_t start = piece.address + (piece.is_heap ? 16 : 0);
        for (std::uint64_t block = 0; block < piece.next; block += 64) trace.take_back(1, start + block);
        trace.shrink(1, start);
        if (piece.is_heap) trace.free(piece.address);
        gross -= piece.is_heap ? 4016 : piece.bytes;
        pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (!pieces.empty()) {
        Piece& piece = pieces[random() % pieces.size()];
        if (piece.next + 64 > piece.bytes) continue;
        trace.hand_out(1, piece.address + (piece.is_heap ? 16 : 0) + piece.next, 1 + random() % 64);
        piece.next += 64;
      }
      peak = std::max(peak, gross);
    }
    const Tables tables = trace.replay();
    ASSERT_EQ(figures(tables, "peak").gross, static_cast<std::int64_t>(peak)) << "seed " << seed;
    ASSERT_EQ(figures(tables, "end").gross, static_cast<std::int64_t>(gross)) << "seed " << seed;
    for (const char* moment : {"peak", "end", "total"}) {
      ASSERT_EQ(row_sums(tables, std::string(moment) + "_blocks"), figures(tables, moment)) << "seed " << seed;
    }
    ASSERT_GE(figures(tables, "total").gross, figures(tables, "peak").gross) << "seed " << seed;
    const Tables looked_at = trace.replay_with_looks(
        70, [&](const Tables& seen, const Tables& made) { ASSERT_EQ(difference(seen, made), "") << "seed " << seed; });
    ASSERT_EQ(difference(looked_at, tables), "") << "seed " << seed;
  }
}

// A sampled chunk stands for others whose pools' memory is told in full: on average nothing is counted twice.
TEST(PoolBooks, SampledChunksKeepWhatThePoolDidntGet) {
  PoolTrace trace;
  trace.info.sample_bytes = 1 << 20;
  const auto chunk = trace.shape(trace.stack(0x1234), 4096, 4104, 8.0);
  trace.alloc(0x10000, chunk);
  trace.create(1);
  trace.grow(1, 0x10010, 4080);
  trace.grow(1, 0x20010, 4080);  // of a chunk that wasn't sampled
  trace.hand_out(1, 0x10010, 64);
  const Tables tables = trace.replay();
  EXPECT_EQ(figures(tables, "end").gross, 8 * (24 + 8) + 2 * 4080);
  EXPECT_EQ(figures(tables, "end").requested, 8 * 16 + 64);
}

TEST(PoolBooks, SpaceTimeIsWhatEachHeld) {
  PoolTrace trace;
  trace.create(1);
  trace.grow(1, 0x900000, 1000);
  trace.hand_out(1, 0x900000, 400);
  trace.take_back(1, 0x900000);
  trace.shrink(1, 0x900000);
  const Tables tables = trace.replay();
  const Table& sizes = tables["site_sizes"];
  double block = 0, memory = 0;
  for (std::size_t row = 0; row < sizes.rows(); ++row) {
    (sizes["api"].text(row) == "pool block" ? block : memory) += sizes["byte_ns"].doubles[row];
  }
  EXPECT_DOUBLE_EQ(block, 400 * 256);
  EXPECT_DOUBLE_EQ(memory, 1000 * 3 * 256 - 400 * 256);
}

}  // namespace
}  // namespace tare::core
