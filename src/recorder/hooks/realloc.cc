// realloc, in all the ways it can go.
#include "recorder/hooks/realloc.h"

#include <cstring>

#include "recorder/base/address.h"
#include "recorder/events/contents.h"
#include "recorder/events/failed_request.h"
#include "recorder/events/nested.h"
#include "recorder/events/own_cost.h"
#include "recorder/hooks/real.h"
#include "recorder/watch/resting.h"

namespace tare::recorder {

namespace {

// A recorded block's contents while it's being reallocated: nothing where they aren't recorded.
class ContentsAround {
 public:
  ContentsAround(Thread* thread, std::uint64_t address) : address_(address) {
    if (!recorder.contents()) return;
    const SeenContents seen = contents_of_blocks.take(address, taken_);
    if (seen.tells()) write_contents(thread, address, seen);
  }
  void moved_to(const Block& block) const {
    if (recorder.contents()) contents_of_blocks.grown(taken_, block);
  }
  void stay() const {
    if (recorder.contents()) contents_of_blocks.put_back(address_, taken_);
  }

 private:
  std::uint64_t address_;
  TakenContents taken_;
};

class NothingAround {  // where contents can't be recorded: with them no thread is ready
 public:
  NothingAround(Thread*, std::uint64_t) {}
  void moved_to(const Block&) const {}
  void stay() const {}
};

template <typename Around>
TARE_INLINE void* realloc_inside(Thread* thread, const StartState& start, void* old, std::size_t bytes,
                                 trace::AllocApi api) {
  const std::uint64_t address = word(old);
  enter(thread, start);
  const Around around(thread, address);
  const ReallocBegin begin = begin_realloc(thread, start);
  void* block = real.realloc(old, bytes);
  if (TARE_LIKELY(block != nullptr)) {
    const Block grown{word(block), bytes, usable_bytes(block, bytes), api, 0, 0};
    around.moved_to(grown);
    write_realloc(thread, begin, address, grown);
  } else if (bytes == 0) {
    write_realloc_free(thread, begin, address, trace::FreeApi::ReallocToZero);  // glibc's way: realloc(p, 0) frees
  } else {
    around.stay();
    leave_failed_realloc(thread, begin, start, bytes, api);
    return nullptr;
  }
  leave(thread);
  return block;
}

void* nested_realloc(Thread* thread, const StartState& start, void* old, std::size_t bytes, trace::AllocApi api) {
  const std::uint64_t address = word(old);
  const std::uint64_t before = stamp_after_loads();
  void* block = real.realloc(old, bytes);
  if (block != nullptr) {
    queue_realloc(thread, start, before, address, Block{word(block), bytes, usable_bytes(block, bytes), api, 0, 0});
  } else if (bytes == 0) {
    queue_free(thread, address, trace::FreeApi::ReallocToZero);
  } else {
    record_failed_request(start, bytes, api);
  }
  return block;
}

// Of a block that isn't sampled: it may become so by growing.
void* unsampled_realloc(Entry entry, const StartState& start, void* old, std::size_t bytes, trace::AllocApi api) {
  const int before = Sampler::octave(usable_bytes(old, 0));
  void* block = real.realloc(old, bytes);
  SamplingState& state = this_thread->sampling;
  if (block == nullptr) {
    if (bytes == 0) Sampler::count_free();
    record_failed_request(start, bytes, api);
    return nullptr;
  }
  const std::uint64_t usable = usable_bytes(block, bytes);
  // By the octave that the hook decided by, which let the call come here.
  const bool is_early = recorder.decides_early() && bytes <= Sampler::kMostEarlyBytes;
  const int after = is_early ? Sampler::request_octave(bytes) : Sampler::octave(usable);
  const double weight = sampler.decide_grown(state, before, after);
  if (TARE_LIKELY(weight == 0)) return block;
  const CostOfCall cost;
  if (sampler.sampled.insert(word(block), sampler.odds_of(weight, after))) {
    record_decided(entry, start, Block{word(block), bytes, usable, api, 0, weight});
  }
  Sampler::count_allocation(state);
  return block;
}

struct Grown {
  Block block;
  bool is_sampled;
  bool continues;  // the sample of the old block
};

// The block that became of a sample with `odds` and of octave `before`; in the set if it's a sample.
Grown grown_sample(Thread* thread, std::uint32_t odds, int before, void* block, std::size_t bytes,
                   trace::AllocApi api) {
  if (recorder.watching()) odds = sampler.newest_odds();  // a watch has thinned all samples
  const std::uint64_t usable = usable_bytes(block, bytes);
  const int after = Sampler::octave(usable);
  const auto [weight, continues] = sampler.decide_again(thread->sampling, odds, before, after);
  const bool is_sampled = weight != 0 && sampler.sampled.insert(word(block), sampler.odds_of(weight, after));
  return {Block{word(block), bytes, usable, api, 0, weight}, is_sampled, is_sampled && continues};
}

// Of a sampled block: off the set before the real call, for its address may be another thread's block right after.
void* sampled_realloc(Thread* thread, const StartState& start, void* old, std::uint32_t odds, std::size_t bytes,
                      trace::AllocApi api) {
  CostOfCall cost;
  const std::uint64_t address = word(old);
  const int before = Sampler::octave(usable_bytes(old, 0));
  enter(thread, start);
  write_seen(thread);
  const ReallocBegin begin = begin_realloc(thread, start);
  cost.pause();
  void* block = real.realloc(old, bytes);
  cost.go_on();
  if (block != nullptr) {
    Sampler::count_allocation(thread->sampling);
    const Grown grown = grown_sample(thread, odds, before, block, bytes, api);
    if (grown.continues) {
      write_realloc(thread, begin, address, grown.block);
    } else {
      write_realloc_free(thread, begin, address, trace::FreeApi::ReallocUnsampled);
      if (grown.is_sampled) write_alloc(thread, start, grown.block);
    }
  } else if (bytes == 0) {
    write_realloc_free(thread, begin, address, trace::FreeApi::ReallocToZero);
    Sampler::count_free();
  } else {
    sampler.sampled.insert(address, odds);
    leave_failed_realloc(thread, begin, start, bytes, api);
    return nullptr;
  }
  leave(thread);
  return block;
}

void* nested_sampled_realloc(Thread* thread, const StartState& start, void* old, std::uint32_t odds, std::size_t bytes,
                             trace::AllocApi api) {
  const std::uint64_t address = word(old);
  const int before = Sampler::octave(usable_bytes(old, 0));
  const std::uint64_t stamp_before = stamp_after_loads();
  void* block = real.realloc(old, bytes);
  const CostOfCall cost;
  if (block == nullptr && bytes != 0) {
    sampler.sampled.insert(address, odds);
    record_failed_request(start, bytes, api);
    return nullptr;
  }
  if (block == nullptr) {
    queue_free(thread, address, trace::FreeApi::ReallocToZero);
    return nullptr;
  }
  const Grown grown = grown_sample(thread, odds, before, block, bytes, api);
  if (grown.continues) {
    queue_realloc(thread, start, stamp_before, address, grown.block);
  } else {
    queue_free(thread, address, trace::FreeApi::ReallocUnsampled);
    if (grown.is_sampled) queue_alloc(thread, start, grown.block);
  }
  return block;
}

// The block ends, if it was known; the new block isn't recorded.
void* paused_realloc(Entry entry, const StartState& start, void* old, std::size_t bytes) {
  const std::uint64_t address = word(old);
  Thread* thread = this_thread;
  int odds = SampledSet::kNotIn;
  if (recorder.sampling() && (odds = sampler.sampled.take_out(address)) == SampledSet::kNotIn)
    return real.realloc(old, bytes);
  const trace::FreeApi api = bytes == 0 ? trace::FreeApi::ReallocToZero : trace::FreeApi::ReallocUnsampled;
  if (entry == Entry::Nested) {
    void* block = real.realloc(old, bytes);
    if (block != nullptr || bytes == 0) queue_free(thread, address, api);
    return block;
  }
  enter(thread, start);
  ContentsAround contents(thread, address);
  if (recorder.sampling()) write_seen(thread);
  const ReallocBegin begin = begin_realloc(thread, start);
  void* block = real.realloc(old, bytes);
  if (block != nullptr || bytes == 0) {
    write_realloc_free(thread, begin, address, api);
  } else {
    if (recorder.sampling()) sampler.sampled.insert(address, static_cast<std::uint32_t>(odds));
    contents.stay();
    give_up_realloc(thread, begin);
  }
  leave(thread);
  return block;
}

void* settled_realloc(Entry entry, const StartState& start, void* old, std::size_t bytes, trace::AllocApi api) {
  Thread* thread = this_thread;
  if (entry >= Entry::Ignored) {
    void* const block = real.realloc(old, bytes);
    if (entry == Entry::Within) {
      thread->nested_block = word(block);
      thread->nested_bytes = bytes;
    }
    return block;
  }
  if (recorder.paused()) return paused_realloc(entry, start, old, bytes);
  if (recorder.sampling()) {
    const int found = sampler.sampled.take_out(word(old));
    if (found == SampledSet::kNotIn) return unsampled_realloc(entry, start, old, bytes, api);
    const auto odds = static_cast<std::uint32_t>(found);
    if (entry == Entry::Nested) return nested_sampled_realloc(thread, start, old, odds, bytes, api);
    return sampled_realloc(thread, start, old, odds, bytes, api);
  }
  if (entry == Entry::Nested) return nested_realloc(thread, start, old, bytes, api);
  return realloc_inside<ContentsAround>(thread, start, old, bytes, api);
}

__attribute__((noinline)) TARE_REALIGNED void* realloc_slowly(const StartState& start, void* old, std::size_t bytes,
                                                              trace::AllocApi api) {
  const bool was_beside_watch = recorder.ends_beside_watch();
  const Entry entry = settle(start);
  const bool is_watched = entry < Entry::Ignored && recorder.sampling();  // settle() may have resumed it
  if (TARE_LIKELY(is_watched || !(was_beside_watch || recorder.ends_beside_watch()))) {
    return settled_realloc(entry, start, old, bytes, api);
  }
  const ReallocBesideWatch beside(word(old));
  void* const block = settled_realloc(entry, start, old, bytes, api);
  if (block == nullptr && bytes != 0) {
    beside.failed();
    return nullptr;
  }
  beside.done();
  if (block != nullptr && entry < Entry::Ignored && recorder.watch_rests()) {
    note_birth_beside_watch(Block{word(block), bytes, usable_bytes(block, bytes), api, 0, 0});
  }
  return block;
}

}  // namespace

void* record_realloc(const StartState& start, void* old, std::size_t bytes, trace::AllocApi api) {
  Thread* thread = this_thread;
  if (TARE_UNLIKELY(!is_ready(thread))) return realloc_slowly(start, old, bytes, api);
  return realloc_inside<NothingAround>(thread, start, old, bytes, api);
}

void record_fork(const StartState& start, std::uint32_t child) {
  if (!recorder.alive() || settle(start) != Entry::Ready) return;
  Thread* thread = this_thread;
  enter(thread, start);
  write_note(thread, trace::Op::Fork, child);
  leave(thread);
}

}  // namespace tare::recorder
