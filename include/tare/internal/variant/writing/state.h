// tare/internal/variant/writing/state.h: shared by the parts of the typed writer: the state of one value, and formats
// of values that are known to be small or unsteady. For tare/variant/writer.h alone.
#pragma once

#include <cstddef>

#include "tare/variant/format.h"
#include "tare/variant/output.h"
#include "tare/variant/type.h"
#include "tare/variant/values.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant::writer_details {

using format_details::aligned;
using format_details::kAlignment;
using format_details::kFixedSize;
using value_details::element;
using value_details::get_member;
using value_details::kMemberCount;
using value_details::member;

// The state of one value: the end up to which zeros may be written, and success.
struct State {
  std::size_t limit;
  WriteError error = WriteError::None;

  void fail(WriteError reason) {
    if (error == WriteError::None) error = reason;
  }
};

// A format for values with functions in them, which may add other elements than when sizes were summed up: room is
// checked before every write.
template <typename Format>
struct Checked : Format {
  static constexpr bool kIsChecked = true;
};
template <typename Format>
inline constexpr bool kIsChecked = requires { Format::kIsChecked; };

// A format for values of at most kLargestNarrow bytes: all offsets in them are of one byte, which needs no choice at
// each container. It takes a third off the time of a dictionary of eight.
template <typename Format>
struct Narrow : Format {
  static constexpr bool kIsNarrow = true;
};
template <typename Format>
inline constexpr bool kIsNarrow = requires { Format::kIsNarrow; };
inline constexpr std::size_t kLargestNarrow = 0xFF;

// Bytes of an offset in a container whose parts take `body` bytes, with `count` offsets.
template <typename Format>
std::size_t width_for(std::size_t body, std::size_t count) {
  if constexpr (kIsNarrow<Format>) return 1;
  return format_details::offset_width_for(body, count);
}

// Writes `count` offsets that are `of(index)`, and returns where they end.
template <typename Of>
[[gnu::always_inline]] inline std::size_t put_offsets(char* base, std::size_t at, std::size_t count, std::size_t width,
                                                      Of of) {
  if (width == 1) [[likely]] {
    for (std::size_t i = 0; i < count; ++i) base[at + i] = static_cast<char>(of(i));
  } else if (width == 2) {
    for (std::size_t i = 0; i < count; ++i) format_details::store_offset(base + at + i * 2, of(i), 2);
  } else {
    for (std::size_t i = 0; i < count; ++i) format_details::store_offset(base + at + i * width, of(i), width);
  }
  return at + count * width;
}

// Whether `size` bytes may be written at `at`.
template <typename Format>
bool has_room(State& state, std::size_t at, std::size_t size) {
  if constexpr (kIsChecked<Format>) {
    if (at + size > state.limit) return state.fail(WriteError::Unsteady), false;
  }
  return true;
}

// Padding up to where a value of type kNext begins.
template <typename Format, TypeText kNext>
[[gnu::always_inline]] inline std::size_t pad_for(State& state, char* base, std::size_t at) {
  constexpr std::size_t kTo = kAlignment<Format, kNext>;
  if (!has_room<Format>(state, at, aligned(at, kTo) - at)) return at;
  return format_details::pad(base, at, kTo, state.limit);
}

// measure(at, value): where a value ends that begins at `at`; put(state, base, at, value) writes it and returns the
// same. `at` is aligned for the type already. In put.h.
template <typename Format, TypeText kType>
struct Put;

}  // namespace tare::inline TARE_ABI::variant::writer_details
