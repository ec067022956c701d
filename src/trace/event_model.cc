// The guesses of event blocks: see event_model.h.
#include "trace/event_model.h"

#include <algorithm>

namespace tare::trace {

namespace {

constexpr std::uint64_t kGlibcHeaderBytes = 8;  // between neighbours cut off the top of a glibc heap

}  // namespace

void SymbolModel::reset() {
  by_three_.assign(kByThree, 0);
  by_one_.assign(kByOne * 2, 0);
  history_ = 0;
  context_ = 0;
  slow_ = by_three_.data();
  fast_ = by_one_.data();
}

void AddressModel::reset() {
  blocks_.clear();
  classes_.assign(kClasses, {});
  ages_.assign(SymbolModel::kByThree, 0);
  foreign_ = {};
  newest_live_ = kNoBlock;
  last_freed_ = freed_step_ = 0;
  last_alloc_ = last_alloc_end_ = last_foreign_ = 0;
}

bool AddressModel::drop(std::array<std::uint64_t, kRing>& ring, std::uint64_t address) {
  for (int i = 0; i < kRing; ++i) {
    if (ring[i] != address) continue;
    for (; i + 1 < kRing; ++i) ring[i] = ring[i + 1];
    ring[kRing - 1] = 0;
    return true;
  }
  return false;
}

void AddressModel::guess_alloc(std::uint64_t usable_bytes, std::array<std::uint64_t, kAllocGuesses>& guesses) {
  SizeClass& size_class = classes_[class_slot(usable_bytes)];
  if (size_class.usable_bytes != usable_bytes) size_class = {.usable_bytes = usable_bytes};
  guesses = {size_class.freed[0], last_alloc_end_, foreign_[0], size_class.last_address + size_class.step,
             size_class.freed[1], size_class.freed[2], size_class.freed[3], foreign_[1]};
}

void AddressModel::allocated(std::uint64_t address, ShapeId shape, std::uint64_t usable_bytes) {
  const std::size_t slot = class_slot(usable_bytes);
  SizeClass& size_class = classes_[slot];
  if (size_class.usable_bytes != usable_bytes) size_class = {.usable_bytes = usable_bytes};
  if (!drop(size_class.freed, address)) drop(foreign_, address);
  size_class.step = address - size_class.last_address;
  size_class.last_address = address;
  last_alloc_ = address;
  last_alloc_end_ = address + usable_bytes + kGlibcHeaderBytes;
  const std::uint32_t block = block_count();
  if (newest_live_ != kNoBlock) blocks_[newest_live_].newer = block;
  blocks_.push_back({address, shape, kNoBlock, newest_live_, static_cast<std::uint8_t>(slot), true});
  newest_live_ = block;
}

void AddressModel::guess_free(std::size_t context, std::array<std::uint32_t, kFreeGuesses>& guesses) const {
  const std::uint32_t count = block_count();
  guesses.fill(kNoBlock);
  const auto usable = [&](std::uint32_t block) { return block < count && blocks_[block].live ? block : kNoBlock; };
  guesses[0] = usable(count - ages_[context]);
  guesses[1] = usable(last_freed_ + freed_step_);
  std::uint32_t block = newest_live_;
  for (int i = 2; i < kFreeGuesses && block != kNoBlock; ++i) {
    guesses[i] = block;
    block = blocks_[block].older;
  }
}

void AddressModel::freed(std::uint32_t block, std::size_t context) {
  Block& dead = blocks_[block];
  dead.live = false;
  (dead.newer != kNoBlock ? blocks_[dead.newer].older : newest_live_) = dead.older;
  if (dead.older != kNoBlock) blocks_[dead.older].newer = dead.newer;
  ages_[context] = block_count() - block;
  freed_step_ = block - last_freed_;
  last_freed_ = block;
  push(classes_[dead.size_class].freed, dead.address);
}

void AddressModel::freed_foreign(std::uint64_t address) {
  push(foreign_, address);
  last_foreign_ = address;
}

}  // namespace tare::trace
