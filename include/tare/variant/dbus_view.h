// tare/variant/dbus_view.h: reads D-Bus values in place, out of bytes that were found valid as a whole.
//
//   auto message = tare::variant::DBusMessage::parse(bytes);       // checks all of it, once
//   for (tare::variant::DBusView argument : message->body()) use(argument);
//   message->body().child(1).lookup("urgency")->as_byte();
//   auto rect = message->body().child(0).to<Rect>();               // tare/variant/convert.h
//
// The interface is View's, see tare/variant/view.h, with D-Bus's costs: a value has neither the number nor the places
// of its children, so that child(i), child_count() and lookup() walk the children before; arrays are skipped as a
// whole.
//
// D-Bus has no defaults for broken bytes: a message is valid or it isn't. So a DBusView exists of checked bytes only.
// They and the type's text must outlive it. Any thread may read. Nothing allocates or throws.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "tare/internal/export.h"
#include "tare/variant/format.h"
#include "tare/variant/numbers.h"
#include "tare/variant/type.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

class TARE_API DBusView : public Numbers<DBusView> {
 public:
  // The value of no arguments, an empty body.
  constexpr DBusView() noexcept = default;

  // Checks `bytes` as one value of `type`, which begins a multiple of 8 bytes behind its message's beginning. Nothing
  // if they aren't exactly that, or D-Bus doesn't have the type.
  static std::optional<DBusView> parse(Type type, std::string_view bytes,
                                       std::endian order = std::endian::native) noexcept;
  // The same for a sequence of values, a body: it is read as a tuple.
  static std::optional<DBusView> parse_body(std::string_view signature, std::string_view bytes,
                                            std::endian order = std::endian::native) noexcept;

  // The first character of the type: of a body, (.
  char code() const noexcept { return is_body_ ? '(' : *type_; }
  // Of a body, its signature.
  std::string_view type_text() const noexcept { return {type_, type_size_}; }
  Type type() const noexcept { return Type::trusted(type_text()); }
  std::endian byte_order() const noexcept {
    return is_swapped_ ? (format_details::kIsBigEndian ? std::endian::little : std::endian::big) : std::endian::native;
  }

  bool as_bool() const noexcept { return number<std::uint32_t>('b') != 0; }
  // as_byte(), as_int16(), ... as_double() and as_handle() are in tare/variant/numbers.h
  // Followed by a zero, which the size leaves out.
  std::string_view text() const noexcept;

  std::size_t child_count() const noexcept;
  DBusView child(std::size_t index) const noexcept;  // an empty body where there's none
  DBusView key() const noexcept { return child(0); }
  DBusView value() const noexcept { return child(1); }
  DBusView inside() const noexcept;
  std::optional<DBusView> lookup(std::string_view key) const noexcept;

  // The bytes of an array's elements; of arrays of numbers they are the numbers in byte_order().
  std::string_view element_bytes() const noexcept;

  // The value's bytes, without padding before or behind. They mean the same at a multiple of 8 from where these lie.
  std::string_view bytes() const noexcept;

  class Iterator;
  Iterator begin() const noexcept;
  std::default_sentinel_t end() const noexcept { return {}; }

  template <typename Value>
  std::optional<Value> to() const;

 private:
  friend class Numbers<DBusView>;
  DBusView(const char* type, std::size_t type_size, const char* base, std::size_t at, std::size_t end,
           bool is_swapped) noexcept
      : base_(base),
        at_(at),
        end_(end),
        type_(type),
        type_size_(static_cast<std::uint32_t>(type_size)),
        is_swapped_(is_swapped) {}

  template <typename Number>
  Number number(char code_wanted) const noexcept {
    if (code() != code_wanted) return Number{};
    return format_details::load<Number>(base_ + at_, is_swapped_);
  }
  std::size_t skip(const char*& type, std::size_t at) const noexcept;

  const char* base_ = nullptr;  // from where alignment counts
  std::size_t at_ = 0;          // aligned
  std::size_t end_ = 0;         // of a body: where it ends
  const char* type_ = "";
  std::uint32_t type_size_ = 0;
  bool is_swapped_ = false;
  bool is_body_ = true;
};

class TARE_API DBusView::Iterator {
 public:
  using value_type = DBusView;
  using difference_type = std::ptrdiff_t;

  Iterator() noexcept = default;
  const DBusView& operator*() const noexcept { return child_; }
  const DBusView* operator->() const noexcept { return &child_; }
  Iterator& operator++() noexcept;
  void operator++(int) noexcept { ++*this; }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) noexcept { return it.is_at_end_; }

 private:
  friend class DBusView;
  explicit Iterator(const DBusView& container) noexcept;
  void find(std::size_t at) noexcept;

  DBusView container_;
  DBusView child_;
  std::size_t end_ = 0;         // of an array
  const char* next_ = nullptr;  // type of the next member
  const char* types_end_ = nullptr;
  bool is_array_ = false;
  bool is_at_end_ = true;
};

inline DBusView::Iterator DBusView::begin() const noexcept { return Iterator(*this); }

}  // namespace tare::inline TARE_ABI::variant
