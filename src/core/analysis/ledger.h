// The rules of block life, used by everything that replays events: which event begins a block, ends it or continues
// another one, and which events are impossible. `Books` stores the data of blocks.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/analysis/block_map.h"
#include "core/analysis/growth_ring.h"
#include "core/analysis/short_lives.h"
#include "core/analysis/zeroed_pages.h"
#include "trace/model/content_digest.h"
#include "trace/model/event.h"
#include "trace/model/process_info.h"

namespace tare::core {

enum class GrowthKind : std::uint8_t { Realloc = 0, MallocCopyFree = 1 };
inline constexpr std::size_t kGrowthKinds = 2;
enum class Move : std::uint8_t { InPlace, Copied };

// Facts about the contents of a block that the recorder saw before the block ended.
struct HeldBytes {
  std::uint64_t address = 0;
  std::uint64_t digest = 0;      // 0: none, or not freed before
  std::uint64_t new_digest = 0;  // short, of contents that weren't freed before; 0: none. Then the address may be 0
  std::uint32_t unwritten_bytes = 0;
  trace::ContentClass content_class = trace::ContentClass::Other;
};

struct LedgerCounts {
  std::uint64_t alloc_events = 0;
  std::uint64_t free_events = 0;
  std::uint64_t realloc_events = 0;
  std::uint64_t dropped_events = 0;
  std::uint64_t impossible_events = 0;  // began on a live block, or ended one that had already ended
  // Ended a block of which nothing is known: older than the recording, or born while the recorder slept.
  std::uint64_t pre_existing_frees = 0;
  std::uint64_t unmatched_after_drops = 0;  // either of these, after events were lost: no verdict possible
};

// The data of blocks, which a Ledger's rules change. A block is represented by a word, which `born` returns and the
// ledger stores: it is live as defined by BlockMap::is_live, and its high half is the serial of its birth.
template <typename Books>
concept LedgerBooks = requires(Books& books, const trace::Event& event, trace::ShapeId shape, std::uint64_t& word,
                               std::uint64_t stamp, const typename Books::Dead& dead, GrowthKind kind, Move move) {
  books.tick(stamp);                                                  // before every event
  { books.admit(shape) } -> std::same_as<bool>;                       // false: no such shape
  { books.born(event) } -> std::same_as<std::uint64_t>;               // the word of the new block
  { books.died(word, event) } -> std::same_as<typename Books::Dead>;  // the facts that are still needed of it
  books.continued(dead, word, kind, move);                            // the block of `word` took over from the dead one
  { books.stack(shape) } -> std::same_as<trace::StackId>;
  { books.stack(dead) } -> std::same_as<trace::StackId>;
  { books.requested_bytes(shape) } -> std::same_as<std::uint64_t>;
  { books.requested_bytes(dead) } -> std::same_as<std::uint64_t>;
  { books.birth(dead) } -> std::same_as<std::uint32_t>;  // serials of allocations, modulo 2^32
  { books.last_birth() } -> std::same_as<std::uint32_t>;
  books.other(event);  // maps, threads, marks
};

// Base of books that don't follow growth: the ledger links no blocks that have no stack.
struct BooksWithoutGrowth {
  struct Dead {};
  void tick(std::uint64_t) {}
  void continued(const Dead&, std::uint64_t&, GrowthKind, Move) {}
  trace::StackId stack(trace::ShapeId) const { return trace::kEmptyStack; }
  trace::StackId stack(const Dead&) const { return trace::kEmptyStack; }
  std::uint64_t requested_bytes(trace::ShapeId) const { return 0; }
  std::uint64_t requested_bytes(const Dead&) const { return 0; }
  std::uint32_t birth(const Dead&) const { return 0; }
  std::uint32_t last_birth() const { return 0; }
  void other(const trace::Event&) {}
};

// Optional: prefetch the data of an event up to ShortLives::kMostEvents ahead, or of a block that is about to end.
template <typename Books>
concept ForeseesEvents = requires(Books& books, const trace::Event& event) { books.foresee(event); };
template <typename Books>
concept ForeseesEnds = requires(Books& books, std::uint64_t word) { books.foresee_end(word); };
// Optional: the contents of a block that has just ended.
template <typename Books>
concept ReadsContents =
    requires(Books& books, const typename Books::Dead& dead, const HeldBytes& held) { books.end_contents(dead, held); };
// Optional, else other(): a CallCost note, and the stack of the block that its thread freed last (kEmptyStack:
// unknown).
template <typename Books>
concept ReadsCallCosts =
    requires(Books& books, const trace::Event& event, trace::StackId freed) { books.call_cost(event, freed); };

template <typename Books>
class Ledger {
 public:
  enum class Coverage : std::uint8_t {
    Everything,
    // Sampled: most blocks that end never began here, which is no news. The note before an event counts the allocations
    // between a free and the event. An event without that note isn't linked to a free, because growth by malloc, copy
    // and free couldn't be told from chance.
    Sample,
  };

  // `info` must outlive it, and may change: a recorder may fall asleep at any time.
  Ledger(Books& books, const trace::ProcessInfo& info)
      : books_(books),
        info_(info),
        coverage_(info.sample_bytes != 0 ? Coverage::Sample : Coverage::Everything),
        thread_of_(std::size_t{1} << 16) {}

  void consume(std::span<const trace::Event> events) {
    static_assert(LedgerBooks<Books>);  // here, because Books is incomplete while it declares its ledger
    while (!events.empty()) {
      const bool foreseen = events_to_foresee_ > 0;
      run_ = foreseen ? foresee(events) : short_lives_.foresee_none(events);
      const std::uint64_t slow_visits = map_.slow_visits();
      consume_run(events.first(run_));
      first_place_ += static_cast<std::uint32_t>(run_);
      events = events.subspan(run_);
      if (!foreseen) judge(map_.slow_visits() - slow_visits);
    }
  }

  // A block that was there before the first event.
  void place(std::uint64_t address, std::uint64_t word) { map_.claim(address) = word; }

  // Threads that had an event of any kind. Those that ran one after the other may share a number.
  std::uint64_t threads() const { return std::max<std::uint64_t>(threads_.size(), thread_starts_); }
  const LedgerCounts& counts() const { return counts_; }
  // Blocks that a realloc has ended and whose new block hasn't begun yet: visit(address, Dead).
  template <typename Visit>
  void for_each_reallocating(const Visit& visit) const {
    for (const auto& of : threads_) {
      if (of->reallocating) visit(of->old_address, of->old);
    }
  }
  const BlockMap& map() const { return map_; }
  BlockMap& map() { return map_; }  // to look up; what it holds is the ledger's to change

 private:
  // A word of a block from an earlier run is read this number of events before the block's end, and prefetched as many
  // events earlier. Where blocks live long, both were waits for memory, and a third of replay.
  static constexpr std::size_t kAhead = 12;
  struct Thread {
    GrowthRing ring;
    bool seen = false;  // a note has counted the calls before the next event
    bool reallocating = false;
    HeldBytes held;                             // by the block that its next free or realloc ends
    trace::StackId freed = trace::kEmptyStack;  // where the last freed block was allocated
    std::uint64_t old_address = 0;
    typename Books::Dead old{};
  };

  static std::uint32_t birth_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }

  std::size_t foresee(std::span<const trace::Event> events) {
    // A call that only prefetches has no effect for GCC, and would be removed.
    const std::size_t run = short_lives_.foresee(events, [&](const trace::Event& event) __attribute__((always_inline)) {
      if constexpr (ForeseesEvents<Books>) books_.foresee(event);
    });
    events_to_foresee_ -= static_cast<std::int64_t>(run);
    return run;
  }

  // Prefetching costs 3 ns an event. It saves a third of the time of git's replay, whose blocks lie far apart, and adds
  // a fifth to a Python program's. Every 256th run doesn't prefetch: it counts the blocks that were slow to find.
  void judge(std::uint64_t slow_visits) {
    if (slow_visits * 4 < run_) return;
    events_to_foresee_ = 256 * ShortLives::kMostEvents;
    short_lives_.restart();
  }

  void consume_run(std::span<const trace::Event> events) {
    using trace::EventKind;
    const std::span<const std::uint16_t> far = short_lives_.far_ends();
    std::size_t fetched = 0;
    std::size_t peeked = 0;
    for (std::size_t at = 0; at < events.size(); ++at) {
      const trace::Event& event = events[at];
      for (; fetched < far.size() && far[fetched] <= at + 2 * kAhead; ++fetched)
        map_.prefetch(events[far[fetched]].address);
      for (; peeked < far.size() && far[peeked] <= at + kAhead; ++peeked) {
        if constexpr (ForeseesEnds<Books>) books_.foresee_end(map_.peek(events[far[peeked]].address));
      }
      books_.tick(event.stamp);
      switch (event.kind) {
        case EventKind::Alloc:
          ++counts_.alloc_events;
          begin(event, at, thread(event.thread));
          break;
        case EventKind::Free:
          ++counts_.free_events;
          free(event, at);
          break;
        case EventKind::ReallocEnd:
          realloc_end(event, at);
          break;
        case EventKind::ReallocStart:
          ++counts_.realloc_events;
          realloc_start(event, at);
          break;
        case EventKind::Dropped:
          counts_.dropped_events += event.address;
          other(event);
          break;
        case EventKind::Contents:
          note_contents(event, thread(event.thread).held);
          break;
        case EventKind::Digest:
          thread(event.thread).held.digest = event.address;
          break;
        case EventKind::NewDigest:
          thread(event.thread).held = {0, 0, event.address, 0, static_cast<trace::ContentClass>(event.api & 3)};
          break;
        case EventKind::CallCost:
          if constexpr (ReadsCallCosts<Books>)
            books_.call_cost(event, thread(event.thread).freed);
          else
            other(event);
          break;
        case EventKind::Seen:
          thread(event.thread).ring.skip_to(trace::SeenCounts::of(event.address));
          thread(event.thread).seen = true;
          [[fallthrough]];
        default:
          other(event);
      }
    }
  }

  Thread& thread(std::uint16_t id) {
    Thread*& found = thread_of_[id];
    if (found == nullptr) [[unlikely]]
      found = threads_.emplace_back(std::make_unique<Thread>()).get();
    return *found;
  }

  // Where the word of the block that begins at `at` is kept. A short-lived block leaves the word kGone in the map, as
  // if it had been stored there.
  std::uint64_t& word_for(const trace::Event& event, std::size_t at) {
    if (short_lives_.is_short(at) && short_lives_.is_vacant(at)) return short_lives_.word(at);
    std::uint64_t& word = map_.claim(event.address);
    if (BlockMap::is_live(word)) [[unlikely]] {
      ++(counts_.dropped_events ? counts_.unmatched_after_drops : counts_.impossible_events);
      books_.died(word, event);
    }
    if (!short_lives_.is_short(at)) return word;
    word = BlockMap::kGone;
    return short_lives_.word(at);
  }

  std::uint64_t* begin(const trace::Event& event, std::size_t at, Thread& of) {
    if (!books_.admit(event.shape)) [[unlikely]] {
      ++counts_.impossible_events;
      if (short_lives_.is_short(at)) short_lives_.word(at) = BlockMap::kNever;
      return nullptr;
    }
    std::uint64_t& word = word_for(event, at);
    word = books_.born(event);
    if (follows_all(of)) {
      of.ring.allocated(books_.stack(event.shape), event.address, event.shape, birth_of(word),
                        first_place_ + static_cast<std::uint32_t>(at));
    }
    return &word;
  }

  void other(const trace::Event& event) {
    Thread& of = thread(event.thread);
    if (event.kind == trace::EventKind::ThreadStart) {
      ++thread_starts_;
      of = Thread{};  // the state of an earlier thread with this number is obsolete
    }
    books_.other(event);
  }

  // The word of the block that ends at `at`, if it is known and live. Otherwise counts the event as impossible or
  // unmatched.
  std::uint64_t* end(const trace::Event& event, std::size_t at) {
    if (const std::size_t birth = short_lives_.birth_of(at); birth != ShortLives::kNone) [[likely]] {
      std::uint64_t& word = short_lives_.word(birth);
      if (BlockMap::is_live(word)) [[likely]]
        return &word;
    }
    std::uint64_t* word = map_.find(event.address);
    if (word && BlockMap::is_live(*word)) [[likely]]
      return word;
    if (coverage_ == Coverage::Sample) return nullptr;
    if (counts_.dropped_events) {
      ++counts_.unmatched_after_drops;
    } else if (word && *word == BlockMap::kGone && !info_.asleep_ns) {
      ++counts_.impossible_events;
    } else {
      ++counts_.pre_existing_frees;
    }
    return nullptr;
  }

  // True if all events of `of` before its present one are known.
  bool follows_all(Thread& of) const { return coverage_ == Coverage::Everything || std::exchange(of.seen, false); }

  void free(const trace::Event& event, std::size_t at) {
    Thread& of = thread(event.thread);
    trace::StackId freed = trace::kEmptyStack;
    if (std::uint64_t* word = end(event, at)) [[likely]] {
      const typename Books::Dead dead = books_.died(*word, event);
      freed = books_.stack(dead);
      pass_contents(of, event, dead);
      *word = BlockMap::kGone;
      const bool may_be_known =
          follows_all(of) && event.api != static_cast<std::uint8_t>(trace::FreeApi::ReallocUnsampled);
      if (may_be_known) link(of.ring, dead);
    }
    of.freed = freed;
    of.ring.freed();
  }

  static void note_contents(const trace::Event& event, HeldBytes& held) {
    const std::uint64_t new_digest = held.address == 0 ? held.new_digest : 0;
    held = {event.address, 0, new_digest, trace::index(event.shape), static_cast<trace::ContentClass>(event.api & 3)};
  }

  // The note waits for the end, which finds the block anyway: found twice, a block costs two waits for memory.
  void pass_contents(Thread& of, const trace::Event& event, const typename Books::Dead& dead) {
    if constexpr (ReadsContents<Books>) {
      const bool is_next = of.held.address == 0 && of.held.new_digest != 0;
      if (of.held.address != event.address && !is_next) [[likely]]
        return;
      books_.end_contents(dead, of.held);
      of.held = {};
    }
  }

  void link(const GrowthRing& ring, const typename Books::Dead& dead) {
    const trace::StackId stack = books_.stack(dead);
    if (stack == trace::kEmptyStack) return;  // no stack is no evidence that two blocks belong together
    const GrowthRing::Entry* next = ring.successor(
        stack, books_.birth(dead), books_.last_birth(),
        [&](trace::ShapeId shape) { return books_.requested_bytes(shape) > books_.requested_bytes(dead); });
    if (next) [[unlikely]]
      take_over(dead, *next);
  }

  void take_over(const typename Books::Dead& dead, const GrowthRing::Entry& next) {
    const std::uint32_t place = next.place - first_place_;
    const bool is_here = place < run_ && short_lives_.is_short(place);
    std::uint64_t* word = is_here ? &short_lives_.word(place) : map_.find(next.address);
    const bool same_block = word && BlockMap::is_live(*word) && birth_of(*word) == next.birth;
    if (same_block) books_.continued(dead, *word, GrowthKind::MallocCopyFree, Move::Copied);
  }

  void realloc_end(const trace::Event& event, std::size_t at) {
    Thread& of = thread(event.thread);
    std::uint64_t* word = end(event, at);
    of.reallocating = word != nullptr;
    if (!word) return;
    of.old = books_.died(*word, event);
    of.old_address = event.address;
    *word = BlockMap::kGone;
    pass_contents(of, event, of.old);
  }

  void realloc_start(const trace::Event& event, std::size_t at) {
    Thread& of = thread(event.thread);
    std::uint64_t* word = begin(event, at, of);
    if (word && of.reallocating) {
      books_.continued(of.old, *word, GrowthKind::Realloc,
                       of.old_address == event.address ? Move::InPlace : Move::Copied);
    }
    of.reallocating = false;
  }

  Books& books_;
  const trace::ProcessInfo& info_;
  Coverage coverage_;
  BlockMap map_;  // of the blocks that outlive their run of events
  ShortLives short_lives_;
  std::int64_t events_to_foresee_ = 0;
  std::size_t run_ = 0;             // events in the present run
  std::uint32_t first_place_ = 0;   // events before it, modulo 2^32
  ZeroedPages<Thread*> thread_of_;  // by number
  std::vector<std::unique_ptr<Thread>> threads_;
  LedgerCounts counts_;
  std::uint64_t thread_starts_ = 0;
};

}  // namespace tare::core
