// The values of tare/variant/c.h: one block each, header, bytes and type's text; or a header that refers to another's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tare/variant/c.h"
#include "tare/variant/view.h"

// The bytes behind begin at a multiple of 16 in malloc's blocks.
struct tare_variant {
  std::atomic<std::uint32_t> references;
  std::atomic<bool> is_floating;
  bool is_trusted;     // known to be in normal form
  std::uint8_t depth;  // levels above, in values that it was taken out of
  std::uint32_t type_size;
  const char* type;
  const char* data;
  std::size_t size;
  tare_variant* owner;  // of the bytes; null: they are behind this
};

namespace tare::inline TARE_ABI::variant::c {

inline std::string_view type_of(const tare_variant& value) noexcept { return {value.type, value.type_size}; }

inline View view_of(const tare_variant& value) noexcept {
  const View view(Type::trusted(type_of(value)), {value.data, value.data == nullptr ? 0 : value.size});
  return value.is_trusted ? view.trusting_normal_form() : view;
}

enum class Trust : bool { None, NormalForm };

// A floating value with room for `size` bytes, to be filled at `bytes`. Null without memory.
tare_variant* make_value(std::string_view type, std::size_t size, Trust trust, char*& bytes) noexcept;
// The same with a copy of `bytes`.
tare_variant* make_value(std::string_view type, std::string_view bytes, Trust trust) noexcept;

// The value of `part`, a View of the bytes of `whole`: a new reference that keeps `whole`.
tare_variant* part_of(tare_variant& whole, const View& part) noexcept;

// Makes a floating value no longer so; false if it isn't. The only reference of a floating value is the floating one:
// whoever has it is alone, and needs no locked instruction.
inline bool sink(tare_variant& value) noexcept {
  if (value.references.load(std::memory_order_acquire) != 1) {
    return value.is_floating.exchange(false, std::memory_order_relaxed);
  }
  const bool was_floating = value.is_floating.load(std::memory_order_relaxed);
  if (was_floating) value.is_floating.store(false, std::memory_order_relaxed);
  return was_floating;
}

// Ends a floating value that was taken into another one.
inline void consume(tare_variant* value) noexcept {
  if (value != nullptr && sink(*value)) tare_variant_unref(value);
}

}  // namespace tare::inline TARE_ABI::variant::c
