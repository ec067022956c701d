// Blocks and memory of pools, by shape: the part of the heap that malloc's events don't contain.
//
// A pool's piece of memory is a block of its own, and the pool's blocks take their bytes from it. The block of malloc
// that contains the piece keeps the remaining bytes. So no byte is counted twice, and memory that a pool holds without
// using it is attributed to the stack that got it. A piece ends when the program reports its end, even if its block of
// malloc was freed before.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/analysis/pools/pool_ledger.h"
#include "core/analysis/record_slots.h"
#include "core/analysis/shape_sums.h"
#include "trace/model/dictionary.h"
#include "trace/model/event.h"

namespace tare::core {

// A live block of malloc.
struct HeapBlock {
  std::uint64_t address;
  std::uint64_t requested_bytes;
  std::uint64_t usable_bytes;
  std::uint64_t weight_q;  // blocks that it stands for, in 1/4096
  std::uint32_t shape;
  bool inherited;  // the shape is one of the inherited set
};

class PoolBooks {
 public:
  explicit PoolBooks(const trace::Dictionary& dictionary) : dictionary_(dictionary), ledger_(*this) {}

  void adopt_earlier() { ledger_.adopt_earlier(); }

  // Sums of all that is live, as it changes: in 1/4096 like ReplayEngine's (see ShapeSums), modulo 2^64.
  struct Change {
    std::uint64_t blocks_q = 0;
    std::uint64_t requested_q = 0;
    std::uint64_t usable_q = 0;  // gross too: pools have no headers
  };
  struct Now {
    std::uint64_t age;     // of the recording, in units of 2^kAgeShift ticks
    std::uint32_t epoch;   // see ShapeSums
    std::uint32_t births;  // of malloc's blocks so far
  };
  using BlockAround = std::function<std::optional<HeapBlock>(std::uint64_t address)>;

  // Any pool event. `around` finds the live block of malloc that an address lies in.
  Change consume(const trace::Event& event, const Now& now, const BlockAround& around);
  // A block of malloc ends: before it does, it is whole again.
  Change ended(std::uint64_t address, const Now& now);

  void mark_at();  // saves the present live blocks as those of the requested time
  void finish(const Now& end);
  // Blocks of which a part is counted elsewhere, and the sums of these parts.
  struct Taken {
    std::uint64_t blocks = 0;
    std::uint64_t usable_bytes = 0;
    std::uint64_t requested_bytes = 0;
  };
  enum class Moment : std::uint8_t { Peak, End, Total, At };
  static constexpr std::size_t kMoments = 4;

  struct Sums {
    std::uint64_t live[kMoments] = {};  // of pools' blocks and pieces; 0 for shapes of malloc
    Taken taken[kMoments];
    std::uint64_t ended[kAgeClasses] = {};
    std::uint64_t age_sum = 0;          // as in ShapeSums
    std::uint64_t taken_byte_ages = 0;  // sum of taken usable bytes x age, the same way
    std::uint32_t epoch = 0;
    bool is_memory = false;
  };
  // By shape, for shapes with blocks in pools.
  using ByShape = std::unordered_map<std::uint32_t, Sums>;
  const ByShape& recorded() const { return recorded_; }
  const ByShape& inherited() const { return inherited_; }

  // State that finish() changes. read_on_the_way() saves it before and restores it after.
  struct State {
    ByShape recorded;
    ByShape inherited;
  };
  State state() const { return {recorded_, inherited_}; }
  void restore(State state) {
    recorded_ = std::move(state.recorded);
    inherited_ = std::move(state.inherited);
  }

  // PoolLedger's view; see there.
  std::size_t pool_made(const trace::Event&) { return 0; }
  void pool_ended(std::size_t) {}
  std::size_t memory_got(std::size_t pool, const trace::Event& event);
  void memory_left(std::size_t pool, std::size_t piece);
  std::size_t block_out(std::size_t pool, std::optional<std::size_t> piece, const trace::Event& event);
  void block_back(std::size_t pool, std::size_t block);
  std::uint64_t memory_bytes(std::size_t piece) const { return pieces_[piece].bytes; }
  std::uint64_t block_bytes(std::size_t block) const { return blocks_[block].bytes; }

 private:
  // A live block from which others take bytes: a piece of memory, or the block that contains a piece.
  struct Host {
    std::uint64_t serial;  // distinguishes hosts at one address
    std::uint64_t requested_bytes;
    std::uint64_t usable_bytes;
    std::uint64_t weight_q;
    std::uint32_t shape;
    bool inherited;
    std::uint64_t part_bytes = 0;  // sum of the parts taken; more than the block has if they overlap
    std::uint64_t most_bytes = 0;  // taken at once
  };
  // Of malloc's blocks and pools' own, which may begin at one address.
  enum class Kind : std::uint8_t { Heap = 0, Pool = 1 };
  static std::uint64_t key(std::uint64_t address, Kind kind) { return address << 1 | static_cast<std::uint64_t>(kind); }
  // Where something lies that takes a part.
  struct Place {
    std::uint64_t key = 0;     // of hosts_
    std::uint64_t serial = 0;  // 0: in no known block
  };
  struct Piece {
    std::uint64_t bytes = 0;
    std::uint32_t birth = 0;
    Host host{};  // of its pool's blocks
    Place place;
  };
  struct Block {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t shape = 0;
    std::uint32_t birth = 0;
    std::size_t piece = 0;
    std::uint64_t piece_serial = 0;  // 0: in none, but perhaps in
    Place place;
    bool is_known = false;
  };

  bool is_known(const trace::Event& event) const;
  std::uint64_t bytes_of(std::uint32_t shape) const;
  Sums& sums(std::uint32_t shape, bool inherited);
  void came(std::uint32_t shape);
  void went(std::uint32_t shape, std::uint32_t birth);
  void take(Host& from, std::uint64_t part_bytes);
  Host host_of(std::uint32_t shape, std::uint64_t requested_bytes);
  void open(const Host& host);
  void close(Host& host);
  void add_to_total(const Host& host);
  std::optional<std::size_t> block_around(std::uint64_t address) const;
  Place settle(std::uint64_t address, std::uint64_t bytes);
  void leave(const Place& place, std::uint64_t bytes);

  const trace::Dictionary& dictionary_;
  ByShape recorded_;
  ByShape inherited_;
  RecordSlots<Piece> pieces_;
  RecordSlots<Block> blocks_;
  std::map<std::uint64_t, std::size_t> large_blocks_;  // of blocks_, by address: see block_around
  std::unordered_map<std::uint64_t, Host> hosts_;      // by key
  std::uint64_t last_serial_ = 0;
  std::uint32_t births_ = 0;  // of pools' blocks
  // Of the event in hand:
  Now now_{};
  Change change_;
  const BlockAround* around_ = nullptr;
  PoolLedger<PoolBooks> ledger_;
};

}  // namespace tare::core
