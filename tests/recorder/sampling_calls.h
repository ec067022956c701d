// Calls of the sampler as the hooks make them, and sums of what they sample.
#pragma once

#include <cstdint>

#include "recorder/events/sampling.h"

namespace tare::recorder {

inline double decided(const Sampler& decider, SamplingState& state, std::uint64_t bytes) {
  const double weight = decider.decide(state, Sampler::octave(bytes));
  if (weight != 0) Sampler::count_allocation(state);
  return weight;
}

// Of a block that isn't sampled, as the hooks do it.
inline double grown(const Sampler& decider, SamplingState& state, int before, int after) {
  if (after < 30 && decider.realloc_passes_by(state, before, after)) return 0;
  const double weight = decider.decide_grown(state, before, after);
  if (weight != 0) Sampler::count_allocation(state);
  return weight;
}

// Which odds a block of that weight was sampled with: as a set of sampled blocks has it.
inline std::uint32_t odds_of(const Sampler& decider, double weight, std::uint64_t bytes) {
  return decider.odds_of(weight, Sampler::octave(bytes));
}

struct Sums {
  double blocks = 0;
  double bytes = 0;
  double steps = 0;       // of growth
  double step_bytes = 0;  // copied by them
  double live_bytes = 0;  // at the end
};

}  // namespace tare::recorder
