// tare/internal/variant/writing/arrays.h: writes arrays from ranges, from several values and from functions, with their
// offsets or their length. For tare/variant/writer.h alone.
#pragma once

#include <cstdint>
#include <cstring>
#include <ranges>
#include <tuple>
#include <utility>

#include "tare/internal/variant/writing/elements.h"
#include "tare/internal/variant/writing/state.h"
#include "tare/internal/variant/writing/wire_form.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant::writer_details {

template <typename Format, TypeText kType>
struct PutArray {
  static constexpr auto kElement = element<kType>();
  static constexpr bool kIsDBus = Format::kIsDBus;
  static constexpr bool kHasOffsets = !kIsDBus && kFixedSize<Format, kElement> == 0;
  // Elements whose ends are kept until their place is known; with more, sizes are summed up a second time.
  static constexpr std::size_t kMostEnds = 64;

  // Where an array ends that begins at `at`, its offsets included.
  template <typename Value>
  [[gnu::always_inline]] static std::size_t measure(std::size_t at, const Value& value) {
    if constexpr (kIsDBus) return measure_elements(dbus_elements_at(at), value).end;
    const Measured measured = measure_elements(at, value);
    if constexpr (!kHasOffsets) return measured.end;
    if (measured.count == 0) return at;
    return measured.end + measured.count * width_for<Format>(measured.end - at, measured.count);
  }

  template <typename Value>
  [[gnu::always_inline]] static std::size_t put(State& state, char* base, std::size_t at, const Value& value) {
    if constexpr (kHasOffsets && !value_details::Sequence<Value> && value_details::TupleLike<Value>) {
      return put_counted<std::tuple_size_v<Value>>(state, base, at, value, std::tuple_size_v<Value>);
    } else if constexpr (kHasOffsets && value_details::Sequence<Value> && !kIsChecked<Format>) {
      const auto count = static_cast<std::size_t>(std::ranges::distance(value));
      return count <= kMostEnds ? put_counted<kMostEnds>(state, base, at, value, count)
                                : put_measured(state, base, at, value);
    } else {
      return put_measured(state, base, at, value);
    }
  }

 private:
  // D-Bus: where the elements begin of an array that begins at `at`.
  static constexpr std::size_t dbus_elements_at(std::size_t at) {
    return aligned(at + 4, kAlignment<Format, kElement>);
  }

  template <typename Value>
  [[gnu::always_inline]] static Measured measure_elements(std::size_t at, const Value& value) {
    constexpr std::size_t kSize = kFixedSize<Format, kElement>;
    if constexpr (value_details::Adds<kType, Value> && !value_details::Sequence<Value>) {
      Measurer<Format, kElement> measurer(at);
      value(measurer);
      return measurer.measured();
    } else if constexpr (are_bytes<Format, kElement, Value>()) {
      const std::size_t count = std::ranges::size(value);
      return {at + count * sizeof(*std::ranges::data(value)), count};
    } else if constexpr (kSize != 0 && value_details::Sequence<Value>) {
      const auto count = static_cast<std::size_t>(std::ranges::distance(value));
      return {at + count * kSize, count};
    } else if constexpr (value_details::Sequence<Value>) {
      std::size_t count = 0;
      for (const auto& each : value) {
        at = Put<Format, kElement>::measure(aligned(at, kAlignment<Format, kElement>), each);
        ++count;
      }
      return {at, count};
    } else {
      constexpr std::size_t kCount = std::tuple_size_v<Value>;
      return {measure_members(at, value, std::make_index_sequence<kCount>()), kCount};
    }
  }

  template <typename Value, std::size_t... kIndexes>
  [[gnu::always_inline]] static std::size_t measure_members(std::size_t at, const Value& value,
                                                            std::index_sequence<kIndexes...>) {
    (..., (at = Put<Format, kElement>::measure(aligned(at, kAlignment<Format, kElement>), std::get<kIndexes>(value))));
    return at;
  }

  // With sizes summed up again where there are offsets, which go to their place at once then, or where a function may
  // add others.
  template <typename Value>
  [[gnu::always_inline]] static std::size_t put_measured(State& state, char* base, std::size_t at, const Value& value) {
    const std::size_t begin = kIsDBus ? pad_for<Format, kElement>(state, base, at + 4) : at;
    Measured measured{begin, 0};
    if constexpr (kHasOffsets || kIsChecked<Format>) measured = measure_elements(begin, value);
    const std::size_t width = kHasOffsets ? width_for<Format>(measured.end - begin, measured.count) : 0;
    if (!has_room<Format>(state, measured.end, measured.count * width)) return at;
    if constexpr (kHasOffsets) {
      char* offsets = base + measured.end;
      const std::size_t outer_limit = std::exchange(state.limit, measured.end);  // no padding over the offsets
      put_elements(state, base, begin, measured, value, [offsets, begin, width](std::size_t index, std::size_t end) {
        format_details::store_offset(offsets + index * width, end - begin, width);
      });
      state.limit = outer_limit;
      return measured.end + measured.count * width;
    }
    const std::size_t end = put_elements(state, base, begin, measured, value, [](std::size_t, std::size_t) {});
    if constexpr (kIsDBus) {
      if (end - begin > kLargestDBusArray) state.fail(WriteError::TooLarge);
      constexpr bool kIsSwapped = Format::kByteOrder != std::endian::native;
      format_details::store(base + at, static_cast<std::uint32_t>(end - begin), kIsSwapped);
    }
    return end;
  }

  // `count` elements, kMost at most, with offsets behind.
  template <std::size_t kMost, typename Value>
  [[gnu::always_inline]] static std::size_t put_counted(State& state, char* base, std::size_t at, const Value& value,
                                                        std::size_t count) {
    using End = std::conditional_t<kIsNarrow<Format>, std::uint8_t, std::size_t>;
    const std::size_t begin = at;
    End ends[kMost + 1];
    at = put_elements(state, base, at, {}, value, [&ends, begin](std::size_t index, std::size_t end) {
      ends[index] = static_cast<End>(end - begin);
    });
    const std::size_t width = width_for<Format>(at - begin, count);
    if (!has_room<Format>(state, at, count * width)) return at;
    return put_offsets(base, at, count, width, [&ends](std::size_t index) { return ends[index]; });
  }

  template <typename Value, typename AfterEach>
  [[gnu::always_inline]] static std::size_t put_elements(State& state, char* base, std::size_t at, Measured measured,
                                                         const Value& value, AfterEach after) {
    if constexpr (are_bytes<Format, kElement, Value>()) {
      if (lies_in_order<std::remove_cvref_t<std::ranges::range_reference_t<const Value>>>()) {
        const std::size_t size = std::ranges::size(value) * sizeof(*std::ranges::data(value));
        if (size != 0) std::memcpy(base + at, std::ranges::data(value), size);
        return at + size;
      }
    }
    if constexpr (value_details::Adds<kType, Value> && !value_details::Sequence<Value>) {
      Adder<Format, kElement, AfterEach> adder(state, base, at, measured, after);
      value(adder);
      return adder.finish();
    } else if constexpr (value_details::Sequence<Value>) {
      std::size_t index = 0;
      for (const auto& each : value) {
        at = put_element(state, base, at, each);
        after(index++, at);
      }
      return at;
    } else {
      return put_members(state, base, at, value, after, std::make_index_sequence<std::tuple_size_v<Value>>());
    }
  }

  // Not by std::apply: the references of its function would lie in memory, `at` first of all.
  template <typename Value, typename AfterEach, std::size_t... kIndexes>
  [[gnu::always_inline]] static std::size_t put_members([[maybe_unused]] State& state, [[maybe_unused]] char* base,
                                                        std::size_t at, const Value& value,
                                                        [[maybe_unused]] AfterEach after,
                                                        std::index_sequence<kIndexes...>) {
    (..., (at = put_element(state, base, at, std::get<kIndexes>(value)), after(kIndexes, at)));
    return at;
  }

  template <typename Element>
  [[gnu::always_inline]] static std::size_t put_element(State& state, char* base, std::size_t at, const Element& each) {
    if constexpr (kAlignment<Format, kElement> > 1 && kFixedSize<Format, kElement> == 0) {
      at = pad_for<Format, kElement>(state, base, at);
    }
    return Put<Format, kElement>::put(state, base, at, each);
  }
};

}  // namespace tare::inline TARE_ABI::variant::writer_details
