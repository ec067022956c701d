// Replay's inner loop and its rare events: new shapes, peaks, buckets, chains.
#include "core/analysis/replay_engine.h"

#include <algorithm>

#include "core/analysis/thinned_weight.h"

namespace tare::core {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};

// Growth by malloc, copy and free is seen where both blocks happen to be sampled, so that a step stands for as many as
// both weights multiplied. A step between two blocks of 24 bytes, with one in 512 KiB sampled, would stand for 5 * 10^8
// steps: correct on average, and absurd in each single recording. So only blocks of at least an eighth of the sample
// distance count (1 / (1 - exp(-1/8))).
constexpr double kMostLinkedWeight = 8.52;

}  // namespace

ReplayEngine::ReplayEngine(const trace::Dictionary& dictionary, const trace::ProcessInfo& info,
                           std::optional<std::uint64_t> at_stamp)
    : dictionary_(dictionary), info_(info), recorded_(info), inherited_(info), ledger_(*this, info) {
  stops_.at = at_stamp;
  stops_.has_requested_time = at_stamp.has_value();
  if (info.reading) stops_.reading = info.reading->stamp;
}

void ReplayEngine::consume(std::span<const trace::Event> events) {
  if (events.empty()) return;
  if (!extent_.started) {
    const std::uint64_t origin = events.front().stamp;
    extent_ = {origin, origin, true};
    peak_.last_rise_stamp = peak_.stamp = origin;
    timeline_ = Timeline(origin);
    set_next_stop(origin);
  }
  // The ledger keeps a block that ends within a run of events out of its map. At the reading the map must have all.
  if (stops_.reading && events.back().stamp > *stops_.reading) {
    const auto is_later = [&](const trace::Event& event) { return event.stamp > *stops_.reading; };
    const auto later = std::find_if(events.begin(), events.end(), is_later);
    const auto before = static_cast<std::size_t>(later - events.begin());
    ledger_.consume(events.first(before));
    events = events.subspan(before);
  }
  ledger_.consume(events);
}

inline std::uint64_t ReplayEngine::born(const trace::Event& event) {
  const std::uint32_t shape = trace::index(event.shape);
  recorded_.save_if_older(shape, peak_.epoch);
  ShapeSums& sums = recorded_.sums[shape];
  ++sums.live;
  sums.age_sum -= (event.stamp - extent_.origin) >> kAgeShift;
  live_.add(sums);
  peak_.last_rise_stamp = event.stamp;
  if (recorded_.sampled()) [[unlikely]] {
    const std::uint64_t weight_q = recorded_.weight_q(shape);
    live_.blocks_q += weight_q;
    births_.last += births_.counted ? 1 : static_cast<std::uint32_t>(weight_q >> kFractionBits);
  } else {
    live_.blocks_q += 1u << kFractionBits;
    ++births_.last;
  }
  std::uint32_t number = shape;
  if (threads_of_shapes_) number = threads_of_shapes_->born(shape, event.thread, peak_.epoch);
  return BlockWord::of(births_.last, BlockWord::kPlain, number);
}

inline ReplayEngine::Dead ReplayEngine::died(std::uint64_t word, const trace::Event& event) {
  const BlockWord block(word);
  before_fall();
  if (pools_) [[unlikely]]
    apply(pools_->ended(event.address, pools_now(event.stamp)));
  Dead dead;
  if (block.is_plain()) [[likely]] {
    dead.shape = block.index();
    dead.birth = block.birth();
    dead.inherited = false;
    dead.in_chain = false;
  } else {
    dead = died_specially(block);
    if (dead.inherited) return dead;
  }
  if (threads_of_shapes_) dead.shape = threads_of_shapes_->died(dead.shape, peak_.epoch);
  recorded_.save_if_older(dead.shape, peak_.epoch);
  ShapeSums& sums = recorded_.sums[dead.shape];
  dead.stack = sums.stack;
  --sums.live;
  sums.age_sum += (event.stamp - extent_.origin) >> kAgeShift;
  recorded_.count_ended(dead.shape, age_class(births_.last - dead.birth));
  live_.remove(sums);
  live_.blocks_q -= recorded_.weight_q(dead.shape);
  return dead;
}

ReplayEngine::Dead ReplayEngine::died_specially(BlockWord block) {
  Dead dead{};
  dead.birth = block.birth();
  if (block.is_inherited()) {
    ShapeBook& book = inherited_.book;
    dead.shape = block.index();
    dead.inherited = true;
    book.save_if_older(dead.shape, peak_.epoch);
    ShapeSums& sums = book.sums[dead.shape];
    --sums.live;
    live_.remove(sums);
    live_.blocks_q -= book.weight_q(dead.shape);
    return dead;  // its stack is of another dictionary: linked by realloc only
  }
  const GrowthChains::Block in_chain = chains_.take(block.index(), peak_.epoch);
  dead.shape = in_chain.number;
  dead.in_chain = true;
  dead.chain = in_chain.state;
  return dead;
}

void ReplayEngine::continued(const Dead& dead, std::uint64_t& word, GrowthKind kind, Move move) {
  const BlockWord block(word);
  if (!block.is_plain()) return;  // it grew out of another block already
  const std::uint32_t shape = shape_of(block);
  const std::uint64_t from = requested_bytes(dead);
  const std::uint64_t to = dictionary_.shapes[shape].requested_bytes;
  if (to < from || (to == from && !dead.in_chain)) return;  // shrinking ends a chain
  double old_weight = book(dead.inherited).weight(dead.shape);
  const double weight = recorded_.weight(shape);
  if (info_.sampling && kind == GrowthKind::Realloc) {
    const trace::Shape& grown = dictionary_.shapes[shape];
    old_weight = thinned_weight(old_weight, dictionary(dead.inherited).shapes[dead.shape].usable_bytes, grown.weight,
                                grown.usable_bytes);
  }
  const bool rare = std::max(old_weight, weight) > kMostLinkedWeight;
  if (kind == GrowthKind::MallocCopyFree && rare) return;
  const ChainState* before = dead.in_chain ? &dead.chain : nullptr;
  const ChainState state =
      to == from ? dead.chain
                 : chains_.rows().step({recorded_.sums[shape].stack, kind, move, from, to, old_weight, weight}, before);
  word = BlockWord::of(block.birth(), BlockWord::kInChain, chains_.add({block.index(), state}, peak_.epoch));
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
      if (!births_.counted || seen - births_.last < 1u << 31) births_.last = seen;
      births_.counted = true;
      break;
    }
    case EventKind::FailedRequest: {
      const std::size_t shape = trace::index(event.shape);
      if (shape < dictionary_.shapes.size()) failed_requests_.add(event, dictionary_.shapes[shape]);
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
    if (inherited_.known || info_.fork || info_.asleep_ns) pools_->adopt_earlier();
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
  const BlockWord word(*ledger_.map().find(*start));
  HeapBlock block{};
  block.address = *start;
  block.inherited = word.is_inherited();
  block.shape = shape_of(word);
  const trace::Shape& facts = dictionary(block.inherited).shapes[block.shape];
  block.requested_bytes = std::min(facts.requested_bytes, kMostBytes);
  block.usable_bytes = std::min(facts.usable_bytes, kMostBytes);
  block.weight_q = book(block.inherited).weight_q(block.shape);
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
  const bool at_peak = lived_at_peak(dead.birth);
  const std::uint64_t digest = held.new_digest != 0 ? held.new_digest : trace::short_digest(held.digest);
  if (at_peak && digest != 0) contents_.at_peak.add(peak_.epoch, dead.shape, held.content_class, digest);
  if (held.unwritten_bytes == 0 && held.digest == 0) return;
  // The sums' cache line is there already; the dictionary's would be another miss.
  const ShapeSums& sums = recorded_.sums[dead.shape];
  const std::uint64_t requested =
      recorded_.sampled() ? dictionary_.shapes[dead.shape].requested_bytes : sums.requested_q >> kFractionBits;
  contents_.sums.ended({dead.shape, held.unwritten_bytes, sums.stack, held.content_class, at_peak, peak_.epoch,
                        requested, recorded_.weight(dead.shape), held.digest});
}

void ReplayEngine::add_exit_contents(std::span<const trace::Observation> blocks) {
  before_fall();  // the peak may be now
  contents_.has_exit = true;
  for (const trace::Observation& block : blocks) {
    const std::uint64_t* const word = ledger_.map().find(block.address);
    if (word == nullptr || !BlockMap::is_live(*word) || block.shape == trace::kNoShape || !block.high_water_bytes)
      continue;
    const BlockWord live(*word);
    const std::uint32_t shape = shape_of(live);
    if (live.is_inherited() || shape != trace::index(block.shape)) continue;  // another block by now
    const bool at_peak = lived_at_peak(live.birth());
    const std::uint64_t requested = dictionary_.shapes[shape].requested_bytes;
    const std::uint64_t written = std::min(*block.high_water_bytes, requested);
    const auto unwritten =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(requested - written, trace::kMostUnwrittenBytes));
    if (at_peak && requested <= trace::kMostDigestedBytes) count_peak_contents(block, shape, written);
    if (unwritten != 0) {
      contents_.sums.ended({shape, unwritten, recorded_.sums[shape].stack, trace::ContentClass::Other, at_peak,
                            peak_.epoch, requested, recorded_.weight(shape), 0});
    }
  }
}

// Blocks of zeros, of pointers and those without a written byte hold no contents that two could share.
void ReplayEngine::count_peak_contents(const trace::Observation& block, std::uint32_t shape, std::uint64_t written) {
  const bool is_value = (block.content == trace::BlockContent::Text || block.content == trace::BlockContent::Other) &&
                        written != 0 && block.start_pointers == 0 && block.interior_pointers == 0;
  const trace::ContentClass content_class =
      block.content == trace::BlockContent::Text ? trace::ContentClass::Text : trace::ContentClass::Other;
  contents_.at_peak.add(peak_.epoch, shape, content_class, is_value ? trace::short_digest(block.digest) : 0);
}

bool ReplayEngine::prepare_shapes(trace::ShapeId wanted) {
  const std::size_t count = std::min<std::size_t>(dictionary_.shapes.size(), BlockWord::kIndexMask);
  if (trace::index(wanted) >= count) return false;
  recorded_.extend(dictionary_, count);
  return true;
}

void ReplayEngine::inherit(const LiveSet& live) {
  inherited_.known = true;
  inherited_.dictionary = live.dictionary;
  ShapeBook& book = inherited_.book;
  book.extend(inherited_.dictionary, inherited_.dictionary.shapes.size());
  inherited_.blocks.resize(book.sums.size());
  for (const LiveSet::Block& block : live.blocks) {
    const std::uint32_t shape = trace::index(block.shape);
    if (!book.contains(shape)) continue;
    ShapeSums& sums = book.sums[shape];
    ++sums.live;
    ++inherited_.blocks[shape];
    live_.add(sums);
    live_.blocks_q += book.weight_q(shape);
    ledger_.place(block.address, BlockWord::of(0, BlockWord::kInherited, shape));
  }
  for (const LiveSet::Range& range : live.mappings) mappings_.map(range.start, range.end - range.start);
}

void ReplayEngine::stop(std::uint64_t stamp) {
  if (stops_.at && stamp > *stops_.at) {
    recorded_.save_requested_time();
    inherited_.book.save_requested_time();
    if (threads_of_shapes_) threads_of_shapes_->save_requested_time();
    if (pools_) pools_->mark_at();
    stops_.at.reset();
  }
  if (stops_.reading && stamp > *stops_.reading) {
    take_reading();
    stops_.reading.reset();
  }
  if (timeline_.bucket_of(stamp) != timeline_.bucket_of(extent_.last_stamp) || stamp == kNever) close_bucket();
  set_next_stop(stamp);
}

void ReplayEngine::set_next_stop(std::uint64_t stamp) {
  stops_.next = timeline_.end_of_bucket(stamp);
  if (stops_.at) stops_.next = std::min(stops_.next, *stops_.at + 1);
  if (stops_.reading) stops_.next = std::min(stops_.next, *stops_.reading + 1);
}

void ReplayEngine::expect_reading() {
  stops_.reading = info_.reading->stamp;
  if (extent_.started) stops_.next = std::min(stops_.next, *stops_.reading + 1);
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
  row.last_stamp = std::max(extent_.last_stamp, rows.empty() ? extent_.origin : rows.back().last_stamp);
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
  if (stops_.at) stop(kNever);
  if (stops_.reading) take_reading();
  before_fall();
  if (extent_.started) close_bucket();
  recorded_.save_all(peak_.epoch);
  inherited_.book.save_all(peak_.epoch);
  if (threads_of_shapes_) threads_of_shapes_->save_all(peak_.epoch);
  if (pools_) pools_->finish(pools_now(extent_.last_stamp));
  chains_.rows().finish(peak_.epoch);
  contents_.sums.settle();
}

std::vector<LiveBlock> ReplayEngine::live_blocks() const {
  std::vector<LiveBlock> blocks;
  blocks.reserve(live_.blocks_q >> kFractionBits);
  ledger_.map().for_each_live([&](std::uint64_t address, std::uint64_t word) {
    const BlockWord live(word);
    const std::uint32_t shape = shape_of(live);
    const trace::Shape& facts = dictionary(live.is_inherited()).shapes[shape];
    LiveBlock& block = blocks.emplace_back();
    block.address = address;
    block.requested_bytes = std::min(facts.requested_bytes, kMostBytes);
    block.usable_bytes = own_bytes(info_.allocator, facts);
    block.shape = live.is_inherited() ? trace::kNoShape : static_cast<trace::ShapeId>(shape);
    block.birth = live.birth();
  });
  return blocks;
}

LiveSet ReplayEngine::live_set() const {
  using From = LiveSetBuilder::From;
  LiveSetBuilder builder(dictionary_, inherited_.dictionary);
  ledger_.map().for_each_live([&](std::uint64_t address, std::uint64_t word) {
    const BlockWord live(word);
    builder.add(address, shape_of(live), live.is_inherited() ? From::Earlier : From::Own);
  });
  ledger_.for_each_reallocating([&](std::uint64_t address, const Dead& dead) {
    builder.add(address, dead.shape, dead.inherited ? From::Earlier : From::Own);
  });
  LiveSet set = builder.take();
  for (const auto& [start, range] : mappings_.ranges()) set.mappings.push_back({start, range.end});
  return set;
}

std::uint64_t ReplayEngine::memory_bytes() const {
  return ledger_.map().memory_bytes() + recorded_.memory_bytes() + chains_.memory_bytes() +
         (threads_of_shapes_ ? threads_of_shapes_->memory_bytes() : 0);
}

}  // namespace tare::core
