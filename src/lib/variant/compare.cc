// Compares and hashes values by their meaning, independent of their encoding.
#include <bit>
#include <compare>

#include "tare/variant/view.h"

namespace tare::inline TARE_ABI::variant {
namespace {

// FNV-1a over words: it needs no table, and hashes of values aren't for hostile keys alone.
constexpr std::uint64_t kSeed = 0xCBF2'9CE4'8422'2325;
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x0000'0100'0000'01B3;
  return hash ^ (hash >> 32);
}
std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  for (; text.size() >= 8; text.remove_prefix(8))
    hash = mix(hash, format_details::load<std::uint64_t>(text.data(), false));
  std::uint64_t rest = text.size();
  for (const char c : text) rest = rest << 8 | static_cast<unsigned char>(c);
  return mix(hash, rest);
}

// A basic value as a word, which is the same for equal ones of a type.
std::uint64_t word_of(const View& value) {
  switch (value.code()) {
    case 'b':
      return value.as_bool() ? 1 : 0;
    case 'y':
      return value.as_byte();
    case 'n':
      return static_cast<std::uint64_t>(value.as_int16());
    case 'q':
      return value.as_uint16();
    case 'i':
      return static_cast<std::uint64_t>(value.as_int32());
    case 'u':
      return value.as_uint32();
    case 'h':
      return value.as_handle().index;
    case 'x':
      return static_cast<std::uint64_t>(value.as_int64());
    case 't':
      return value.as_uint64();
    default:
      return std::bit_cast<std::uint64_t>(value.as_double());
  }
}

std::uint64_t hash_into(std::uint64_t hash, const View& value) {
  if (value.type().is_basic()) {
    const char code = value.code();
    return code == 's' || code == 'o' || code == 'g' ? mix(hash, value.text()) : mix(hash, word_of(value));
  }
  if (value.code() == 'v') {
    const View inside = value.inside();
    return hash_into(mix(hash, inside.type().text()), inside);
  }
  hash = mix(hash, value.child_count());
  for (const View& child : value) hash = hash_into(hash, child);
  return hash;
}

// Numbers in the order of std::strong_order, which the C++ library of gcc 11 has for no floating-point type.
std::int64_t place_of(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value);
  return bits ^ static_cast<std::int64_t>(static_cast<std::uint64_t>(bits >> 63) >> 1);
}

// Of two values of the same type.
std::strong_ordering compare_values(const View& a, const View& b) {
  switch (a.code()) {
    case 's':
    case 'o':
    case 'g':
      return a.text() <=> b.text();
    case 'n':
    case 'i':
    case 'x':
      return static_cast<std::int64_t>(word_of(a)) <=> static_cast<std::int64_t>(word_of(b));
    case 'd':
      return place_of(a.as_double()) <=> place_of(b.as_double());
    case 'v':
      return a.inside() <=> b.inside();
    default:
      break;
  }
  if (a.type().is_basic()) return word_of(a) <=> word_of(b);
  View::Iterator of_a = a.begin();
  View::Iterator of_b = b.begin();
  for (; of_a != a.end() && of_b != b.end(); ++of_a, ++of_b) {
    if (const auto order = compare_values(*of_a, *of_b); order != 0) return order;
  }
  return (of_a != a.end()) <=> (of_b != b.end());
}

}  // namespace

std::strong_ordering View::compare(const View& a, const View& b) noexcept {
  if (const auto order = a.type().text() <=> b.type().text(); order != 0) return order;
  return compare_values(a, b);
}

std::uint64_t View::hash() const noexcept { return hash_into(mix(kSeed, type().text()), *this); }

}  // namespace tare::inline TARE_ABI::variant
