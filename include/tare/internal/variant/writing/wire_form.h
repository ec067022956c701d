// tare/internal/variant/writing/wire_form.h: which C++ values lie in memory as they lie in an encoding, so that one
// copy writes an array of them: numbers, and described structs and std::arrays of such without padding.
//
//   writer_details::kIsWireForm<GVariantFormat<>, "(iiii)", Rect>;      // true for four int32_t members in that order
//
// For tare/variant/writer.h and convert.h alone.
#pragma once

#include <array>
#include <cstddef>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tare/variant/format.h"
#include "tare/variant/type.h"
#include "tare/variant/values.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant::writer_details {

// An object that is never constructed. Its members' offsets are known at compile time.
template <typename Struct>
union NeverMade {
  char none = 0;
  Struct value;
};

template <typename Value>
struct IsArray : std::false_type {};
template <typename Element, std::size_t kSize>
struct IsArray<std::array<Element, kSize>> : std::true_type {};

template <typename Format, TypeText kType, typename Value>
consteval bool is_wire_form();

template <typename Format, TypeText kType, typename Value, std::size_t... kIndexes>
consteval bool are_members_wire_form(std::index_sequence<kIndexes...>) {
  std::size_t at = 0;
  bool is_same = true;
  const auto next = [&](std::size_t size, std::size_t alignment, bool is_wire) {
    is_same = is_same && is_wire && format_details::aligned(at, alignment) == at;
    at += size;
  };
  (next(sizeof(value_details::Member<kIndexes, Value>),
        format_details::kAlignment<Format, value_details::member<kType, kIndexes>()>,
        is_wire_form<Format, value_details::member<kType, kIndexes>(), value_details::Member<kIndexes, Value>>()),
   ...);
  // D-Bus begins each struct at a multiple of 8
  return is_same && at == sizeof(Value) && at % format_details::kAlignment<Format, kType> == 0;
}

template <typename Format, TypeText kType, typename Value>
consteval bool is_wire_form() {
  constexpr bool kIsSwapped = Format::kByteOrder != std::endian::native;
  constexpr char kCode = kType[0];
  if constexpr (kCode == '(') {
    constexpr std::size_t kCount = value_details::kMemberCount<kType>;
    constexpr std::make_index_sequence<kCount> kIndexes{};
    if constexpr (kCount == 0 || !std::is_trivially_copyable_v<Value> || !std::is_standard_layout_v<Value>) {
      return false;
    } else if constexpr (value_details::Described<Value>) {
      if constexpr (value_details::count_members<Value>() != kCount) return false;
      return are_members_wire_form<Format, kType, Value>(kIndexes);
    } else if constexpr (IsArray<Value>::value) {
      if constexpr (std::tuple_size_v<Value> != kCount) return false;
      return are_members_wire_form<Format, kType, Value>(kIndexes);
    } else {
      return false;
    }
  } else if constexpr (format_details::kFixedSize<Format, kType> != sizeof(Value)) {
    return false;
  } else if constexpr (kCode == 'b') {
    return !Format::kIsDBus && std::is_same_v<Value, bool>;
  } else if constexpr (kCode == 'h') {
    return !kIsSwapped && std::is_same_v<Value, Handle>;
  } else if constexpr (std::is_arithmetic_v<Value> || std::is_enum_v<Value>) {
    return (sizeof(Value) == 1 || !kIsSwapped) && std::is_floating_point_v<Value> == (kCode == 'd');
  } else {
    return false;
  }
}

// Whether a Value's memory is what is written for it as kType, for a Value that fits and lies_in_order().
template <typename Format, TypeText kType, typename Value>
inline constexpr bool kIsWireForm = is_wire_form<Format, kType, std::remove_cvref_t<Value>>();

// Whether a Value's members lie in memory in the order of their description. Compilers can compute it, though it is no
// constant for the language, in which addresses of members of different types can't be compared.
template <typename Value>
bool lies_in_order();

template <typename Struct, std::size_t... kIndexes>
bool members_lie_in_order(std::index_sequence<kIndexes...>) {
  static constexpr NeverMade<Struct> kNeverMade{};
  std::size_t at = 0;
  const auto is_next = [&at](const void* member, std::size_t size) {
    const std::size_t expected = std::exchange(at, at + size);
    return static_cast<const char*>(member) == reinterpret_cast<const char*>(&kNeverMade) + expected;
  };
  return (... && (is_next(&(kNeverMade.value.*std::get<kIndexes>(fields<Struct>)),
                          sizeof(value_details::Member<kIndexes, Struct>)) &&
                  lies_in_order<value_details::Member<kIndexes, Struct>>()));
}
template <typename Value>
bool lies_in_order() {
  if constexpr (value_details::Described<Value>) {
    return members_lie_in_order<Value>(std::make_index_sequence<value_details::count_members<Value>()>());
  } else if constexpr (IsArray<Value>::value) {
    return lies_in_order<typename Value::value_type>();
  } else {
    return true;
  }
}

// Whether a range's memory is all its elements as they are written, if they lie_in_order().
template <typename Format, TypeText kElement, typename Value>
consteval bool are_bytes() {
  if constexpr (value_details::Sequence<Value> && std::ranges::contiguous_range<const Value>) {
    return kIsWireForm<Format, kElement, std::ranges::range_reference_t<const Value>>;
  } else {
    return false;
  }
}

}  // namespace tare::inline TARE_ABI::variant::writer_details
