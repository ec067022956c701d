#include "allocator_replay/perform/performer.h"

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>

namespace tare::perform {
namespace {

using core::StepKind;

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kSaidSteps = 64;  // steps between two publications of a thread's position

// Stands in a slot for a block that the allocator refused, and for every block where it isn't called.
char no_block;

void write_bytes(void* block, std::uint64_t from, std::uint64_t to) {
  volatile char* const bytes = static_cast<volatile char*>(block);
  for (std::uint64_t at = from; at < to; at += kPageBytes) bytes[at] = 1;
  if (from < to) bytes[to - 1] = 1;
}

class Performer {
 public:
  explicit Performer(Stage& stage) : stage_(stage) {}

  void finish() { stage_.copied_bytes.fetch_add(copied_bytes_, std::memory_order_relaxed); }

  void take(const Step& step) {
    switch (step.kind()) {
      case StepKind::Free: {
        void* const block = take_from(step.slot);
        if (is_block(block)) free(block);
        break;
      }
      case StepKind::ReallocFrom:
        old_block_ = take_from(step.slot);
        old_bytes_ = step.bytes();
        break;
      case StepKind::Touch:
        touch(step);
        break;
      case StepKind::Nothing:
        break;
      case StepKind::Avoided:
        put_into(step.slot, &no_block);
        break;
      case StepKind::FreedAtOnce: {
        void* const block = allocate(step);
        if (is_block(block)) free(block);
        put_into(step.slot, &no_block);
        break;
      }
      default:
        put_into(step.slot, allocate(step));
        break;
    }
  }

 private:
  void* allocate(const Step& step) {
    if (stage_.allocator == Allocator::LeftAlone) return &no_block;
    const std::uint64_t bytes = step.bytes();
    void* block = nullptr;
    std::uint64_t written = 0;
    switch (step.kind()) {
      case StepKind::Calloc:
        block = calloc(1, bytes);
        break;
      case StepKind::Aligned:
        // any power of two that malloc doesn't give anyway
        if (posix_memalign(&block, std::max<std::uint64_t>(std::uint64_t{1} << step.align_log2(), sizeof(void*)),
                           bytes) != 0)
          block = nullptr;
        break;
      case StepKind::ReallocTo:
        // The program got a block of no bytes, as from CPython's functions. glibc frees the old one and gives none.
        block = realloc(is_block(old_block_) ? old_block_ : nullptr, std::max<std::uint64_t>(bytes, 1));
        if (block == nullptr && is_block(old_block_)) free(old_block_);
        written = is_block(old_block_) ? std::min(old_bytes_, bytes) : 0;
        if (block != old_block_) copied_bytes_ += written;
        old_block_ = &no_block;
        break;
      case StepKind::FreedTo:
        if (is_block(old_block_)) free(old_block_);
        old_block_ = &no_block;
        return &no_block;
      case StepKind::KeptTo:
        block = old_block_;
        if (!is_block(block)) return block;
        written = std::min(old_bytes_, bytes);
        old_block_ = &no_block;
        break;
      default:
        block = malloc(bytes);
        break;
    }
    if (block == nullptr) {
      // for no bytes at all an allocator may give nothing
      if (bytes != 0) stage_.failed_calls.fetch_add(1, std::memory_order_relaxed);
      return &no_block;
    }
    write_bytes(block, written, step.written_bytes());
    return block;
  }

  void touch(const Step& step) {
    void* const block = stage_.slots[step.slot].load(std::memory_order_relaxed);
    if (is_block(block)) static_cast<volatile char*>(block)[step.bytes()] = 1;
  }

  // The block that another step puts here, of this thread or another.
  void* take_from(std::uint32_t slot) {
    std::atomic<void*>& place = stage_.slots[slot];
    void* block = place.load(std::memory_order_acquire);
    for (int tries = 0; block == nullptr; ++tries) {
      Gate::rest(tries);
      block = place.load(std::memory_order_acquire);
    }
    place.store(nullptr, std::memory_order_release);
    return block;
  }

  void put_into(std::uint32_t slot, void* block) { stage_.slots[slot].store(block, std::memory_order_release); }

  Stage& stage_;
  void* old_block_ = &no_block;
  std::uint64_t old_bytes_ = 0;
  std::uint64_t copied_bytes_ = 0;
};

void wait_until(const Stage& stage, std::uint32_t order) {
  const auto due = static_cast<std::uint64_t>(static_cast<double>(stage.script.time_ns(order)) / stage.speed);
  for (std::uint64_t now = now_ns() - stage.start_ns; now < due; now = now_ns() - stage.start_ns) {
    const std::uint64_t rest = due - now;
    const timespec some{static_cast<time_t>(rest / 1'000'000'000), static_cast<long>(rest % 1'000'000'000)};
    nanosleep(&some, nullptr);
  }
}

}  // namespace

bool is_block(const void* block) { return block != nullptr && block != &no_block; }

std::uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void perform(Stage& stage, std::uint64_t i) {
  Step steps[core::kChunkSteps];
  const std::uint64_t step_count = stage.script.thread(i).step_count;
  const std::uint64_t chunks = (step_count + core::kChunkSteps - 1) / core::kChunkSteps;
  Performer performer(stage);
  std::uint64_t limit = 0;
  std::uint64_t timed = 0;  // which of the script's times was waited for
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::size_t count = stage.script.read_chunk(i, chunk, steps);
    for (std::size_t at = 0; at < count; ++at) {
      const Step& step = steps[at];
      if (stage.speed > 0 && step.order / core::kTimedSteps != timed) [[unlikely]] {
        timed = step.order / core::kTimedSteps;
        stage.gate.say(i, step.order);
        wait_until(stage, step.order);
      }
      if (step.order >= limit) {
        limit = stage.gate.pass(i, step.order);
      } else if (at % kSaidSteps == 0) {
        stage.gate.say(i, step.order);
      }
      performer.take(step);
    }
  }
  performer.finish();
  stage.gate.end(i);
}

std::uint64_t usable_bytes(const Stage& stage) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < stage.script.header().slot_count; ++i) {
    void* const block = stage.slots[i].load(std::memory_order_acquire);
    if (is_block(block)) sum += malloc_usable_size(block);
  }
  return sum;
}

}  // namespace tare::perform
