// The two functions of the maths library that sampling needs: linking libm would load it into every recorded program.
#pragma once

#include <cstdint>

namespace tare::recorder {

// ln x for normal x > 0: by the series of artanh on the mantissa, |s| <= 0.172, 1e-16 after s^21.
inline double natural_logarithm(double x) {
  std::uint64_t bits = __builtin_bit_cast(std::uint64_t, x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double mantissa = __builtin_bit_cast(double, (bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  if (mantissa > 1.4142135623730951) {
    mantissa /= 2;
    ++exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return 2 * s * sum + exponent * 0.6931471805599453;
}

// 1 - exp(-x) for x >= 0: small x by the series, larger ones by squaring exp of a fraction.
inline double one_minus_exp_minus(double x) {
  if (x > 45) return 1;
  int halvings = 0;
  double part = x;
  while (part > 0.25) {
    part /= 2;
    ++halvings;
  }
  double term = part;
  double sum = 0;  // 1 - exp(-part)
  for (int k = 2; k < 20; ++k) {
    sum += term;
    term *= -part / k;
  }
  for (; halvings > 0; --halvings) sum = sum * (2 - sum);  // 1 - (1 - s)^2
  return sum;
}

}  // namespace tare::recorder
