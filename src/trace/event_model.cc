// The guesses of event blocks: see event_model.h.
#include "trace/event_model.h"

#include <algorithm>

namespace tare::trace {

namespace {

constexpr std::uint64_t kGlibcHeaderBytes = 8;  // between neighbours cut off the top of a glibc heap

}  // namespace

void SymbolModel::reset() {
  by_three_.assign(kByThree, 0);
  by_one_.assign(kByOne * kWays, 0);
  history_ = 0;
  context_ = 0;
  slow_ = by_three_.data();
  fast_ = by_one_.data();
}

AddressModel::AddressModel() : blocks_(std::make_unique_for_overwrite<Block[]>(kMaxBlockEvents)) {}

void AddressModel::reset() {
  block_count_ = 0;
  classes_.assign(kClasses, {});
  ages_.assign(SymbolModel::kByThree, 0);
  any_ = {};
  newest_live_ = kNoBlock;
  last_freed_ = freed_step_ = 0;
  last_alloc_ = last_alloc_end_ = last_foreign_ = 0;
}

AddressModel::SizeClass& AddressModel::class_of(std::uint64_t usable_bytes, std::size_t& slot) {
  slot = mix_hash(usable_bytes, 2) >> 33 & (kClasses - 1);
  SizeClass& size_class = classes_[slot];
  if (size_class.usable_bytes != usable_bytes) size_class = {.usable_bytes = usable_bytes, .freed = {}};
  return size_class;
}

std::uint8_t AddressModel::find_alloc(std::uint64_t usable_bytes, std::uint64_t address) {
  std::size_t slot;
  const SizeClass& size_class = class_of(usable_bytes, slot);
  if (size_class.freed.at(0) == address) return 0;
  if (last_alloc_end_ == address) return 1;
  const std::uint32_t depth = size_class.freed.find(address);
  const std::uint32_t any = any_.find(address);
  if (any < kAnyDepth) return static_cast<std::uint8_t>(kFirstAnyCode + any);
  if (depth < kClassDepth) return static_cast<std::uint8_t>(kFirstClassCode + depth - 1);
  return size_class.last_address + size_class.step == address ? kStepCode : kAllocOther;
}

std::uint64_t AddressModel::guess_alloc(std::uint64_t usable_bytes, std::uint8_t code) {
  std::size_t slot;
  const SizeClass& size_class = class_of(usable_bytes, slot);
  if (code == 0) return size_class.freed.at(0);
  if (code == 1) return last_alloc_end_;
  if (code < kFirstClassCode) return any_.at(code - kFirstAnyCode);
  if (code < kStepCode) return size_class.freed.at(code - kFirstClassCode + 1u);
  return size_class.last_address + size_class.step;
}

void AddressModel::allocated(std::uint64_t address, ShapeId shape, std::uint64_t usable_bytes, std::uint8_t code) {
  std::size_t slot;
  SizeClass& size_class = class_of(usable_bytes, slot);
  if (code == 0) {
    size_class.freed.drop(0);
  } else if (code >= kFirstAnyCode && code < kFirstClassCode) {
    any_.drop(code - kFirstAnyCode);
  } else if (code >= kFirstClassCode && code < kStepCode) {
    size_class.freed.drop(code - kFirstClassCode + 1u);
  }
  size_class.step = address - size_class.last_address;
  size_class.last_address = address;
  last_alloc_ = address;
  last_alloc_end_ = address + usable_bytes + kGlibcHeaderBytes;
  const std::uint32_t block = block_count_++;
  if (newest_live_ != kNoBlock) blocks_[newest_live_].newer = block;
  blocks_[block] = {address, shape, kNoBlock, newest_live_, static_cast<std::uint8_t>(slot), true};
  newest_live_ = block;
}

std::uint8_t AddressModel::find_free(std::uint32_t block, std::size_t context) const {
  if (block_count_ - ages_[context] == block) return 0;
  if (last_freed_ + freed_step_ == block) return 1;
  std::uint32_t candidate = newest_live_;
  for (std::uint8_t code = 2; code < kFreeOther && candidate != kNoBlock; ++code) {
    if (candidate == block) return code;
    candidate = blocks_[candidate].older;
  }
  return kFreeOther;
}

std::uint32_t AddressModel::guess_free(std::uint8_t code, std::size_t context) const {
  if (code == 0) return live_or_none(block_count_ - ages_[context]);
  if (code == 1) return live_or_none(last_freed_ + freed_step_);
  std::uint32_t candidate = newest_live_;
  for (; code > 2 && candidate != kNoBlock; --code) candidate = blocks_[candidate].older;
  return candidate;
}

void AddressModel::freed(std::uint32_t block, std::size_t context) {
  Block& dead = blocks_[block];
  dead.live = false;
  (dead.newer != kNoBlock ? blocks_[dead.newer].older : newest_live_) = dead.older;
  if (dead.older != kNoBlock) blocks_[dead.older].newer = dead.newer;
  ages_[context] = block_count_ - block;
  freed_step_ = block - last_freed_;
  last_freed_ = block;
  classes_[dead.size_class].freed.push(dead.address);
  any_.push(dead.address);
}

void AddressModel::freed_foreign(std::uint64_t address) {
  any_.push(address);
  last_foreign_ = address;
}

}  // namespace tare::trace
