// The rarer guesses of event blocks: see event_model.h.
#include "trace/file/event_model.h"

namespace tare::trace {

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
  living_.clear();
  block_count_ = 0;
  classes_.assign(kClasses, {});
  ages_.assign(SymbolModel::kByThree, 0);
  last_freed_ = freed_step_ = 0;
  last_alloc_ = last_cut_end_ = last_foreign_ = 0;
}

std::uint64_t AddressModel::guess_alloc(const SizeClass& size_class, std::uint8_t code, std::uint32_t before,
                                        std::uint64_t other) const {
  switch (code) {
    case kAllocNewest: {
      const std::uint32_t newest = size_class.freed.newest();
      return newest == kNoBlock ? 0 : blocks_[newest].address;
    }
    case kAllocCut:
      return last_cut_end_;
    case kAllocStep:
      return size_class.last_address + size_class.step;
    case kAllocAgain:
      return blocks_[before].address;
    default:
      return other;
  }
}

std::uint32_t AddressModel::guess_free(std::uint8_t code, std::size_t context) const {
  if (code == 0) return live_or_none(block_count_ - ages_[context]);
  if (code == 1) return live_or_none(last_freed_ + freed_step_);
  std::uint32_t candidate = living_.older(block_count_);
  for (; code > 2 && candidate != kNoBlock; --code) candidate = living_.older(candidate);
  return candidate;
}

}  // namespace tare::trace
