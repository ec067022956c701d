// tare/variant/numbers.h: how View and DBusView hand out numbers: by the types' names, 0 where the type is another.
//
// Nothing allocates or throws; any thread may call. Not to be used by itself.
#pragma once

#include <cstdint>

#include "tare/variant/values.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

// `Viewed` has number<Number>(code): the value of type `code`, or 0.
template <typename Viewed>
class Numbers {
 public:
  std::uint8_t as_byte() const noexcept { return of<std::uint8_t>('y'); }
  std::int16_t as_int16() const noexcept { return of<std::int16_t>('n'); }
  std::uint16_t as_uint16() const noexcept { return of<std::uint16_t>('q'); }
  std::int32_t as_int32() const noexcept { return of<std::int32_t>('i'); }
  std::uint32_t as_uint32() const noexcept { return of<std::uint32_t>('u'); }
  std::int64_t as_int64() const noexcept { return of<std::int64_t>('x'); }
  std::uint64_t as_uint64() const noexcept { return of<std::uint64_t>('t'); }
  double as_double() const noexcept { return of<double>('d'); }
  Handle as_handle() const noexcept { return {of<std::uint32_t>('h')}; }

 private:
  friend Viewed;
  constexpr Numbers() noexcept = default;

  template <typename Number>
  Number of(char code) const noexcept {
    return static_cast<const Viewed*>(this)->template number<Number>(code);
  }
};

}  // namespace tare::inline TARE_ABI::variant
