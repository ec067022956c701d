// tare/variant/convert.h: values out of views, straight into C++ structs and containers: View::to<Value>().
//
//   auto rect = view.to<Rect>();                                   // a described struct, see tare/variant/values.h
//   auto table = view.to<std::map<std::string, std::uint32_t>>();  // a{su}
//   auto names = view.to<std::vector<std::string_view>>();         // as, without copying the texts
//
//   type                C++ values
//   b y n q i u x t d h bool, integers of exactly the type's range, enums of such, double, Handle
//   s o g               std::string, std::string_view (which points into the bytes), ObjectPath, Signature
//   v                   View or DBusView (what it holds), std::variant (the first alternative that fits)
//   a                   whatever has push_back, or insert as maps and sets have it; std::array of as many elements; a
//                       std::span of numbers, or of structs and arrays of them without padding, for a View that
//                       can_be_array_of() them and, where there are bools, is_trusted()
//   m                   std::optional
//   ( ) { }             std::tuple, std::pair, structs by description
//   any                 View or DBusView, whichever is read
//
// Nothing comes out if the type doesn't fit. Values that the bytes don't hold properly are defaults, as in View.
#pragma once

#include <cstring>
#include <optional>
#include <ranges>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tare/internal/variant/writing/wire_form.h"
#include "tare/variant/dbus_view.h"
#include "tare/variant/values.h"
#include "tare/variant/view.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

namespace convert_details {

template <typename AnyView, typename Value>
bool read(const AnyView& view, Value& value);

template <typename AnyView, typename Value, std::size_t... kIndexes>
bool read_members(const AnyView& view, Value& value, std::index_sequence<kIndexes...>) {
  auto it = view.begin();
  const auto next = [&](auto& member) {
    if (it == view.end() || !read(*it, member)) return false;
    ++it;
    return true;
  };
  if constexpr (value_details::Described<Value>) {
    return (next(value.*std::get<kIndexes>(fields<Value>)) && ...) && it == view.end();
  } else {
    return (next(std::get<kIndexes>(value)) && ...) && it == view.end();
  }
}

template <typename Alternative, typename AnyView, typename... Alternatives>
bool read_alternative(const AnyView& view, std::variant<Alternatives...>& value) {
  Alternative alternative{};
  if (!read(view, alternative)) return false;
  value = std::move(alternative);
  return true;
}

// A map's entries have constant keys, which can't be read into.
template <typename Element>
struct Readable {
  using Of = Element;
};
template <typename Key, typename Mapped>
struct Readable<std::pair<const Key, Mapped>> {
  using Of = std::pair<Key, Mapped>;
};

// True if a Value can come from values of `type`; for variants' contents this is unknown in advance.
template <typename Value>
bool takes(Type type);

template <typename Value, std::size_t... kIndexes>
bool takes_members(Type type, std::index_sequence<kIndexes...>) {
  std::optional<Type> member = type.first();
  const auto next = [&]<typename Member>(const Member*) {
    if (!member.has_value() || !takes<Member>(*member)) return false;
    member = type.next(*member);
    return true;
  };
  return (next(static_cast<const value_details::Member<kIndexes, Value>*>(nullptr)) && ...) && !member.has_value();
}

template <typename Value>
bool takes(Type type) {
  const char code = type.code();
  if constexpr (std::same_as<Value, View> || std::same_as<Value, DBusView> || value_details::IsVariant<Value>::value) {
    return true;
  } else if constexpr (std::is_enum_v<Value> && !std::same_as<Value, std::byte>) {
    return takes<std::underlying_type_t<Value>>(type);
  } else if constexpr (value_details::IsOptional<Value>::value) {
    return code == 'm' && takes<typename Value::value_type>(type.element());
  } else if constexpr (value_details::Text<Value> && !std::same_as<Value, ObjectPath> &&
                       !std::same_as<Value, Signature>) {
    return code == 's' || code == 'o' || code == 'g';
  } else if constexpr (value_details::Described<Value> || value_details::TupleLike<Value>) {
    constexpr std::size_t kCount = value_details::count_members<Value>();
    if constexpr (writer_details::IsArray<Value>::value) {
      if (code == 'a') return takes<typename Value::value_type>(type.element());
    }
    return (code == '(' || code == '{') && takes_members<Value>(type, std::make_index_sequence<kCount>());
  } else if constexpr (value_details::Sequence<Value>) {
    return code == 'a' && takes<typename Readable<typename Value::value_type>::Of>(type.element());
  } else {
    return natural_type<Value>[0] == code;
  }
}

template <typename Value>
struct IsSpan : std::false_type {};
template <typename Element>
struct IsSpan<std::span<const Element>> : std::true_type {};

// True if an Element's memory is that of its natural type, so that arrays can be used in place.
template <typename Element>
consteval bool lies_as_in_bytes() {
  if constexpr (natural_type<Element>.size() == 0 || std::same_as<Element, bool>) return false;
  return writer_details::kIsWireForm<GVariantFormat<>, natural_type<Element>, Element>;
}
// Bytes of others may hold bools that are neither.
template <typename Element>
bool may_be_taken(const View& view) {
  return natural_type<Element>.view().find('b') == std::string_view::npos || view.is_trusted();
}

template <typename Element, typename AnyView>
bool read_span(const AnyView& view, std::span<const Element>& span) {
  static_assert(std::same_as<AnyView, View> && lies_as_in_bytes<Element>(),
                "a span is for GVariant's numbers, and structs of them without padding");
  if (view.code() != 'a' || !takes<Element>(view.type().element())) return false;
  if (!view.template can_be_array_of<Element>() || !may_be_taken<Element>(view)) return false;
  if (!writer_details::lies_in_order<Element>()) return false;
  span = view.template array_of<Element>();
  return true;
}

// All elements by one copy, where that is possible.
template <typename Value>
bool copy_elements(const View& view, Value& value) {
  using Element = typename Value::value_type;
  if constexpr (std::ranges::contiguous_range<Value> && requires { value.resize(std::size_t{}); }) {
    if constexpr (lies_as_in_bytes<Element>()) {
      const std::string_view bytes = view.bytes();
      if (view.byte_order() != std::endian::native || bytes.size() % sizeof(Element) != 0) return false;
      if (!may_be_taken<Element>(view) || !writer_details::lies_in_order<Element>()) return false;
      value.resize(bytes.size() / sizeof(Element));
      if (!bytes.empty()) std::memcpy(value.data(), bytes.data(), bytes.size());
      return true;
    }
  }
  return false;
}

template <typename AnyView, typename Value>
bool read_array(const AnyView& view, Value& value) {
  using Element = typename Readable<typename Value::value_type>::Of;
  if (view.code() != 'a') return false;
  if (!takes<Element>(view.type().element())) return false;  // also where there are none
  if constexpr (std::same_as<AnyView, View>) {
    if (copy_elements(view, value)) return true;
  }
  bool is_fitting = true;
  if constexpr (requires { value.reserve(std::size_t{}); }) value.reserve(view.child_count());
  for (const AnyView& child : view) {
    Element element{};
    is_fitting = is_fitting && read(child, element);
    if (!is_fitting) break;
    if constexpr (requires { value.push_back(std::move(element)); }) {
      value.push_back(std::move(element));
    } else {
      value.insert(std::move(element));
    }
  }
  return is_fitting;
}

template <typename AnyView, typename Number>
bool read_number(const AnyView& view, Number& value) {
  switch (view.code()) {
    case 'y':
      if constexpr (std::same_as<Number, std::uint8_t>) return value = view.as_byte(), true;
      break;
    case 'n':
      if constexpr (std::is_signed_v<Number> && sizeof(Number) == 2) return value = view.as_int16(), true;
      break;
    case 'q':
      if constexpr (std::is_unsigned_v<Number> && sizeof(Number) == 2) return value = view.as_uint16(), true;
      break;
    case 'i':
      if constexpr (std::is_signed_v<Number> && sizeof(Number) == 4) return value = view.as_int32(), true;
      break;
    case 'u':
      if constexpr (std::is_unsigned_v<Number> && sizeof(Number) == 4) return value = view.as_uint32(), true;
      break;
    case 'x':
      if constexpr (std::is_signed_v<Number> && sizeof(Number) == 8) return value = view.as_int64(), true;
      break;
    case 't':
      if constexpr (std::is_unsigned_v<Number> && sizeof(Number) == 8) return value = view.as_uint64(), true;
      break;
    default:
      break;
  }
  return false;
}

template <typename AnyView, typename Value>
bool read(const AnyView& view, Value& value) {
  if constexpr (std::same_as<Value, AnyView>) {
    value = view.inside();
    return true;
  } else if constexpr (std::same_as<Value, bool>) {
    value = view.as_bool();
    return view.code() == 'b';
  } else if constexpr (std::is_enum_v<Value> && !std::same_as<Value, std::byte>) {
    std::underlying_type_t<Value> number{};
    if (!read(view, number)) return false;
    value = static_cast<Value>(number);
    return true;
  } else if constexpr (value_details::Integer<Value>) {
    return read_number(view, value);
  } else if constexpr (std::same_as<Value, double>) {
    value = view.as_double();
    return view.code() == 'd';
  } else if constexpr (std::same_as<Value, Handle>) {
    value = view.as_handle();
    return view.code() == 'h';
  } else if constexpr (std::same_as<Value, ObjectPath>) {
    value.text = view.text();
    return view.code() == 'o';
  } else if constexpr (std::same_as<Value, Signature>) {
    value.text = view.text();
    return view.code() == 'g';
  } else if constexpr (value_details::Text<Value>) {
    value = Value(view.text());
    return view.code() == 's' || view.code() == 'o' || view.code() == 'g';
  } else if constexpr (value_details::IsOptional<Value>::value) {
    if (view.code() != 'm') return false;
    value.reset();
    const auto it = view.begin();
    return it == view.end() || read(*it, value.emplace());
  } else if constexpr (value_details::IsVariant<Value>::value) {
    return [&]<typename... Alternatives>(std::variant<Alternatives...>& any) {
      return (read_alternative<Alternatives>(view.inside(), any) || ...);
    }(value);
  } else if constexpr (IsSpan<Value>::value) {
    return read_span(view, value);
  } else if constexpr (value_details::Described<Value> || value_details::TupleLike<Value>) {
    constexpr std::size_t kCount = value_details::count_members<Value>();
    const bool is_tuple = view.code() == '(' || view.code() == '{';
    return (is_tuple || (writer_details::IsArray<Value>::value && view.code() == 'a')) &&
           view.child_count() == kCount && read_members(view, value, std::make_index_sequence<kCount>());
  } else {
    return read_array(view, value);
  }
}

}  // namespace convert_details

template <typename Value>
std::optional<Value> View::to() const {
  std::optional<Value> result(std::in_place);
  if (!convert_details::read(*this, *result)) result.reset();
  return result;
}

template <typename Value>
std::optional<Value> DBusView::to() const {
  std::optional<Value> result(std::in_place);
  if (!convert_details::read(*this, *result)) result.reset();
  return result;
}

}  // namespace tare::inline TARE_ABI::variant
