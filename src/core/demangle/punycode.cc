// RFC 3492, section 6.2, with its parameters for the Unicode range.
#include "core/demangle/punycode.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "core/demangle/utf8.h"

namespace tare::core {
namespace {

constexpr std::uint32_t kBase = 36;
constexpr std::uint32_t kLowThreshold = 1;
constexpr std::uint32_t kHighThreshold = 26;
constexpr std::uint32_t kSkew = 38;
constexpr std::uint32_t kDamp = 700;
constexpr std::size_t kMaxPoints = 4096;  // inserting is quadratic; identifiers are short

std::uint32_t adapt(std::uint32_t delta, std::uint32_t points, std::uint32_t damp) {
  delta /= damp;
  delta += delta / points;
  std::uint32_t k = 0;
  while (delta > (kBase - kLowThreshold) * kHighThreshold / 2) {
    delta /= kBase - kLowThreshold;
    k += kBase;
  }
  return k + (kBase - kLowThreshold + 1) * delta / (delta + kSkew);
}

std::optional<std::uint32_t> digit_of(char c) {
  if (c >= 'a' && c <= 'z') return static_cast<std::uint32_t>(c - 'a');
  if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0' + 26);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> decode_punycode(std::string_view encoded) {
  std::vector<std::uint32_t> points;
  if (const std::size_t delimiter = encoded.rfind('_'); delimiter != std::string_view::npos) {
    for (const char c : encoded.substr(0, delimiter)) points.push_back(static_cast<std::uint8_t>(c));
    encoded.remove_prefix(delimiter + 1);
  }
  if (encoded.empty()) return std::nullopt;
  std::uint64_t point = 0x80;
  std::uint64_t insert_at = 0;
  std::uint32_t bias = 72;
  std::uint32_t damp = kDamp;
  while (!encoded.empty()) {
    std::uint64_t delta = 0;
    std::uint64_t weight = 1;
    for (std::uint32_t k = kBase;; k += kBase) {
      if (encoded.empty()) return std::nullopt;
      const std::optional<std::uint32_t> digit = digit_of(encoded.front());
      encoded.remove_prefix(1);
      if (!digit) return std::nullopt;
      delta += *digit * weight;
      if (delta > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
      const std::uint32_t threshold = k <= bias                    ? kLowThreshold
                                      : k >= bias + kHighThreshold ? kHighThreshold
                                                                   : k - bias;
      if (*digit < threshold) break;
      weight *= kBase - threshold;
      if (weight > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    }
    insert_at += delta;
    const std::uint64_t count = points.size() + 1;
    point += insert_at / count;
    insert_at %= count;
    if (point > 0x10ffff || !is_scalar_value(static_cast<std::uint32_t>(point)) || count > kMaxPoints)
      return std::nullopt;
    points.insert(points.begin() + static_cast<std::ptrdiff_t>(insert_at), static_cast<std::uint32_t>(point));
    ++insert_at;
    bias = adapt(static_cast<std::uint32_t>(delta), static_cast<std::uint32_t>(count), damp);
    damp = 2;
  }
  std::string out;
  for (const std::uint32_t p : points) append_utf8(out, p);
  return out;
}

}  // namespace tare::core
