// tare/variant/values.h: the mapping between C++ values and values of a type, for writing and reading.
//
//   type         C++ values
//   b            bool
//   y n q i u x t, d    any integer type whose every value fits (never bool or char); float, double
//   h            Handle
//   s o g        what converts to std::string_view; ObjectPath and Signature as well for o and g
//   v            as<"u">(5), or anything that has a natural type (5 is "i", "x" is "s", a std::variant what it holds)
//   a            a range; entries from a map or a range of pairs; several arguments or elements(...), one each;
//                a function that adds elements, see tare/variant/writer.h
//   m            std::optional, std::nullopt, a pointer (null is Nothing)
//   ( ) { }      std::tuple, std::pair, std::array, and structs by description:
//
//   struct Rect { std::int32_t x, y, width, height; };
//   template <>
//   inline constexpr auto tare::variant::fields<Rect> = std::tuple(&Rect::x, &Rect::y, &Rect::width, &Rect::height);
//
// fits<"(ii)", V>() is true at compile time if a V may be written as a type. No type here owns anything.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "tare/variant/type.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

// A D-Bus message's file descriptor: its place in the list sent beside the message. Type h.
struct Handle {
  std::uint32_t index = 0;
  friend bool operator==(Handle, Handle) = default;
};

// Texts whose natural type isn't s.
struct ObjectPath {
  std::string_view text = "/";
  operator std::string_view() const { return text; }  // NOLINT(google-explicit-constructor): it is a text
};
struct Signature {
  std::string_view text = "";
  operator std::string_view() const { return text; }  // NOLINT(google-explicit-constructor): it is a text
};

// Members of a struct in the order of its tuple type: specialize it as shown above.
template <typename Struct>
inline constexpr auto fields = nullptr;

// A value and the type it is to have in a variant: as<"u">(5u). Refers to lvalues, and holds temporaries.
template <TypeText kType, typename Value>
struct Typed {
  std::conditional_t<std::is_lvalue_reference_v<Value>, const std::remove_reference_t<Value>&, Value> value;
};
template <TypeText kType, typename Value>
constexpr Typed<kType, Value> as(Value&& value) {
  return {std::forward<Value>(value)};
}

// An array's elements of different C++ types: elements(std::pair("a", 1), std::pair("b", "text")) for a{sv}.
template <typename... Values>
constexpr std::tuple<Values...> elements(const Values&... values) {
  return std::tuple<Values...>(values...);
}

namespace value_details {

template <typename Value>
concept Text = std::convertible_to<const Value&, std::string_view> && !std::same_as<Value, std::nullptr_t>;

template <typename Value>
concept Integer = std::integral<Value> && !std::same_as<Value, bool> && !std::same_as<Value, char> &&
                  !std::same_as<Value, char8_t> && !std::same_as<Value, wchar_t>;

template <typename Value>
concept Described = !std::same_as<std::remove_cvref_t<decltype(fields<Value>)>, std::nullptr_t>;

template <typename Value>
concept TupleLike = requires { std::tuple_size<Value>::value; };

template <typename Value>
concept Sequence = std::ranges::forward_range<const Value> && !Text<Value>;

template <typename Value>
struct IsTyped : std::false_type {};
template <TypeText kType, typename Value>
struct IsTyped<Typed<kType, Value>> : std::true_type {};

template <typename Value>
struct IsVariant : std::false_type {};
template <typename... Alternatives>
struct IsVariant<std::variant<Alternatives...>> : std::true_type {};

template <typename Value>
struct IsOptional : std::false_type {};
template <typename Value>
struct IsOptional<std::optional<Value>> : std::true_type {};

template <std::size_t... kSizes>
consteval auto join(const TypeText<kSizes>&... parts) {
  TypeText<(kSizes + ...) - sizeof...(kSizes) + 1> joined;
  std::size_t at = 0;
  const auto append = [&](std::string_view part) {
    for (const char c : part) joined.text[at++] = c;
  };
  (append(parts.view()), ...);
  return joined;
}

template <typename Value>
consteval auto natural();

template <typename Value, std::size_t... kIndexes>
consteval auto natural_members(std::index_sequence<kIndexes...>) {
  if constexpr (Described<Value>) {
    return join(natural<std::remove_cvref_t<decltype(std::declval<Value&>().*std::get<kIndexes>(fields<Value>))>>()...);
  } else {
    return join(TypeText(""), natural<std::remove_cvref_t<std::tuple_element_t<kIndexes, Value>>>()...);
  }
}

// The default type of a C++ type; empty if there's none.
template <typename Value>
consteval auto natural() {
  if constexpr (std::same_as<Value, bool>) {
    return TypeText("b");
  } else if constexpr (Integer<Value>) {
    constexpr char kCodes[2][9] = {"?yq?u???", "??n?i???"};
    TypeText<2> code;
    code.text[0] =
        sizeof(Value) == 8 ? (std::is_signed_v<Value> ? 'x' : 't') : kCodes[std::is_signed_v<Value>][sizeof(Value)];
    if (std::same_as<Value, signed char>) code.text[0] = 'n';
    return code;
  } else if constexpr (std::same_as<Value, std::byte>) {
    return TypeText("y");
  } else if constexpr (std::floating_point<Value>) {
    return TypeText("d");
  } else if constexpr (std::same_as<Value, Handle>) {
    return TypeText("h");
  } else if constexpr (std::same_as<Value, ObjectPath>) {
    return TypeText("o");
  } else if constexpr (std::same_as<Value, Signature> || std::same_as<Value, Type>) {
    return TypeText("g");
  } else if constexpr (Text<Value>) {
    return TypeText("s");
  } else if constexpr (IsTyped<Value>::value || IsVariant<Value>::value) {
    return TypeText("v");
  } else if constexpr (IsOptional<Value>::value) {
    return join(TypeText("m"), natural<typename Value::value_type>());
  } else if constexpr (Described<Value>) {
    constexpr auto kCount = std::tuple_size_v<std::remove_cvref_t<decltype(fields<Value>)>>;
    return join(TypeText("("), natural_members<Value>(std::make_index_sequence<kCount>()), TypeText(")"));
  } else if constexpr (Sequence<Value>) {
    using Element = std::remove_cvref_t<std::ranges::range_reference_t<const Value>>;
    if constexpr (requires { typename Value::mapped_type; }) {
      return join(TypeText("a{"), natural<std::remove_cvref_t<typename Element::first_type>>(),
                  natural<typename Element::second_type>(), TypeText("}"));
    } else {
      return join(TypeText("a"), natural<Element>());
    }
  } else if constexpr (TupleLike<Value>) {
    return join(TypeText("("), natural_members<Value>(std::make_index_sequence<std::tuple_size_v<Value>>()),
                TypeText(")"));
  } else {
    return TypeText("");
  }
}

}  // namespace value_details

// "a{sv}" for a std::map<std::string, std::variant<...>>: the default type of a C++ type.
template <typename Value>
inline constexpr auto natural_type = value_details::natural<std::remove_cvref_t<Value>>();

namespace value_details {

// Whether every value of integer type `From` is one of `To`.
template <typename To, typename From>
inline constexpr bool kLossless =
    std::in_range<To>(std::numeric_limits<From>::min()) && std::in_range<To>(std::numeric_limits<From>::max());

// The C++ type of a number's bytes.
template <char kCode>
consteval auto number() {
  if constexpr (kCode == 'y') return std::uint8_t{};
  if constexpr (kCode == 'b') return bool{};
  if constexpr (kCode == 'n') return std::int16_t{};
  if constexpr (kCode == 'q') return std::uint16_t{};
  if constexpr (kCode == 'i') return std::int32_t{};
  if constexpr (kCode == 'u') return std::uint32_t{};
  if constexpr (kCode == 'h') return Handle{};
  if constexpr (kCode == 'x') return std::int64_t{};
  if constexpr (kCode == 't') return std::uint64_t{};
  if constexpr (kCode == 'd') return double{};
}
template <char kCode>
using Number = decltype(number<kCode>());

template <char kCode, typename Value>
consteval bool fits_number() {
  if constexpr (kCode == 'b' || kCode == 'h') {
    return std::same_as<Value, Number<kCode>>;
  } else if constexpr (kCode == 'd') {
    return std::same_as<Value, float> || std::same_as<Value, double>;
  } else if constexpr (kCode == 'y' && std::same_as<Value, std::byte>) {
    return true;
  } else if constexpr (std::is_enum_v<Value>) {
    return fits_number<kCode, std::underlying_type_t<Value>>();
  } else if constexpr (Integer<Value>) {
    return kLossless<Number<kCode>, Value>;
  } else {
    return false;
  }
}

// Members of a tuple type or an entry.
template <TypeText kType>
inline constexpr std::size_t kMemberCount = Type::trusted(kType.view()).member_count();

template <TypeText kType, std::size_t kIndex>
consteval auto member() {
  constexpr auto kBegin = [] {
    const char* at = kType.text + 1;
    for (std::size_t i = 0; i < kIndex; ++i) at = type_details::skip(at);
    return static_cast<std::size_t>(at - kType.text);
  }();
  constexpr auto kEnd = static_cast<std::size_t>(type_details::skip(kType.text + kBegin) - kType.text);
  return type_details::part<kType, kBegin, kEnd - kBegin>();
}
template <TypeText kType>
consteval auto element() {
  return type_details::part<kType, 1, kType.size() - 1>();
}

// The n-th member of a tuple, a pair, or a described struct.
template <std::size_t kIndex, typename Value>
constexpr const auto& get_member(const Value& value) {
  if constexpr (Described<Value>) {
    return value.*std::get<kIndex>(fields<Value>);
  } else {
    return std::get<kIndex>(value);
  }
}
template <typename Value>
consteval std::size_t count_members() {
  if constexpr (Described<Value>) {
    return std::tuple_size_v<std::remove_cvref_t<decltype(fields<Value>)>>;
  } else if constexpr (TupleLike<Value>) {
    return std::tuple_size_v<Value>;
  } else {
    return std::numeric_limits<std::size_t>::max();
  }
}
template <std::size_t kIndex, typename Value>
using Member = std::remove_cvref_t<decltype(get_member<kIndex>(std::declval<const Value&>()))>;

// Stands for the object that a function which adds elements is given.
template <TypeText kElement>
struct AnyAdder {
  template <typename... Values>
  void add(const Values&...) {}
};

template <TypeText kType, typename Value>
concept Adds = std::invocable<const Value&, AnyAdder<element<kType>()>&>;

template <TypeText kType, typename Value>
consteval bool fits();

template <TypeText kType, typename Value, std::size_t... kIndexes>
consteval bool members_fit(std::index_sequence<kIndexes...>) {
  return (fits<member<kType, kIndexes>(), Member<kIndexes, Value>>() && ...);
}
template <TypeText kElement, typename Value, std::size_t... kIndexes>
consteval bool elements_fit(std::index_sequence<kIndexes...>) {
  return (fits<kElement, std::remove_cvref_t<std::tuple_element_t<kIndexes, Value>>>() && ...);
}
template <typename Value>
struct AlternativesFit : std::false_type {};
template <typename... Alternatives>
struct AlternativesFit<std::variant<Alternatives...>>
    : std::bool_constant<((natural<Alternatives>().size() > 0 && fits<natural<Alternatives>(), Alternatives>()) &&
                          ...)> {};
template <typename Value>
struct TypedFits : std::false_type {};
template <TypeText kType, typename Value>
struct TypedFits<Typed<kType, Value>>
    : std::bool_constant<is_type(kType.view()) && fits<kType, std::remove_cvref_t<Value>>()> {};

template <TypeText kType, typename Value>
consteval bool fits() {
  constexpr char kCode = kType[0];
  if constexpr (kCode == 's' || kCode == 'o' || kCode == 'g') {
    return Text<Value> || (kCode == 'g' && std::same_as<Value, Type>);
  } else if constexpr (kCode == 'v') {
    if constexpr (IsTyped<Value>::value) return TypedFits<Value>::value;
    if constexpr (IsVariant<Value>::value) return AlternativesFit<Value>::value;
    return natural<Value>().size() > 0;
  } else if constexpr (kCode == 'a') {
    constexpr auto kElement = element<kType>();
    if constexpr (Sequence<Value>) {
      return fits<kElement, std::remove_cvref_t<std::ranges::range_reference_t<const Value>>>();
    } else if constexpr (TupleLike<Value>) {
      return elements_fit<kElement, Value>(std::make_index_sequence<std::tuple_size_v<Value>>());
    } else {
      return Adds<kType, Value>;
    }
  } else if constexpr (kCode == 'm') {
    if constexpr (std::same_as<Value, std::nullopt_t>) return true;
    if constexpr (IsOptional<Value>::value) return fits<element<kType>(), typename Value::value_type>();
    if constexpr (std::is_pointer_v<Value>)
      return fits<element<kType>(), std::remove_cvref_t<std::remove_pointer_t<Value>>>();
    return false;
  } else if constexpr (kCode == '(' || kCode == '{') {
    if constexpr (count_members<Value>() == kMemberCount<kType>) {
      return members_fit<kType, Value>(std::make_index_sequence<kMemberCount<kType>>());
    } else {
      return false;
    }
  } else {
    return fits_number<kCode, Value>();
  }
}

// Whether there's a function that adds elements among the values, however deep. Any that is called with one argument
// counts: too many checks do no harm.
template <typename Value>
consteval bool holds_function();

template <typename Value>
struct PartsHoldFunction : std::false_type {};
template <template <typename...> typename Holder, typename... Parts>
  requires(!Sequence<Holder<Parts...>> && !Text<Holder<Parts...>>)
struct PartsHoldFunction<Holder<Parts...>> : std::bool_constant<(false || ... || holds_function<Parts>())> {};
template <TypeText kType, typename Value>
struct PartsHoldFunction<Typed<kType, Value>> : std::bool_constant<holds_function<Value>()> {};

template <typename Value, std::size_t... kIndexes>
consteval bool members_hold_function(std::index_sequence<kIndexes...>) {
  return (false || ... || holds_function<Member<kIndexes, Value>>());
}

template <typename Value>
consteval bool holds_function() {
  using Plain = std::remove_cvref_t<Value>;
  if constexpr (Text<Plain> || std::is_arithmetic_v<Plain> || std::is_enum_v<Plain>) {
    return false;
  } else if constexpr (std::is_pointer_v<Plain>) {
    return holds_function<std::remove_pointer_t<Plain>>();
  } else if constexpr (Described<Plain>) {
    return members_hold_function<Plain>(std::make_index_sequence<count_members<Plain>()>());
  } else if constexpr (Sequence<Plain>) {
    return holds_function<std::ranges::range_reference_t<const Plain>>();
  } else if constexpr (Adds<"as", Plain>) {
    return true;
  } else {
    return PartsHoldFunction<Plain>::value;
  }
}

}  // namespace value_details

// Whether a `Value` may be written as kType. kType must be a type.
template <TypeText kType, typename Value>
consteval bool fits() {
  return value_details::fits<kType, std::remove_cvref_t<Value>>();
}

}  // namespace tare::inline TARE_ABI::variant
