// tare/internal/variant/writing/put.h: how a C++ value is measured and written as a type: by the type's first
// character. For tare/variant/writer.h alone.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <tuple>

#include "tare/internal/variant/writing/arrays.h"
#include "tare/internal/variant/writing/leaves.h"
#include "tare/internal/variant/writing/state.h"
#include "tare/internal/variant/writing/tuples.h"
#include "tare/internal/variant/writing/wire_form.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant::writer_details {

template <typename Format, TypeText kType>
struct Put {
  static constexpr char kCode = kType[0];
  static constexpr bool kIsDBus = Format::kIsDBus;
  static constexpr bool kIsText = kCode == 's' || kCode == 'o' || kCode == 'g';
  static constexpr std::size_t kSize = kFixedSize<Format, kType>;

  template <typename Value>
  [[gnu::always_inline]] static std::size_t measure(std::size_t at, const Value& value) {
    static_assert(fits<kType, Value>(),
                  "this C++ type can't be written as this type string: see kType and Value, and tare/variant/values.h");
    if constexpr (kSize != 0) {
      return at + kSize;
    } else if constexpr (kIsText) {
      return at + PutText<Format, kCode>::text_of(value).size() + PutText<Format, kCode>::kAround;
    } else if constexpr (kCode == 'v') {
      return PutVariant<Format>::measure(at, value);
    } else if constexpr (kCode == 'a') {
      return PutArray<Format, kType>::measure(at, value);
    } else if constexpr (kCode == 'm') {
      if (!has_value(value)) return at;
      if constexpr (!std::same_as<Value, std::nullopt_t>) {
        return Put<Format, element<kType>()>::measure(at, *value) + (kFixedSize<Format, element<kType>()> == 0);
      }
      return at;
    } else {
      return PutMembers<Format, kType>::measure(at, value);
    }
  }

  template <typename Value>
  [[gnu::always_inline]] static std::size_t put(State& state, char* base, std::size_t at, const Value& value) {
    constexpr bool kIsSwapped = Format::kByteOrder != std::endian::native;
    if constexpr (kIsChecked<Format>) {
      if (measure(at, value) > state.limit) return state.fail(WriteError::Unsteady), at;
    }
    if constexpr (kIsText) {
      return PutText<Format, kCode>::put(state, base, at, PutText<Format, kCode>::text_of(value));
    } else if constexpr (kCode == 'v') {
      return PutVariant<Format>::put(state, base, at, value);
    } else if constexpr (kCode == 'a') {
      return PutArray<Format, kType>::put(state, base, at, value);
    } else if constexpr (kCode == 'm') {
      if constexpr (!std::same_as<Value, std::nullopt_t>) {
        if (!has_value(value)) return at;
        at = Put<Format, element<kType>()>::put(state, base, at, *value);
        if constexpr (kFixedSize<Format, element<kType>()> == 0) {
          if (has_room<Format>(state, at, 1)) base[at++] = 0;
        }
      }
      return at;
    } else if constexpr (kCode == '(' || kCode == '{') {
      if constexpr (kIsWireForm<Format, kType, Value>) {
        if (lies_in_order<Value>()) {
          std::memcpy(base + at, &value, sizeof(Value));
          return at + sizeof(Value);
        }
      }
      return PutMembers<Format, kType>::put(state, base, at, value);
    } else if constexpr (kCode == 'b') {
      if constexpr (kIsDBus) {
        format_details::store(base + at, static_cast<std::uint32_t>(value), kIsSwapped);
      } else {
        base[at] = value ? 1 : 0;
      }
      return at + kSize;
    } else if constexpr (kCode == 'h') {
      format_details::store(base + at, value.index, kIsSwapped);
      return at + 4;
    } else {
      format_details::store(base + at, static_cast<value_details::Number<kCode>>(value), kIsSwapped);
      return at + kSize;
    }
  }

  // The same for one argument or several.
  template <typename Value>
  [[gnu::always_inline]] static std::size_t measure_arguments(std::size_t at, const Value& value) {
    if constexpr (!fits<kType, Value>() && fits<kType, std::tuple<Value>>()) {
      return measure(at, std::tie(value));
    } else {
      return measure(at, value);
    }
  }
  template <typename... Values>
    requires(sizeof...(Values) != 1)
  [[gnu::always_inline]] static std::size_t measure_arguments(std::size_t at, const Values&... values) {
    return measure(at, std::tie(values...));
  }
  template <typename Value>
  [[gnu::always_inline]] static std::size_t put_arguments(State& state, char* base, std::size_t at,
                                                          const Value& value) {
    if constexpr (!fits<kType, Value>() && fits<kType, std::tuple<Value>>()) {
      return put(state, base, at, std::tie(value));
    } else {
      return put(state, base, at, value);
    }
  }
  template <typename... Values>
    requires(sizeof...(Values) != 1)
  [[gnu::always_inline]] static std::size_t put_arguments(State& state, char* base, std::size_t at,
                                                          const Values&... values) {
    return put(state, base, at, std::tie(values...));
  }

 private:
  template <typename Value>
  static bool has_value(const Value& value) {
    if constexpr (value_details::IsOptional<Value>::value) return value.has_value();
    if constexpr (std::is_pointer_v<Value>) return value != nullptr;
    return false;
  }
};

}  // namespace tare::inline TARE_ABI::variant::writer_details
