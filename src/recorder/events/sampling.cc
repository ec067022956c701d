// Sampling decisions.
#include "recorder/events/sampling.h"

#include <algorithm>
#include <limits>

#include "recorder/base/numeric.h"
#include "recorder/events/own_cost.h"

namespace tare::recorder {

constinit Sampler sampler;
constinit OwnCost own_cost;
__thread std::uint16_t frees_seen __attribute__((tls_model("initial-exec"))) = 0;

namespace {

std::uint64_t mix(std::uint64_t& state) {  // splitmix64
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

}  // namespace

bool Sampler::prepare(std::uint64_t mean_bytes, std::uint64_t seed, std::uint32_t most_buckets) {
  seed_ = seed;
  double bytes = 1.5;
  for (int size = 0; size < 64; ++size, bytes *= 2) {
    bytes_[size] = bytes;
    const double step = bytes_[size < kLargestStep ? size : kLargestStep];
    steps_[size] = (static_cast<std::int64_t>(step) << 32) + 1;
  }
  // A block of glibc's has at least 32 bytes: see request_octave().
  for (int size = 0; size < trace::kSmallestOctave; ++size) {
    steps_[size] = steps_[trace::kSmallestOctave];
    bytes_[size] = bytes_[trace::kSmallestOctave];
  }
  fill(odds_[0], static_cast<double>(mean_bytes));
  newest_.store(0, std::memory_order_release);
  is_stopped_.store(false, std::memory_order_relaxed);
  for (SamplingState* each = states_.load(std::memory_order_acquire); each != nullptr; each = each->next) {
    __atomic_store_n(&each->countdown, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&each->added, 0, __ATOMIC_RELAXED);
  }
  allocations_.store(0, std::memory_order_relaxed);
  return sampled.prepare(std::min(SampledSet::buckets_for(mean_bytes), most_buckets));
}

void Sampler::fill(Odds& odds, double mean_bytes) const {
  odds.mean_bytes = mean_bytes;
  for (int size = 0; size < 64; ++size) odds.probability[size] = one_minus_exp_minus(bytes_[size] / mean_bytes);
}

bool Sampler::widen() {
  const std::uint32_t now = newest_.load(std::memory_order_relaxed);
  if (now + 1 == kMostOdds || is_stopped()) return false;
  fill(odds_[now + 1], 2 * odds_[now].mean_bytes);
  newest_.store(now + 1, std::memory_order_release);
  return true;
}

void Sampler::stop() {
  if (is_stopped()) return;
  const std::uint32_t now = newest_.load(std::memory_order_relaxed);
  odds_[now + 1] = {std::numeric_limits<double>::infinity(), {}};
  is_stopped_.store(true, std::memory_order_relaxed);
  newest_.store(now + 1, std::memory_order_release);
}

// Where two have the same probability, which is 1 for a large block, both are right.
std::uint32_t Sampler::odds_of(double weight, int size) const {
  std::uint32_t odds = newest_odds();
  while (odds > 0 && 1 / odds_[odds].probability[size] != weight) --odds;
  return odds;
}

void Sampler::seed(SamplingState& state, std::uint64_t thread) const {
  std::uint64_t start = seed_ ^ thread * 0xd1342543de82ef95;
  state.random[0] = mix(start);
  state.random[1] = mix(start) | 1;  // all zero would stay so
  draw_next(state);
}

void Sampler::enlist(SamplingState& state) {
  if (state.enlisted) return;
  state.enlisted = true;
  state.next = states_.load(std::memory_order_relaxed);
  states_.store(&state, std::memory_order_release);
}

std::uint32_t Sampler::count_of(const SamplingState& state) {
  return -static_cast<std::uint32_t>(__atomic_load_n(&state.countdown, __ATOMIC_RELAXED));
}

// Several threads may do so for one state at once: each adds the difference to the one before.
void Sampler::add_count(SamplingState& state) {
  const std::uint32_t count = count_of(state);
  const std::uint32_t added = __atomic_exchange_n(&state.added, count, __ATOMIC_RELAXED);
  if (count != added) allocations_.fetch_add(count - added, std::memory_order_relaxed);
}

trace::SeenCounts Sampler::seen(SamplingState& state) {
  SamplingState* each = next_added_.load(std::memory_order_acquire);
  if (each == nullptr) each = states_.load(std::memory_order_acquire);
  for (int i = 0; i < kMostStates && each != nullptr; ++i, each = each->next) add_count(*each);
  next_added_.store(each, std::memory_order_release);
  add_count(state);
  return {allocations_.load(std::memory_order_relaxed), static_cast<std::uint16_t>(count_of(state)), frees_seen};
}

// The bytes are rounded down: sizes are whole numbers, and a block of s bytes is sampled if fewer than s are left,
// which is the same for both.
void Sampler::set_bytes(SamplingState& state, double bytes) {
  const auto most = static_cast<double>(kMostBytes);
  state.beyond = bytes > most ? bytes - most : 0;
  const std::int64_t upper = bytes > most ? kMostBytes : static_cast<std::int64_t>(bytes);
  const std::int64_t count = __atomic_load_n(&state.countdown, __ATOMIC_RELAXED) & 0xffffffff;
  __atomic_store_n(&state.countdown, upper * (std::int64_t{1} << 32) + count, __ATOMIC_RELAXED);
}

std::int64_t Sampler::stop_all(SamplingState& state) {
  const std::int64_t before = __atomic_load_n(&state.countdown, __ATOMIC_RELAXED);
  __atomic_store_n(&state.countdown, (before & 0xffffffff) - (std::int64_t{1} << 32), __ATOMIC_RELAXED);
  return before;
}

double Sampler::uniform(SamplingState& state) const {  // xoroshiro128+, the upper 53 bits
  const std::uint64_t a = state.random[0];
  std::uint64_t b = state.random[1];
  const std::uint64_t sum = a + b;
  b ^= a;
  state.random[0] = (a << 24 | a >> 40) ^ b ^ b << 16;
  state.random[1] = b << 37 | b >> 27;
  return (static_cast<double>(sum >> 11) + 0.5) * 0x1p-53;
}

// Exponentially distributed.
void Sampler::draw_next(SamplingState& state) const {
  const std::uint32_t now = newest_.load(std::memory_order_acquire);
  state.odds = now;
  set_bytes(state, -odds_[now].mean_bytes * natural_logarithm(uniform(state)));
}

// Of a block with more bytes than the countdown has left. True: it isn't sampled, and is counted.
bool Sampler::passes_beyond(SamplingState& state, double bytes) const {
  if (state.beyond <= 0) return false;
  const std::int64_t upper = __atomic_load_n(&state.countdown, __ATOMIC_RELAXED) >> 32;
  const double left = state.beyond + static_cast<double>(upper) - bytes;
  if (left < 0) return false;
  set_bytes(state, left);
  count_allocation(state);
  return true;
}

double Sampler::take(SamplingState& state, int size) const {
  if (passes_beyond(state, bytes_[size])) return 0;
  const double weight = 1 / odds_[state.odds].probability[size];
  draw_next(state);
  return weight;
}

Sampler::Again Sampler::decide_again(SamplingState& state, std::uint32_t odds, int before, int after) const {
  const Odds& now = newest();
  const double old_p = now.probability[before];
  const double new_p = now.probability[after];
  const double drawn_p = odds_[odds].probability[before];
  const bool continues = drawn_p <= old_p || uniform(state) * drawn_p < old_p;
  bool is_sampled = continues;
  if (after > before && !is_sampled) is_sampled = uniform(state) < chance_of_growth(now, before, after);
  if (after < before && is_sampled) is_sampled = uniform(state) < new_p / old_p;
  return {is_sampled ? 1 / new_p : 0, continues && is_sampled};
}

double Sampler::chance_of_growth(const Odds& odds, int before, int after) {
  const double old_p = odds.probability[before];
  return old_p < 1 ? (odds.probability[after] - old_p) / (1 - old_p) : 0;
}

double Sampler::decide_grown(SamplingState& state, int before, int after) const {
  if (after <= before) {
    count_allocation(state);
    return 0;
  }
  if (after < kLargestStep && realloc_passes_by(state, before, after)) return 0;
  if (passes_beyond(state, bytes_[after] - bytes_[before])) return 0;
  // The bytes may have been drawn with a smaller distance. The block belongs to the present one.
  const double drawn = chance_of_growth(odds_[state.odds], before, after);
  draw_next(state);
  const Odds& now = newest();
  if (uniform(state) * drawn < chance_of_growth(now, before, after)) return 1 / now.probability[after];
  count_allocation(state);
  return 0;
}

}  // namespace tare::recorder
