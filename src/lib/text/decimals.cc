#include "lib/text/decimals.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "lib/text/powers_of_ten.h"

namespace tare::inline TARE_ABI::text_details {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kFractionBits = 52;
constexpr std::uint64_t kHiddenBit = std::uint64_t{1} << kFractionBits;
constexpr int kBias = 1023 + kFractionBits;

// significand * 2^exponent; not for infinities and NaNs.
struct Binary {
  std::uint64_t significand;
  int exponent;
  bool is_power_of_two;  // the next smaller number is nearer than the next larger one
};
struct Decimal {
  std::uint64_t significand;
  int exponent;
};

Binary binary_of(std::uint64_t bits) noexcept {
  const std::uint64_t fraction = bits & (kHiddenBit - 1);
  const int exponent = static_cast<int>(bits >> kFractionBits & 0x7FF);
  if (exponent == 0) return {fraction, 1 - kBias, false};
  return {fraction | kHiddenBit, exponent - kBias, fraction == 0 && exponent > 1};
}

// The product's upper part, whose lowest bit is set if any lower bit is.
std::uint64_t multiply_to_odd(const PowerOfTen& power, std::uint64_t factor) noexcept {
  const Wide low = Wide{power.low} * factor;
  const Wide high = Wide{power.high} * factor + static_cast<std::uint64_t>(low >> 64);
  return static_cast<std::uint64_t>(high >> 64) | static_cast<std::uint64_t>(static_cast<std::uint64_t>(high) > 1);
}

// Raffaello Giulietti, "The Schubfach way to render doubles" (2020): the interval of reals that are read back as the
// number is scaled by a power of ten so that it holds one or two integers, or one multiple of ten, which is shorter.
Decimal shortest(const Binary& number) noexcept {
  const std::uint64_t c = number.significand;
  const int q = number.exponent;
  const std::uint64_t is_odd = c & 1;  // ends of the interval belong to even numbers only
  const std::uint64_t is_nearer_below = number.is_power_of_two ? 1 : 0;

  const int k = (q * 1262611 - (number.is_power_of_two ? 524031 : 0)) >> 22;  // floor(log10(2^q)), or of 3/4 of it
  const int h = q + ((-k * 1741647) >> 19) + 1;                               // q + floor(log2(10^-k)) + 1
  const PowerOfTen& power = kPowersOfTen[static_cast<std::size_t>(-k - kLeastPower)];
  const std::uint64_t lower = multiply_to_odd(power, (4 * c - 2 + is_nearer_below) << h) + is_odd;
  const std::uint64_t middle = multiply_to_odd(power, (4 * c) << h);
  const std::uint64_t upper = multiply_to_odd(power, (4 * c + 2) << h) - is_odd;

  const std::uint64_t below = middle / 4;
  if (below >= 10) {
    const std::uint64_t tens = below / 10;
    const bool is_lower_in = lower <= 40 * tens;
    const bool is_upper_in = 40 * tens + 40 <= upper;
    if (is_lower_in != is_upper_in) return {tens + (is_upper_in ? 1 : 0), k + 1};
  }
  const bool is_lower_in = lower <= 4 * below;
  const bool is_upper_in = 4 * below + 4 <= upper;
  if (is_lower_in != is_upper_in) return {below + (is_upper_in ? 1 : 0), k};
  const std::uint64_t between = 4 * below + 2;
  const bool is_nearer_above = middle > between || (middle == between && (below & 1) != 0);
  return {below + (is_nearer_above ? 1 : 0), k};
}

constexpr char kPairs[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

void write_pair(char* to, std::uint32_t pair) noexcept { std::memcpy(to, kPairs + 2 * std::size_t{pair}, 2); }

void write_eight(char* to, std::uint32_t number) noexcept {
  const std::uint32_t high = number / 10'000;
  const std::uint32_t low = number % 10'000;
  write_pair(to, high / 100);
  write_pair(to + 2, high % 100);
  write_pair(to + 4, low / 100);
  write_pair(to + 6, low % 100);
}

int digits_in(std::uint64_t number) noexcept {
  constexpr std::uint64_t kPowers[] = {0,
                                       10,
                                       100,
                                       1'000,
                                       10'000,
                                       100'000,
                                       1'000'000,
                                       10'000'000,
                                       100'000'000,
                                       1'000'000'000,
                                       10'000'000'000,
                                       100'000'000'000,
                                       1'000'000'000'000,
                                       10'000'000'000'000,
                                       100'000'000'000'000,
                                       1'000'000'000'000'000,
                                       10'000'000'000'000'000,
                                       100'000'000'000'000'000};
  const int about = (64 - std::countl_zero(number | 1)) * 1233 >> 12;  // floor(bits * log10(2))
  return about + (number >= kPowers[about] ? 1 : 0);
}

// `count` digits, of which number has no more; at most 18.
void write_digits(char* to, std::uint64_t number, int count) noexcept {
  while (count > 8) {
    count -= 8;
    write_eight(to + count, static_cast<std::uint32_t>(number % 100'000'000));
    number /= 100'000'000;
  }
  auto rest = static_cast<std::uint32_t>(number);
  for (; count >= 2; rest /= 100) write_pair(to + (count -= 2), rest % 100);
  if (count > 0) *to = static_cast<char>('0' + rest);
}

void drop_zeros(Decimal& decimal) noexcept {
  while (decimal.significand % 100'000'000 == 0) {
    decimal.significand /= 100'000'000;
    decimal.exponent += 8;
  }
  for (std::uint64_t tenth = decimal.significand / 10; tenth * 10 == decimal.significand; tenth /= 10) {
    decimal.significand = tenth;
    ++decimal.exponent;
  }
}

char* write_exponent(char* to, int exponent) noexcept {
  *to++ = 'e';
  *to++ = exponent < 0 ? '-' : '+';
  auto size = static_cast<std::uint32_t>(exponent < 0 ? -exponent : exponent);
  if (size >= 100) {
    *to++ = static_cast<char>('0' + size / 100);
    size %= 100;
  }
  write_pair(to, size);
  return to + 2;
}

}  // namespace

char* write_shortest(char* to, double number) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  if ((bits >> kFractionBits & 0x7FF) == 0x7FF) return nullptr;
  if (bits >> 63 != 0) *to++ = '-';
  if (bits << 1 == 0) {
    *to++ = '0';
    return to;
  }
  const Binary binary = binary_of(bits);
  Decimal decimal;
  if (binary.exponent > -kFractionBits - 1 && binary.exponent <= 0 &&
      (binary.significand & ((std::uint64_t{1} << -binary.exponent) - 1)) == 0) {
    decimal = {binary.significand >> -binary.exponent, 0};
  } else {
    decimal = shortest(binary);
  }
  drop_zeros(decimal);
  const int count = digits_in(decimal.significand);
  const int exponent = decimal.exponent;

  // C++ takes the shorter of both notations, and with equal lengths that without an exponent.
  const int single = count == 1 ? 1 : 0;  // which needs no point
  if (exponent < -(count + 3) + single || exponent > 5 - single) {
    write_digits(to + 1, decimal.significand, count);
    to[0] = to[1];
    to[1] = '.';
    return write_exponent(to + count + 1 - 2 * single + single, exponent + count - 1);
  }
  if (exponent >= 0) {
    if (count + exponent > 15) return nullptr;  // all its digits are written, and these aren't they
    write_digits(to, decimal.significand, count);
    std::memset(to + count, '0', static_cast<std::size_t>(exponent));
    return to + count + exponent;
  }
  const int whole = count + exponent;  // digits before the point
  if (whole <= 0) {
    std::memcpy(to, "0.0000000", 8);
    to += 2 - whole;
    write_digits(to, decimal.significand, count);
    return to + count;
  }
  write_digits(to + 1, decimal.significand, count);
  std::memmove(to, to + 1, static_cast<std::size_t>(whole));
  to[whole] = '.';
  return to + count + 1;
}

char* write_fixed(char* to, double number, int digits) noexcept {
  constexpr std::uint64_t kPowers[] = {1,       10,        100,        1'000,       10'000,
                                       100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};
  if (digits < 0 || digits > 9) return nullptr;
  const auto bits = std::bit_cast<std::uint64_t>(number);
  const Binary binary = binary_of(bits);
  const int shift = -binary.exponent;
  std::uint64_t whole = 0;
  std::uint64_t fraction = 0;
  if (bits << 1 != 0) {
    if (shift < 1 || shift > 63) return nullptr;
    const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
    whole = binary.significand >> shift;
    // The fraction's digits and the exact remainder: halves go to even digits.
    const std::uint64_t rest = binary.significand & mask;
    const Wide product = Wide{rest} * kPowers[digits];
    fraction = static_cast<std::uint64_t>(product >> shift);
    const std::uint64_t remainder = static_cast<std::uint64_t>(product) & mask;
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    const std::uint64_t last = digits == 0 ? whole : fraction;
    if (remainder > half || (remainder == half && (last & 1) != 0)) ++fraction;
    if (fraction == kPowers[digits]) {  // also the one of no digits
      fraction = 0;
      ++whole;
    }
  }
  if (bits >> 63 != 0) *to++ = '-';
  const int count = digits_in(whole);
  write_digits(to, whole, count == 0 ? 1 : count);
  to += count == 0 ? 1 : count;
  if (digits == 0) return to;
  *to++ = '.';
  write_digits(to, fraction, digits);
  return to + digits;
}

}  // namespace tare::inline TARE_ABI::text_details
