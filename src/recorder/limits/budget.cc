// Reading a budget, and keeping it: see budget.h.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/limits/budget.h"

#include <cstring>

namespace tare::recorder {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;

// Decimal, with at most six places. Negative: no such number.
double decimal_of(const char* text, const char* end) {
  double value = 0;
  double place = 0;
  int places = 0;
  bool any = false;
  for (; text < end; ++text) {
    if (*text == '.' && place == 0) {
      place = 1;
    } else if (*text >= '0' && *text <= '9' && places < 6) {
      value = value * 10 + (*text - '0');
      any = true;
      if (place != 0) {
        place *= 10;
        ++places;
      }
    } else {
      return -1;
    }
  }
  return any ? value / (place == 0 ? 1 : place) : -1;
}

// "512K" up to `end`.
std::uint64_t bytes_up_to(const char* text, const char* end) {
  std::uint64_t value = 0;
  for (; text < end && *text >= '0' && *text <= '9' && value < kMostBytes; ++text)
    value = value * 10 + static_cast<std::uint64_t>(*text - '0');
  int shift = 0;
  if (text < end) {
    switch (*text) {
      case 'k':
      case 'K':
        shift = 10;
        break;
      case 'M':
        shift = 20;
        break;
      case 'G':
        shift = 30;
        break;
      default:
        return 0;
    }
    ++text;
  }
  return text == end && value < kMostBytes >> shift ? value << shift : 0;
}

const char* end_of_part(const char* text) {
  while (*text != ',' && *text != '\0') ++text;
  return text;
}

bool parse_part(const char* text, const char* end, Budget& budget) {
  const auto is_named = [&](const char* name) {
    const std::size_t length = std::strlen(name);
    if (static_cast<std::size_t>(end - text) <= length || std::strncmp(text, name, length) != 0) return false;
    text += length;
    return true;
  };
  if (is_named("cpu=")) {
    const double percent = end[-1] == '%' ? decimal_of(text, end - 1) : -1;
    if (budget.cpu_share != 0 || percent <= 0 || percent > 100) return false;
    budget.cpu_share = percent / 100;
    return true;
  }
  std::uint64_t* const place = is_named("memory=") ? &budget.memory_bytes
                               : is_named("disk=") ? &budget.disk_bytes
                                                   : nullptr;
  if (place == nullptr || *place != 0) return false;
  *place = bytes_up_to(text, end);
  return *place != 0;
}

}  // namespace

std::uint64_t bytes_of(const char* text) { return bytes_up_to(text, text + std::strlen(text)); }

bool parse_budget(const char* text, Budget& budget) {
  budget = {};
  while (true) {
    const char* const end = end_of_part(text);
    if (!parse_part(text, end, budget)) {
      budget = {};
      return false;
    }
    if (*end == '\0') return true;
    text = end + 1;
  }
}

int CpuLimit::doublings(const CpuUse& now) {
  if (share_ == 0) return 0;
  const double own = now.own - now.unusual - (before_.own - before_.unusual);
  const double process = now.process - before_.process;
  before_ = now;
  usual_ns_ += usual_ns_ == 0 ? own : (own - usual_ns_) / kLooksOfMean;
  const bool is_kept = now.own <= share_ * (now.process + kGraceNs);
  const double share = is_kept ? share_ : share_ * (1 - kPaidBack);
  own_ += own;
  process_ += process;
  excess_ += own - share * process;
  if (excess_ <= 0) excess_ = own_ = process_ = 0;
  if (is_kept || excess_ <= kLooksOfExcess * usual_ns_) return 0;
  const int times = own_ > kExtreme * share * process_ ? 2 : 1;
  excess_ = own_ = process_ = 0;
  return times;
}

void RoomLimit::begin(std::uint64_t most_bytes, std::uint64_t used_bytes) {
  most_ = most_bytes;
  next_ = used_bytes < most_bytes ? used_bytes + (most_bytes - used_bytes) / 2 : most_bytes;
}

RoomLimit::Verdict RoomLimit::look(std::uint64_t used_bytes) {
  if (most_ == 0) return Verdict::Kept;
  if (used_bytes > most_) return Verdict::Exceeded;
  if (used_bytes < next_ || next_ + kPage > most_) return Verdict::Kept;
  next_ = used_bytes + (most_ - used_bytes) / 2;
  return Verdict::Widen;
}

}  // namespace tare::recorder
