// tare/internal/variant/writing/leaves.h: writes texts, and contents of variants. For tare/variant/writer.h alone.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <variant>

#include "tare/internal/variant/writing/state.h"
#include "tare/variant/text_rules.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant::writer_details {

// s, o or g.
template <typename Format, char kCode>
struct PutText {
  static constexpr bool kIsSwapped = Format::kByteOrder != std::endian::native;
  static constexpr std::size_t kAround = Format::kIsDBus ? (kCode == 'g' ? 2 : 5) : 1;  // length, and a zero behind

  template <typename Value>
  static std::string_view text_of(const Value& value) {
    if constexpr (std::same_as<Value, Type>) {
      return value.text();
    } else {
      return value;
    }
  }

  // Inlined, so that `state` stays in registers from one text to the next.
  [[gnu::always_inline]] static std::size_t put(State& state, char* base, std::size_t at, std::string_view text) {
    if constexpr (Format::kIsDBus) {
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
      if (!(Format::kIsDBus ? is_dbus_signature(text) : is_signature(text))) state.fail(WriteError::NotSignature);
    }
    at += text.size();
    base[at] = 0;
    return at + 1;
  }
};

// v: the value and its type: that of as<"...">(), of the content of a std::variant, or the natural one.
template <typename Format>
struct PutVariant {
  template <TypeText kInner, typename Value>
  [[gnu::always_inline]] static std::size_t measure(std::size_t at, const Typed<kInner, Value>& typed) {
    return measure_as<kInner>(at, typed.value);
  }
  template <typename... Alternatives>
  [[gnu::always_inline]] static std::size_t measure(std::size_t at, const std::variant<Alternatives...>& value) {
    return std::visit([at](const auto& held) { return measure(at, held); }, value);
  }
  template <typename Value>
  [[gnu::always_inline]] static std::size_t measure(std::size_t at, const Value& value) {
    return measure_as<natural_type<Value>>(at, value);
  }

  template <TypeText kInner, typename Value>
  [[gnu::always_inline]] static std::size_t put(State& state, char* base, std::size_t at,
                                                const Typed<kInner, Value>& typed) {
    return put_as<kInner>(state, base, at, typed.value);
  }
  template <typename... Alternatives>
  [[gnu::always_inline]] static std::size_t put(State& state, char* base, std::size_t at,
                                                const std::variant<Alternatives...>& value) {
    return std::visit([&state, base, at](const auto& held) { return put(state, base, at, held); }, value);
  }
  template <typename Value>
  [[gnu::always_inline]] static std::size_t put(State& state, char* base, std::size_t at, const Value& value) {
    return put_as<natural_type<Value>>(state, base, at, value);
  }

 private:
  template <TypeText kInner, typename Value>
  [[gnu::always_inline]] static std::size_t measure_as(std::size_t at, const Value& value) {
    if constexpr (Format::kIsDBus) at = aligned(at + kInner.size() + 2, kAlignment<Format, kInner>);
    at = Put<Format, kInner>::measure(at, value);
    return Format::kIsDBus ? at : at + 1 + kInner.size();
  }
  template <TypeText kInner, typename Value>
  [[gnu::always_inline]] static std::size_t put_as(State& state, char* base, std::size_t at, const Value& value) {
    static constexpr auto kText = kInner;  // in memory: the copy is of a known size
    if constexpr (Format::kIsDBus) {
      static_assert(is_dbus_signature(kText.view()), "a type in a variant that D-Bus doesn't have");
      base[at++] = static_cast<char>(kText.size());
      std::memcpy(base + at, kText.text, kText.size() + 1);
      at = pad_for<Format, kInner>(state, base, at + kText.size() + 1);
      return Put<Format, kInner>::put(state, base, at, value);
    } else {
      at = Put<Format, kInner>::put(state, base, at, value);
      if (!has_room<Format>(state, at, kText.size() + 1)) return at;
      base[at++] = 0;
      std::memcpy(base + at, kText.text, kText.size());
      return at + kText.size();
    }
  }
};

}  // namespace tare::inline TARE_ABI::variant::writer_details
