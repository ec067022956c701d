// tare/internal/variant/writing/tuples.h: writes tuples and entries, with the offsets of members that differ in size.
// For tare/variant/writer.h alone.
#pragma once

#include <cstring>
#include <utility>

#include "tare/internal/variant/writing/state.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant::writer_details {

template <typename Format, TypeText kType>
struct PutMembers {
  static constexpr bool kIsDBus = Format::kIsDBus;
  static constexpr std::make_index_sequence<kMemberCount<kType>> kAllMembers{};

  // Whether a member needs an offset: it varies in size, and others follow.
  template <std::size_t kIndex>
  static constexpr bool kHasOffset =
      !kIsDBus && kIndex + 1 < kMemberCount<kType> && kFixedSize<Format, member<kType, kIndex>()> == 0;
  static constexpr std::size_t kOffsetCount = []<std::size_t... kIndexes>(std::index_sequence<kIndexes...>) {
    return (std::size_t{0} + ... + std::size_t{kHasOffset<kIndexes>});
  }(kAllMembers);

  template <typename Value>
  [[gnu::always_inline]] static std::size_t measure(std::size_t at, const Value& value) {
    // GVariant's sizes don't depend on where a value begins: without that, all sizes of a message would be one chain of
    // additions, each waiting for the one before
    if constexpr (!kIsDBus) return at + measure_members(0, value, kAllMembers);
    return measure_members(at, value, kAllMembers);
  }
  template <typename Value>
  [[gnu::always_inline]] static std::size_t put(State& state, char* base, std::size_t at, const Value& value) {
    return put_members(state, base, at, value, kAllMembers);
  }

 private:
  template <typename Value, std::size_t... kIndexes>
  [[gnu::always_inline]] static std::size_t measure_members(std::size_t at, const Value& value,
                                                            std::index_sequence<kIndexes...>) {
    const std::size_t begin = at;
    (..., (at = Put<Format, member<kType, kIndexes>()>::measure(
               aligned(at, kAlignment<Format, member<kType, kIndexes>()>), get_member<kIndexes>(value))));
    if constexpr (kOffsetCount == 0) return at;
    return at + kOffsetCount * width_for<Format>(at - begin, kOffsetCount);
  }

  template <typename Value, std::size_t... kIndexes>
  [[gnu::always_inline]] static std::size_t put_members(State& state, char* base, std::size_t at, const Value& value,
                                                        std::index_sequence<kIndexes...>) {
    const std::size_t begin = at;
    constexpr std::size_t kSize = kFixedSize<Format, kType>;
    [[maybe_unused]] std::size_t ends[kOffsetCount + 1];
    [[maybe_unused]] std::size_t offsets = 0;
    (..., (at = put_member<kIndexes>(state, base, at, begin, value),
           kHasOffset<kIndexes> ? void(ends[offsets++] = at - begin) : void()));
    if constexpr (kSize != 0) {
      if (at != begin + kSize) std::memset(base + at, 0, begin + kSize - at);
      return begin + kSize;
    } else if constexpr (kOffsetCount != 0) {
      const std::size_t width = width_for<Format>(at - begin, kOffsetCount);
      if (!has_room<Format>(state, at, kOffsetCount * width)) return at;
      // the last one lies first
      return put_offsets(base, at, kOffsetCount, width,
                         [&ends](std::size_t index) { return ends[kOffsetCount - 1 - index]; });
    }
    return at;
  }

  template <std::size_t kIndex, typename Value>
  [[gnu::always_inline]] static std::size_t put_member(State& state, char* base, std::size_t at, std::size_t begin,
                                                       const Value& value) {
    constexpr auto kMember = member<kType, kIndex>();
    constexpr std::size_t kMemberAlignment = kAlignment<Format, kMember>;
    if constexpr (!kIsDBus && kFixedSize<Format, kType> != 0) {
      const std::size_t to = begin + aligned(at - begin, kMemberAlignment);  // known to the compiler
      if (at != to) std::memset(base + at, 0, to - at);
      at = to;
    } else if constexpr (kMemberAlignment > 1 && kIndex > 0) {
      at = pad_for<Format, kMember>(state, base, at);
    }
    return Put<Format, kMember>::put(state, base, at, get_member<kIndex>(value));
  }
};

}  // namespace tare::inline TARE_ABI::variant::writer_details
