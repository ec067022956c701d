// Replay's inner loop and its rare events: new shapes, peaks, buckets, chains.
#include "core/analysis/replay_engine.h"

#include <algorithm>
#include <cmath>

namespace tare::core {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};

// Growth by malloc, copy and free is seen where both blocks happen to be sampled, so that a step stands for as many as
// both weights multiplied. That of two blocks of 24 bytes, one in 512 KiB sampled, would stand for 5 * 10^8: right in
// the mean and absurd in every single recording. So it counts only blocks of at least an eighth of the sample distance
// (1 / (1 - exp(-1/8))).
constexpr double kMostLinkedWeight = 8.52;

constexpr double kMostWeighted = 0x1p50;

std::uint64_t weighted_q(std::uint64_t bytes, double weight) {
  if (weight == 1) return std::min(bytes, kMostBytes) << kFractionBits;  // all of them, unless sampled
  const double value = static_cast<double>(std::min(bytes, kMostBytes)) * weight;
  return static_cast<std::uint64_t>(std::llround(std::min(value, kMostWeighted) * kFraction));
}

double sane_weight(double weight) { return weight >= 1.0 && weight <= kMostWeighted ? weight : 1.0; }

}  // namespace

ReplayEngine::ReplayEngine(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                           std::optional<std::uint64_t> at_stamp)
    : dictionary_(dictionary),
      info_(info),
      sampled_(info.sample_bytes != 0),
      has_requested_time_(at_stamp.has_value()),
      at_stamp_(at_stamp),
      reading_stamp_(info.reading ? std::optional(info.reading->stamp) : std::nullopt),
      ledger_(*this, info) {}

void ReplayEngine::consume(std::span<const trace::Event> events) {
  if (events.empty()) return;
  if (!started_) {
    started_ = true;
    origin_ = last_stamp_ = peak_.last_rise_stamp = peak_.stamp = events.front().stamp;
    timeline_ = Timeline(origin_);
    set_next_stop(origin_);
  }
  ledger_.consume(events);
}

inline std::uint64_t ReplayEngine::born(const trace::Event& event) {
  const std::uint32_t shape = trace::index(event.shape);
  save_if_older(recorded_, shape);
  ShapeSums& sums = recorded_.sums[shape];
  ++sums.live;
  sums.age_sum -= (event.stamp - origin_) >> kAgeShift;
  live_.add(sums);
  peak_.last_rise_stamp = event.stamp;
  if (sampled_) [[unlikely]] {
    live_.blocks_q += weights_q_[shape];
    births_ += counted_ ? 1 : static_cast<std::uint32_t>(weights_q_[shape] >> kFractionBits);
  } else {
    live_.blocks_q += 1u << kFractionBits;
    ++births_;
  }
  return word_of(births_, kPlain | shape);
}

inline ReplayEngine::Dead ReplayEngine::died(std::uint64_t word, const trace::Event& event) {
  before_fall();
  if (pools_) [[unlikely]]
    apply(pools_->ended(event.address, pools_now(event.stamp)));
  const auto low = static_cast<std::uint32_t>(word);
  Dead dead;
  if ((low & ~kIndexMask) == kPlain) [[likely]] {
    dead.shape = low & kIndexMask;
    dead.birth = static_cast<std::uint32_t>(word >> 32);
    dead.inherited = false;
    dead.in_chain = false;
  } else {
    dead = died_specially(word);
    if (dead.inherited) return dead;
  }
  save_if_older(recorded_, dead.shape);
  ShapeSums& sums = recorded_.sums[dead.shape];
  dead.stack = sums.stack;
  --sums.live;
  sums.age_sum += (event.stamp - origin_) >> kAgeShift;
  const std::size_t age = age_class(births_ - dead.birth);
  if (++sums.ended[age] == 0) [[unlikely]]
    ++carries_[std::uint64_t{dead.shape} * kAgeClasses + age];
  live_.remove(sums);
  live_.blocks_q -= weight_q(weights_q_, dead.shape);
  return dead;
}

ReplayEngine::Dead ReplayEngine::died_specially(std::uint64_t word) {
  const auto low = static_cast<std::uint32_t>(word);
  Dead dead{};
  dead.birth = static_cast<std::uint32_t>(word >> 32);
  if ((low & ~kIndexMask) == kInherited) {
    dead.shape = low & kIndexMask;
    dead.inherited = true;
    save_if_older(inherited_.group, dead.shape);
    ShapeSums& sums = inherited_.group.sums[dead.shape];
    --sums.live;
    live_.remove(sums);
    live_.blocks_q -= weight_q(inherited_.weights_q, dead.shape);
    return dead;  // its stack is of another dictionary: linked by realloc only
  }
  const std::uint32_t at = low & kIndexMask;
  const ChainBlocks::Block block = chain_blocks_.take(at);
  dead.shape = block.shape;
  dead.in_chain = true;
  dead.chain = block.state;
  chains_.add_live(block.state.row, -block.state.step_weight, peak_.epoch);
  return dead;
}

void ReplayEngine::continued(const Dead& dead, std::uint64_t& word, GrowthKind kind, Move move) {
  const auto low = static_cast<std::uint32_t>(word);
  if ((low & ~kIndexMask) != kPlain) return;  // it grew out of another block already
  const std::uint32_t shape = low & kIndexMask;
  const std::uint64_t from = requested_bytes(dead);
  const std::uint64_t to = dictionary_.shapes[shape].requested_bytes;
  if (to < from || (to == from && !dead.in_chain)) return;  // shrinking ends a chain
  const bool rare = std::max(weight(dead), weight(shape)) > kMostLinkedWeight;
  if (kind == GrowthKind::MallocCopyFree && rare) return;
  const ChainState* before = dead.in_chain ? &dead.chain : nullptr;
  const ChainState state =
      to == from
          ? dead.chain
          : chains_.step({recorded_.sums[shape].stack, kind, move, from, to, weight(dead), weight(shape)}, before);
  const std::uint32_t at = chain_blocks_.add({shape, state});
  chains_.add_live(state.row, state.step_weight, peak_.epoch);
  word = word_of(static_cast<std::uint32_t>(word >> 32), kInChain | at);
}

void ReplayEngine::other(const trace::Event& event) {
  using trace::EventKind;
  switch (event.kind) {
    case EventKind::Map:
    case EventKind::Unmap: {
      if (!admit(event.shape)) return;
      const trace::Shape& shape = dictionary_.shapes[trace::index(event.shape)];
      ++map_events_;
      std::uint64_t length = shape.requested_bytes;
      if (shape.api != static_cast<trace::AllocApi>(trace::MapApi::Brk)) {  // the others work on whole pages
        const std::uint64_t page = std::max<std::uint64_t>(info_.page_bytes, 1);
        length = (std::min(length, kMostBytes) + page - 1) / page * page;
      }
      if (event.kind == EventKind::Map) {
        mappings_.map(event.address, length, shape.stack, event.stamp);
      } else {
        mappings_.unmap(event.address, length, event.stamp);
      }
      break;
    }
    case EventKind::Seen: {
      // Threads report a common counter, each a little late: a smaller value is ignored.
      const std::uint32_t seen = trace::SeenCounts::of(event.address).allocations;
      if (!counted_ || seen - births_ < 1u << 31) births_ = seen;
      counted_ = true;
      break;
    }
    default:
      if (PoolLedger<PoolBooks>::is_pool_event(event.kind)) pass_to_pools(event);
      break;
  }
}

void ReplayEngine::pass_to_pools(const trace::Event& event) {
  if (!pools_) {
    pools_ = std::make_unique<PoolBooks>(dictionary_);
    if (has_earlier_) pools_->adopt_earlier();
  }
  const bool only_adds = event.kind == trace::EventKind::PoolGrow || event.kind == trace::EventKind::PoolAlloc;
  if (!only_adds) before_fall();
  const std::uint64_t gross_before_q = live_.gross_q;
  apply(pools_->consume(event, pools_now(event.stamp),
                        [this](std::uint64_t address) { return heap_block_around(address); }));
  if (live_.gross_q > gross_before_q) peak_.last_rise_stamp = event.stamp;
}

void ReplayEngine::apply(const PoolBooks::Change& change) {
  live_.requested_q += change.requested_q;
  live_.usable_q += change.usable_q;
  live_.gross_q += change.usable_q;
  live_.blocks_q += change.blocks_q;
}

std::optional<HeapBlock> ReplayEngine::heap_block_around(std::uint64_t address) {
  const std::optional<std::uint64_t> start = ledger_.map().last_live_until(address);
  if (!start) return std::nullopt;
  const auto word = static_cast<std::uint32_t>(*ledger_.map().find(*start));
  const std::uint32_t low = word & kIndexMask;
  const std::uint32_t kind = word & ~kIndexMask;
  HeapBlock block{};
  block.address = *start;
  block.inherited = kind == kInherited;
  block.shape = kind == kInChain ? chain_blocks_[low].shape : low;
  const trace::Shape& facts = (block.inherited ? inherited_.dictionary : dictionary_).shapes[block.shape];
  block.requested_bytes = std::min(facts.requested_bytes, kMostBytes);
  block.usable_bytes = std::min(facts.usable_bytes, kMostBytes);
  block.weight_q = weight_q(block.inherited ? inherited_.weights_q : weights_q_, block.shape);
  if (block.usable_bytes <= address - *start) return std::nullopt;
  return block;
}

void ReplayEngine::call_cost(const trace::Event& event, trace::StackId freed) {
  if (event.api != 0) {
    if (freed != trace::kEmptyStack) call_costs_.add_free(freed, event.address);
  } else if (admit(event.shape)) {
    call_costs_.add_allocation(recorded_.sums[trace::index(event.shape)].stack, event.address);
  }
}

void ReplayEngine::end_contents(const Dead& dead, const HeldBytes& held) {
  if (dead.inherited) return;  // its shape is another dictionary's
  const bool lived_at_peak = peak_.births - dead.birth < 1u << 31;
  const std::uint64_t digest = held.new_digest != 0 ? held.new_digest : trace::short_digest(held.digest);
  if (lived_at_peak && digest != 0) peak_contents_.add(peak_.epoch, dead.shape, held.content_class, digest);
  if (held.unwritten_bytes == 0 && held.digest == 0) return;
  // The sums' cache line is there already; the dictionary's would be another miss.
  const ShapeSums& sums = recorded_.sums[dead.shape];
  const std::uint64_t requested =
      sampled_ ? dictionary_.shapes[dead.shape].requested_bytes : sums.requested_q >> kFractionBits;
  contents_.ended({dead.shape, held.unwritten_bytes, sums.stack, held.content_class, lived_at_peak, peak_.epoch,
                   requested, weight(dead.shape), held.digest});
}

void ReplayEngine::add_exit_contents(std::span<const trace::Observation> blocks) {
  before_fall();  // the peak may be now
  has_exit_contents_ = true;
  for (const trace::Observation& block : blocks) {
    const std::uint64_t* const word = ledger_.map().find(block.address);
    if (word == nullptr || !BlockMap::is_live(*word) || block.shape == trace::kNoShape || !block.high_water_bytes)
      continue;
    const auto low = static_cast<std::uint32_t>(*word);
    const std::uint32_t kind = low & ~kIndexMask;
    const std::uint32_t shape = kind == kInChain ? chain_blocks_[low & kIndexMask].shape : low & kIndexMask;
    if (kind == kInherited || shape != trace::index(block.shape)) continue;  // another block by now
    const bool lived_at_peak = peak_.births - static_cast<std::uint32_t>(*word >> 32) < 1u << 31;
    const std::uint64_t requested = dictionary_.shapes[shape].requested_bytes;
    const std::uint64_t written = std::min(*block.high_water_bytes, requested);
    const auto unwritten =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(requested - written, trace::kMostUnwrittenBytes));
    if (lived_at_peak && requested <= trace::kMostDigestedBytes) count_peak_contents(block, shape, written);
    if (unwritten != 0) {
      contents_.ended({shape, unwritten, recorded_.sums[shape].stack, trace::ContentClass::Other, lived_at_peak,
                       peak_.epoch, requested, weight(shape), 0});
    }
  }
}

// Blocks of zeros, of pointers and those without a written byte hold no contents that two could share.
void ReplayEngine::count_peak_contents(const trace::Observation& block, std::uint32_t shape, std::uint64_t written) {
  const bool is_value = (block.content == trace::BlockContent::Text || block.content == trace::BlockContent::Other) &&
                        written != 0 && block.start_pointers == 0 && block.interior_pointers == 0;
  const trace::ContentClass content_class =
      block.content == trace::BlockContent::Text ? trace::ContentClass::Text : trace::ContentClass::Other;
  peak_contents_.add(peak_.epoch, shape, content_class, is_value ? trace::short_digest(block.digest) : 0);
}

ShapeSums ReplayEngine::sums_of(const trace::Shape& shape) const {
  const double weight = sampled_ ? sane_weight(shape.weight) : 1.0;
  const std::uint64_t usable = std::min(shape.usable_bytes, kMostBytes);
  ShapeSums sums;
  sums.requested_q = weighted_q(shape.requested_bytes, weight);
  sums.usable_q = weighted_q(usable, weight);
  sums.gross_q = weighted_q(usable + header_bytes(info_.allocator, shape.api, usable), weight);
  sums.stack = shape.stack;
  return sums;
}

bool ReplayEngine::prepare_shapes(trace::ShapeId wanted) {
  const std::size_t have = recorded_.sums.size();
  const std::size_t now = std::min<std::size_t>(dictionary_.shapes.size(), kIndexMask);
  if (trace::index(wanted) >= now) return false;
  make_room(recorded_.sums, now);
  for (std::size_t shape = have; shape < now; ++shape) {
    recorded_.sums.push_back(sums_of(dictionary_.shapes[shape]));
    if (sampled_) weights_q_.push_back(weighted_q(1, sane_weight(dictionary_.shapes[shape].weight)));
  }
  make_room(recorded_.live_at_peak, now);
  recorded_.live_at_peak.resize(now);
  return true;
}

void ReplayEngine::inherit(const LiveSet& live) {
  has_earlier_ = true;
  inherited_.dictionary = live.dictionary;
  for (const trace::Shape& shape : inherited_.dictionary.shapes) {
    inherited_.group.sums.push_back(sums_of(shape));
    inherited_.weights_q.push_back(weighted_q(1, sampled_ ? sane_weight(shape.weight) : 1.0));
  }
  inherited_.group.live_at_peak.resize(inherited_.group.sums.size());
  inherited_.blocks.resize(inherited_.group.sums.size());
  for (const LiveSet::Block& block : live.blocks) {
    const std::uint32_t shape = trace::index(block.shape);
    if (shape >= inherited_.group.sums.size()) continue;
    ShapeSums& sums = inherited_.group.sums[shape];
    ++sums.live;
    ++inherited_.blocks[shape];
    live_.add(sums);
    live_.blocks_q += inherited_.weights_q[shape];
    ledger_.place(block.address, word_of(0, kInherited | shape));
  }
  for (const LiveSet::Range& range : live.mappings) mappings_.map(range.start, range.end - range.start);
}

void ReplayEngine::stop(std::uint64_t stamp) {
  if (at_stamp_ && stamp > *at_stamp_) {
    for (Group* group : {&recorded_, &inherited_.group}) {
      group->live_at.clear();
      for (const ShapeSums& sums : group->sums) group->live_at.push_back(sums.live);
    }
    if (pools_) pools_->mark_at();
    at_stamp_.reset();
  }
  if (reading_stamp_ && stamp > *reading_stamp_) {
    take_reading();
    reading_stamp_.reset();
  }
  if (timeline_.bucket_of(stamp) != timeline_.bucket_of(last_stamp_) || stamp == kNever) close_bucket();
  set_next_stop(stamp);
}

void ReplayEngine::set_next_stop(std::uint64_t stamp) {
  next_stop_ = timeline_.end_of_bucket(stamp);
  if (at_stamp_) next_stop_ = std::min(next_stop_, *at_stamp_ + 1);
  if (reading_stamp_) next_stop_ = std::min(next_stop_, *reading_stamp_ + 1);
}

void ReplayEngine::expect_reading() {
  reading_stamp_ = info_.reading->stamp;
  if (started_) next_stop_ = std::min(next_stop_, *reading_stamp_ + 1);
}

void ReplayEngine::take_reading() {
  const HeapFacts facts{[this](std::uint64_t start, std::uint64_t end) {
                          return ledger_.map().has_live_in(start, end) || heap_block_around(start).has_value();
                        },
                        [this](trace::StackId stack) { return dictionary_.stacks[trace::index(stack)].row; }};
  const HeapMapping heap = info_.allocator == trace::AllocatorKind::Glibc ? HeapMapping::Unseen : HeapMapping::Seen;
  at_reading_ = {resident_use(*info_.reading, mappings_, heap, facts), live_.gross_q >> kFractionBits};
}

void ReplayEngine::close_bucket() {
  before_fall();
  TimelineRow row;
  const auto& rows = timeline_.rows();
  row.last_stamp = std::max(last_stamp_, rows.empty() ? origin_ : rows.back().last_stamp);
  row.requested_q = live_.requested_q;
  row.usable_q = live_.usable_q;
  row.gross_q = live_.gross_q;
  row.max_gross_q = peak_.bucket_max_q;
  row.blocks_q = live_.blocks_q;
  row.mapped_bytes = mappings_.bytes();
  row.alloc_events = counts().alloc_events + counts().realloc_events;
  row.free_events = counts().free_events + counts().realloc_events;
  timeline_.add(row);
  peak_.bucket_max_q = live_.gross_q;
}

void ReplayEngine::finish() {
  if (at_stamp_) stop(kNever);
  if (reading_stamp_) take_reading();
  before_fall();
  if (started_) close_bucket();
  for (Group* group : {&recorded_, &inherited_.group}) {
    for (std::uint32_t shape = 0; shape < group->sums.size(); ++shape) save_if_older(*group, shape);
  }
  if (pools_) pools_->finish(pools_now(last_stamp_));
  chains_.finish(peak_.epoch);
  contents_.settle();
}

std::uint64_t ReplayEngine::ended(std::uint32_t shape, std::size_t age) const {
  const auto carries = carries_.find(std::uint64_t{shape} * kAgeClasses + age);
  return recorded_.sums[shape].ended[age] + (carries == carries_.end() ? 0 : carries->second << 32);
}

std::vector<LiveBlock> ReplayEngine::live_blocks() const {
  std::vector<LiveBlock> blocks;
  blocks.reserve(live_.blocks_q >> kFractionBits);
  ledger_.map().for_each_live([&](std::uint64_t address, std::uint64_t word) {
    const auto low = static_cast<std::uint32_t>(word);
    const std::uint32_t kind = low & ~kIndexMask;
    const std::uint32_t shape = kind == kInChain ? chain_blocks_[low & kIndexMask].shape : low & kIndexMask;
    const trace::Shape& facts = (kind == kInherited ? inherited_.dictionary : dictionary_).shapes[shape];
    LiveBlock& block = blocks.emplace_back();
    block.address = address;
    block.requested_bytes = std::min(facts.requested_bytes, kMostBytes);
    block.usable_bytes = std::min(facts.usable_bytes, kMostBytes);
    block.shape = kind == kInherited ? trace::kNoShape : static_cast<trace::ShapeId>(shape);
    block.birth = static_cast<std::uint32_t>(word >> 32);
  });
  return blocks;
}

LiveSet ReplayEngine::live_set() const {
  using From = LiveSetBuilder::From;
  LiveSetBuilder builder(dictionary_, inherited_.dictionary);
  ledger_.map().for_each_live([&](std::uint64_t address, std::uint64_t word) {
    const auto low = static_cast<std::uint32_t>(word);
    const std::uint32_t kind = low & ~kIndexMask;
    const std::uint32_t shape = kind == kInChain ? chain_blocks_[low & kIndexMask].shape : low & kIndexMask;
    builder.add(address, shape, kind == kInherited ? From::Earlier : From::Own);
  });
  ledger_.for_each_reallocating([&](std::uint64_t address, const Dead& dead) {
    builder.add(address, dead.shape, dead.inherited ? From::Earlier : From::Own);
  });
  LiveSet set = builder.take();
  for (const auto& [start, range] : mappings_.ranges()) set.mappings.push_back({start, range.end});
  return set;
}

std::uint64_t ReplayEngine::memory_bytes() const {
  return ledger_.map().memory_bytes() + recorded_.sums.size() * sizeof(ShapeSums) + recorded_.live_at_peak.size() * 4 +
         weights_q_.capacity() * 8 + chain_blocks_.memory_bytes() + chains_.memory_bytes();
}

}  // namespace tare::core
