// tare/variant/writer.h: writes C++ values as a type that the compiler knows: GVariant or D-Bus bytes, nothing between.
//
//   tare::variant::Output out;                                     // one for all messages: its memory is used again
//   auto written = tare::variant::Writer<"(iiii)">::write(out, x, y, width, height);
//   auto written = tare::variant::Writer<"a{sv}">::write(out, std::pair("name", as<"s">(name)), std::pair("id", id));
//   send(written.bytes());                                         // or written.error()
//
//   Writer<"as">::write(std::span(memory), names);                 // into the caller's memory
//   Writer<"as">::write_malloced(names);                           // into one malloc of the right size
//   Writer<"as">::size(names);                                     // how many bytes it will take
//   Writer<"(sa{sv})", DBusFormat<>>::write(out, "key", map);            // D-Bus's encoding, of the machine's byte
//   order
//
// A type string that is none, and an argument that can't be written as its part of it, don't compile; see values.h for
// what fits. A tuple's members may be given as several arguments, as may an array's elements. An array may come from a
// function too, which needs no container first:
//
//   Writer<"a{sv}">::write(out, [&](auto& entries) {
//     for (const Option& option : options) entries.add(option.name, as<"u">(option.value));
//   });
//
// It is called once for the sizes and again for each level it lies in, and must add the same each time: if not, the
// value isn't written (WriteError::Unsteady); memory is safe in any case.
//
// How: the exact size is summed up first, which costs an addition a value and is done by the compiler for what it
// knows. Then there's one check for memory and one walk that writes. As the size of a container is known before its
// parts, offsets go where they belong at once. Texts are checked while they are copied.
//
// Nothing throws. Any thread may write to its own Output.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "tare/variant/format.h"
#include "tare/variant/output.h"
#include "tare/variant/text_rules.h"
#include "tare/variant/type.h"
#include "tare/variant/values.h"

namespace tare::variant {

namespace writer_details {

using format_details::aligned;
using format_details::kAlignment;
using format_details::kFixedSize;
using value_details::element;
using value_details::get_member;
using value_details::kMemberCount;
using value_details::member;

// What is going on with one value: up to where zeros may be written, and whether all went well.
struct State {
  std::size_t limit;
  WriteError error = WriteError::None;

  void fail(WriteError reason) {
    if (error == WriteError::None) error = reason;
  }
};

// A format for values with functions in them, which may not add what they added when sizes were summed up: room is
// looked for before everything that is written.
template <typename Format>
struct Checked : Format {
  static constexpr bool kIsChecked = true;
};
template <typename Format>
inline constexpr bool kIsChecked = requires { Format::kIsChecked; };

struct Measured {
  std::size_t end;
  std::size_t count;  // of elements
};

template <typename Format, TypeText kType>
struct Put;

// Calls `act(element)` for each element that the value of an array stands for, functions aside.
template <TypeText kType, typename Value, typename Act>
void for_each_element(const Value& value, Act&& act) {
  if constexpr (value_details::Sequence<Value>) {
    for (const auto& each : value) act(each);
  } else {
    std::apply([&](const auto&... each) { (act(each), ...); }, value);
  }
}

// What a function that adds elements is given when sizes are wanted.
template <typename Format, TypeText kElement>
class Measurer {
 public:
  explicit Measurer(std::size_t at) : at_(at) {}

  template <typename... Values>
  void add(const Values&... values) {
    at_ = Put<Format, kElement>::measure_arguments(aligned(at_, kAlignment<Format, kElement>), values...);
    ++count_;
  }
  Measured measured() const { return {at_, count_}; }

 private:
  std::size_t at_;
  std::size_t count_ = 0;
};

// And when they are written. What doesn't fit into what was measured isn't written.
template <typename Format, TypeText kElement, typename AfterEach>
class Adder {
 public:
  Adder(State& state, char* base, std::size_t at, Measured measured, AfterEach after)
      : state_(state), base_(base), at_(at), measured_(measured), after_(after) {}

  template <typename... Values>
  void add(const Values&... values) {
    using PutElement = Put<Format, kElement>;
    const std::size_t begin = aligned(at_, kAlignment<Format, kElement>);
    if (count_ >= measured_.count || PutElement::measure_arguments(begin, values...) > measured_.end) {
      count_ = measured_.count + 1;
      return;
    }
    format_details::pad(base_, at_, kAlignment<Format, kElement>, state_.limit);
    at_ = PutElement::put_arguments(state_, base_, begin, values...);
    after_(count_++, at_);
  }
  std::size_t finish() {
    if (count_ != measured_.count || at_ != measured_.end) state_.fail(WriteError::Unsteady);
    return measured_.end;
  }

 private:
  State& state_;
  char* base_;
  std::size_t at_;
  Measured measured_;
  AfterEach after_;
  std::size_t count_ = 0;
};

// measure(at, value): where a value ends that begins at `at`; put(state, base, at, value) writes it and returns the
// same. `at` is aligned for the type already.
template <typename Format, TypeText kType>
struct Put {
  static constexpr char kCode = kType[0];
  static constexpr bool kIsDBus = Format::kIsDBus;
  static constexpr bool kIsSwapped = Format::kByteOrder != std::endian::native;

  template <typename Value>
  static std::size_t measure(std::size_t at, const Value& value) {
    static_assert(fits<kType, Value>(),
                  "this C++ type can't be written as this type string: see kType and Value, and tare/variant/values.h");
    if constexpr (kFixedSize<Format, kType> != 0) {
      return at + kFixedSize<Format, kType>;
    } else if constexpr (kCode == 's' || kCode == 'o' || kCode == 'g') {
      return at + text_of(value).size() + (kIsDBus ? (kCode == 'g' ? 2 : 5) : 1);
    } else if constexpr (kCode == 'v') {
      return measure_variant(at, value);
    } else if constexpr (kCode == 'a') {
      if constexpr (kIsDBus) return measure_elements(dbus_elements_at(at), value).end;
      return with_offsets(at, measure_elements(at, value));
    } else if constexpr (kCode == 'm') {
      if (!has_value(value)) return at;
      if constexpr (!std::same_as<Value, std::nullopt_t>) {
        return Put<Format, element<kType>()>::measure(at, *value) + (kFixedSize<Format, element<kType>()> == 0);
      }
      return at;
    } else {
      return measure_members(at, value, std::make_index_sequence<kMemberCount<kType>>());
    }
  }

  template <typename Value>
  static std::size_t put(State& state, char* base, std::size_t at, const Value& value) {
    if constexpr (kIsChecked<Format>) {
      if (measure(at, value) > state.limit) return state.fail(WriteError::Unsteady), at;
    }
    if constexpr (kCode == 's' || kCode == 'o' || kCode == 'g') {
      return put_text(state, base, at, text_of(value));
    } else if constexpr (kCode == 'v') {
      return put_variant(state, base, at, value);
    } else if constexpr (kCode == 'a') {
      return put_array(state, base, at, value);
    } else if constexpr (kCode == 'm') {
      if constexpr (!std::same_as<Value, std::nullopt_t>) {
        if (!has_value(value)) return at;
        at = Put<Format, element<kType>()>::put(state, base, at, *value);
        if constexpr (kFixedSize<Format, element<kType>()> == 0) {
          if (has_room(state, at, 1)) base[at++] = 0;
        }
      }
      return at;
    } else if constexpr (kCode == '(' || kCode == '{') {
      return put_members(state, base, at, value, std::make_index_sequence<kMemberCount<kType>>());
    } else if constexpr (kCode == 'b') {
      if constexpr (kIsDBus) {
        format_details::store(base + at, static_cast<std::uint32_t>(value), kIsSwapped);
      } else {
        base[at] = value ? 1 : 0;
      }
      return at + kFixedSize<Format, kType>;
    } else if constexpr (kCode == 'h') {
      format_details::store(base + at, value.index, kIsSwapped);
      return at + 4;
    } else {
      format_details::store(base + at, static_cast<value_details::Number<kCode>>(value), kIsSwapped);
      return at + kFixedSize<Format, kType>;
    }
  }

  // The same for what was given as one argument or as several.
  template <typename Value>
  static std::size_t measure_arguments(std::size_t at, const Value& value) {
    if constexpr (!fits<kType, Value>() && fits<kType, std::tuple<Value>>()) {
      return measure(at, std::tie(value));
    } else {
      return measure(at, value);
    }
  }
  template <typename... Values>
    requires(sizeof...(Values) != 1)
  static std::size_t measure_arguments(std::size_t at, const Values&... values) {
    return measure(at, std::tie(values...));
  }
  template <typename Value>
  static std::size_t put_arguments(State& state, char* base, std::size_t at, const Value& value) {
    if constexpr (!fits<kType, Value>() && fits<kType, std::tuple<Value>>()) {
      return put(state, base, at, std::tie(value));
    } else {
      return put(state, base, at, value);
    }
  }
  template <typename... Values>
    requires(sizeof...(Values) != 1)
  static std::size_t put_arguments(State& state, char* base, std::size_t at, const Values&... values) {
    return put(state, base, at, std::tie(values...));
  }

 private:
  // Whether `size` bytes may be written at `at`.
  static bool has_room(State& state, std::size_t at, std::size_t size) {
    if constexpr (kIsChecked<Format>) {
      if (at + size > state.limit) return state.fail(WriteError::Unsteady), false;
    }
    return true;
  }
  // Padding up to where a value of a type begins.
  template <TypeText kNext>
  static std::size_t pad_for(State& state, char* base, std::size_t at) {
    constexpr std::size_t kTo = kAlignment<Format, kNext>;
    if (!has_room(state, at, aligned(at, kTo) - at)) return at;
    return format_details::pad(base, at, kTo, state.limit);
  }

  // ---- texts

  template <typename Value>
  static std::string_view text_of(const Value& value) {
    if constexpr (std::same_as<Value, Type>) {
      return value.text();
    } else {
      return value;
    }
  }

  static std::size_t put_text(State& state, char* base, std::size_t at, std::string_view text) {
    if constexpr (kIsDBus) {
      if constexpr (kCode == 'g') {
        if (text.size() > kLongestDBusSignature) state.fail(WriteError::TooLarge);
        base[at++] = static_cast<char>(text.size());
      } else {
        format_details::store(base + at, static_cast<std::uint32_t>(text.size()), kIsSwapped);
        at += 4;
      }
    }
    if (!copy_text(base + at, text)) [[unlikely]]
      state.fail(WriteError::NotText);
    if constexpr (kCode == 'o') {
      if (!is_object_path(text)) state.fail(WriteError::NotObjectPath);
    } else if constexpr (kCode == 'g') {
      if (!(kIsDBus ? is_dbus_signature(text) : is_signature(text))) state.fail(WriteError::NotSignature);
    }
    at += text.size();
    base[at] = 0;
    return at + 1;
  }

  // ---- variants

  template <TypeText kInner, typename Value>
  static std::size_t measure_typed(std::size_t at, const Value& value) {
    if constexpr (kIsDBus) at = aligned(at + kInner.size() + 2, kAlignment<Format, kInner>);
    at = Put<Format, kInner>::measure(at, value);
    return kIsDBus ? at : at + 1 + kInner.size();
  }
  template <TypeText kInner, typename Value>
  static std::size_t put_typed(State& state, char* base, std::size_t at, const Value& value) {
    static constexpr auto kText = kInner;  // in memory: the copy is of a known size
    if constexpr (kIsDBus) {
      static_assert(is_dbus_signature(kText.view()), "a type in a variant that D-Bus doesn't have");
      base[at++] = static_cast<char>(kText.size());
      std::memcpy(base + at, kText.text, kText.size() + 1);
      at = pad_for<kInner>(state, base, at + kText.size() + 1);
      return Put<Format, kInner>::put(state, base, at, value);
    } else {
      at = Put<Format, kInner>::put(state, base, at, value);
      if (!has_room(state, at, kText.size() + 1)) return at;
      base[at++] = 0;
      std::memcpy(base + at, kText.text, kText.size());
      return at + kText.size();
    }
  }
  template <TypeText kInner, typename Value>
  static std::size_t measure_variant(std::size_t at, const Typed<kInner, Value>& typed) {
    return measure_typed<kInner>(at, typed.value);
  }
  template <typename... Alternatives>
  static std::size_t measure_variant(std::size_t at, const std::variant<Alternatives...>& value) {
    return std::visit([at](const auto& held) { return measure_variant(at, held); }, value);
  }
  template <typename Value>
  static std::size_t measure_variant(std::size_t at, const Value& value) {
    return measure_typed<natural_type<Value>>(at, value);
  }
  template <TypeText kInner, typename Value>
  static std::size_t put_variant(State& state, char* base, std::size_t at, const Typed<kInner, Value>& typed) {
    return put_typed<kInner>(state, base, at, typed.value);
  }
  template <typename... Alternatives>
  static std::size_t put_variant(State& state, char* base, std::size_t at, const std::variant<Alternatives...>& value) {
    return std::visit([&state, base, at](const auto& held) { return put_variant(state, base, at, held); }, value);
  }
  template <typename Value>
  static std::size_t put_variant(State& state, char* base, std::size_t at, const Value& value) {
    return put_typed<natural_type<Value>>(state, base, at, value);
  }

  // ---- maybes

  template <typename Value>
  static bool has_value(const Value& value) {
    if constexpr (value_details::IsOptional<Value>::value) return value.has_value();
    if constexpr (std::is_pointer_v<Value>) return value != nullptr;
    return false;
  }

  // ---- arrays

  template <typename Value>
  static Measured measure_elements(std::size_t at, const Value& value) {
    constexpr auto kElement = element<kType>();
    constexpr std::size_t kSize = kFixedSize<Format, kElement>;
    if constexpr (value_details::Adds<kType, Value> && !value_details::Sequence<Value>) {
      Measurer<Format, kElement> measurer(at);
      value(measurer);
      return measurer.measured();
    } else if constexpr (kSize != 0 && value_details::Sequence<Value>) {
      const auto count = static_cast<std::size_t>(std::ranges::distance(value));
      return {at + count * kSize, count};
    } else {
      std::size_t count = 0;
      for_each_element<kType>(value, [&](const auto& each) {
        at = Put<Format, kElement>::measure(aligned(at, kAlignment<Format, kElement>), each);
        ++count;
      });
      return {at, count};
    }
  }

  // GVariant: where an array ends, its offsets included.
  static std::size_t with_offsets(std::size_t begin, Measured measured) {
    if constexpr (kFixedSize<Format, element<kType>()> != 0) return measured.end;
    if (measured.count == 0) return begin;
    return measured.end + measured.count * format_details::offset_width_for(measured.end - begin, measured.count);
  }

  // D-Bus: where the elements begin of an array that begins at `at`.
  static constexpr std::size_t dbus_elements_at(std::size_t at) {
    return aligned(at + 4, kAlignment<Format, element<kType>()>);
  }

  template <typename Value>
  static std::size_t put_array(State& state, char* base, std::size_t at, const Value& value) {
    constexpr auto kElement = element<kType>();
    constexpr bool kHasOffsets = !kIsDBus && kFixedSize<Format, kElement> == 0;
    const std::size_t begin = kIsDBus ? pad_for<kElement>(state, base, at + 4) : at;
    if constexpr (kHasOffsets && value_details::TupleLike<Value> && !value_details::Sequence<Value>) {
      return put_known_elements(state, base, at, value);
    }
    // the sizes again: where offsets go is known then, and what a function may add
    Measured measured{begin, 0};
    if constexpr (kHasOffsets || kIsChecked<Format>) measured = measure_elements(begin, value);
    const std::size_t width = kHasOffsets ? format_details::offset_width_for(measured.end - begin, measured.count) : 0;
    if (!has_room(state, measured.end, measured.count * width)) return at;
    char* offsets = base + measured.end;
    if constexpr (kHasOffsets) {
      const std::size_t outer_limit = std::exchange(state.limit, measured.end);  // no padding over the offsets
      if (width == 1) {                                                          // most arrays
        put_elements(state, base, begin, measured, value, [offsets, begin](std::size_t index, std::size_t end) {
          offsets[index] = static_cast<char>(end - begin);
        });
      } else {
        put_elements(state, base, begin, measured, value, [offsets, begin, width](std::size_t index, std::size_t end) {
          format_details::store_offset(offsets + index * width, end - begin, width);
        });
      }
      state.limit = outer_limit;
      return measured.end + measured.count * width;
    }
    const std::size_t end = put_elements(state, base, begin, measured, value, [](std::size_t, std::size_t) {});
    if constexpr (kIsDBus) {
      if (end - begin > kLargestDBusArray) state.fail(WriteError::TooLarge);
      format_details::store(base + at, static_cast<std::uint32_t>(end - begin), kIsSwapped);
    }
    return end;
  }

  // As many elements as the compiler knows, with offsets behind.
  template <typename Value>
  static std::size_t put_known_elements(State& state, char* base, std::size_t at, const Value& value) {
    constexpr std::size_t kCount = std::tuple_size_v<Value>;
    if constexpr (kCount == 0) return at;
    const std::size_t begin = at;
    std::size_t ends[kCount + 1];
    at = put_elements(state, base, at, {}, value,
                      [&ends, begin](std::size_t index, std::size_t end) { ends[index] = end - begin; });
    const std::size_t width = format_details::offset_width_for(at - begin, kCount);
    if (!has_room(state, at, kCount * width)) return at;
    for (std::size_t i = 0; i < kCount; ++i) format_details::store_offset(base + at + i * width, ends[i], width);
    return at + kCount * width;
  }

  template <typename Value, typename AfterEach>
  static std::size_t put_elements(State& state, char* base, std::size_t at, Measured measured, const Value& value,
                                  AfterEach after) {
    constexpr auto kElement = element<kType>();
    if constexpr (value_details::Adds<kType, Value> && !value_details::Sequence<Value>) {
      Adder<Format, kElement, AfterEach> adder(state, base, at, measured, after);
      value(adder);
      return adder.finish();
    } else if constexpr (are_bytes<Value>()) {
      const std::size_t size = std::ranges::size(value) * kFixedSize<Format, kElement>;
      if (size != 0) std::memcpy(base + at, std::ranges::data(value), size);
      return at + size;
    } else {
      std::size_t index = 0;
      for_each_element<kType>(value, [&](const auto& each) {
        if constexpr (kAlignment<Format, kElement> > 1 && kFixedSize<Format, kElement> == 0) {
          at = pad_for<kElement>(state, base, at);
        }
        at = Put<Format, kElement>::put(state, base, at, each);
        after(index++, at);
      });
      return at;
    }
  }

  // Whether a range's memory is what is to be written.
  template <typename Value>
  static consteval bool are_bytes() {
    if constexpr (value_details::Sequence<Value>) {
      using Element = std::remove_cvref_t<std::ranges::range_reference_t<const Value>>;
      constexpr char kElementCode = kType[1];
      if constexpr (std::ranges::contiguous_range<const Value> && std::is_arithmetic_v<Element> &&
                    kFixedSize<Format, element<kType>()> == sizeof(Element)) {
        if constexpr (kElementCode == 'b') return !kIsDBus;
        return (sizeof(Element) == 1 || !kIsSwapped) && kElementCode != '(' &&
               std::is_floating_point_v<Element> == (kElementCode == 'd');
      }
    }
    return false;
  }

  // ---- tuples and entries

  // Whether a member needs an offset: it varies in size, and others follow.
  template <std::size_t kIndex>
  static constexpr bool kHasOffset =
      !kIsDBus && kIndex + 1 < kMemberCount<kType> && kFixedSize<Format, member<kType, kIndex>()> == 0;
  template <std::size_t... kIndexes>
  static consteval std::size_t count_offsets(std::index_sequence<kIndexes...>) {
    return (0 + ... + std::size_t{kHasOffset<kIndexes>});
  }
  static constexpr std::size_t kOffsetCount = [] {
    if constexpr (kCode == '(' || kCode == '{') {
      return count_offsets(std::make_index_sequence<kMemberCount<kType>>());
    } else {
      return std::size_t{0};
    }
  }();

  template <typename Value, std::size_t... kIndexes>
  static std::size_t measure_members(std::size_t at, const Value& value, std::index_sequence<kIndexes...>) {
    const std::size_t begin = at;
    (..., (at = Put<Format, member<kType, kIndexes>()>::measure(
               aligned(at, kAlignment<Format, member<kType, kIndexes>()>), get_member<kIndexes>(value))));
    if constexpr (kOffsetCount == 0) return at;
    return at + kOffsetCount * format_details::offset_width_for(at - begin, kOffsetCount);
  }

  template <typename Value, std::size_t... kIndexes>
  static std::size_t put_members(State& state, char* base, std::size_t at, const Value& value,
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
      const std::size_t width = format_details::offset_width_for(at - begin, kOffsetCount);
      if (!has_room(state, at, kOffsetCount * width)) return at;
      while (offsets > 0) {  // the last one lies first
        format_details::store_offset(base + at, ends[--offsets], width);
        at += width;
      }
    }
    return at;
  }

  template <std::size_t kIndex, typename Value>
  static std::size_t put_member(State& state, char* base, std::size_t at, std::size_t begin, const Value& value) {
    constexpr auto kMember = member<kType, kIndex>();
    constexpr std::size_t kMemberAlignment = kAlignment<Format, kMember>;
    if constexpr (!kIsDBus && kFixedSize<Format, kType> != 0) {
      const std::size_t to = begin + aligned(at - begin, kMemberAlignment);  // known to the compiler
      if (at != to) std::memset(base + at, 0, to - at);
      at = to;
    } else if constexpr (kMemberAlignment > 1 && kIndex > 0) {
      at = pad_for<kMember>(state, base, at);
    }
    return Put<Format, kMember>::put(state, base, at, get_member<kIndex>(value));
  }
};

}  // namespace writer_details

template <TypeText kType, typename Format = GVariantFormat<>>
class Writer {
  static_assert(is_type(kType.view()), "not a complete, definite type string");
  static_assert(!Format::kIsDBus || is_dbus_signature(kType.view()),
                "D-Bus doesn't have this type: no maybe, no (), entries in arrays only, 32 levels");
  template <typename... Values>
  using Put = writer_details::Put<std::conditional_t<(false || ... || value_details::holds_function<Values>()),
                                                     writer_details::Checked<Format>, Format>,
                                  kType>;

 public:
  // Bytes that the value takes at the beginning of its memory.
  template <typename... Values>
  static std::size_t size(const Values&... values) {
    return Put<Values...>::measure_arguments(0, values...);
  }

  // Into `out` from its beginning. Its memory grows by one malloc, of the right size, if it is too small.
  template <typename... Values>
  static Written write(Output& out, const Values&... values) {
    out.clear();
    return append(out, values...);
  }

  // Behind what `out` holds, after padding with zeros to a multiple of 8; the result is the new value alone. What was
  // there stays if this fails.
  template <typename... Values>
  static Written append(Output& out, const Values&... values) {
    const std::size_t begin = format_details::aligned(out.size(), 8);
    const std::size_t end = Put<Values...>::measure_arguments(begin, values...);
    if (!out.reserve(end)) [[unlikely]]
      return out.why_not();
    char* data = out.data();
    if (begin != out.size()) std::memset(data + out.size(), 0, begin - out.size());
    const WriteError error = put(data, begin, out.capacity(), end, values...);
    if (error != WriteError::None) [[unlikely]]
      return error;
    out.set_size(end);
    return Written(data + begin, end - begin);
  }

  // Into memory of the caller's. WriteError::BufferFull if it is too small, and nothing is written then.
  template <typename... Values>
  static Written write(std::span<char> memory, const Values&... values) {
    const std::size_t end = Put<Values...>::measure_arguments(0, values...);
    if (end > memory.size()) return WriteError::BufferFull;
    const WriteError error = put(memory.data(), 0, memory.size(), end, values...);
    if (error != WriteError::None) [[unlikely]]
      return error;
    return Written(memory.data(), end);
  }

  // Into one malloc of the right size.
  template <typename... Values>
  [[nodiscard]] static Block write_malloced(const Values&... values) {
    const std::size_t end = Put<Values...>::measure_arguments(0, values...);
    if (end == 0) return {};
    Block block(static_cast<char*>(std::malloc(end)), end);
    if (block.data() == nullptr) return Block(WriteError::OutOfMemory);
    const WriteError error = put(block.data(), 0, end, end, values...);
    if (error != WriteError::None) [[unlikely]]
      return Block(error);
    return block;
  }

 private:
  template <typename... Values>
  static WriteError put(char* data, std::size_t begin, std::size_t limit, std::size_t end, const Values&... values) {
    writer_details::State state{limit};
    const std::size_t reached = Put<Values...>::put_arguments(state, data, begin, values...);
    if (reached != end) state.fail(WriteError::Unsteady);
    return state.error;
  }
};

}  // namespace tare::variant
