// tare/variant/view.h: reads GVariant bytes of any origin in place: no copy, no allocation, no fault.
//
//   tare::variant::View settings(tare::variant::Type("a{sv}"), bytes);     // nothing is read yet
//   if (!settings.validate()) log("not in normal form");                   // once, O(n); numbers O(1)
//   if (auto name = settings.lookup("name")) use(name->text());            // the variant is taken off
//   for (tare::variant::View entry : settings) use(entry.child(0).text(), entry.child(1).inside());
//   std::span<const std::int32_t> samples = view.array_of<std::int32_t>();
//   auto pairs = view.to<std::map<std::string, int>>();                    // tare/variant/convert.h
//
// The bytes stay the caller's and must outlive all Views of them; so must a type's text, which for a variant's content
// is among the bytes. A View is 32 bytes, copied freely. They may lie anywhere, aligned or not, and may be a mapped
// file.
//
// Bytes that aren't in normal form have a value all the same, as the format prescribes: a part that is out of bounds,
// out of order or invalid reads as its type's default: 0, false, "", "/", an empty array, Nothing, and () in a variant.
// So reading never fails. Once validate() found normal form, all Views taken from this one skip the checks. Without it
// texts are checked on each reading, and child(i) reads all offsets up to the i-th: iterate, or use items().
//
// Costs: a step of iteration is constant but for walking the type of a tuple's member; child(i) of an array is constant
// for validated bytes, of a tuple it walks i members. lookup() compares keys one by one.
//
// Any thread may read at any time. Nothing throws.
//
// From GLib's GVariant: the same values for the same bytes, including others than normal form, but for one: where a
// tuple's first member doesn't fit, GLib still reads the later ones, which can overlap then; here they are defaults.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

#include "tare/internal/export.h"
#include "tare/variant/format.h"
#include "tare/variant/numbers.h"
#include "tare/variant/output.h"
#include "tare/variant/type.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

class Items;

class TARE_API View : public Numbers<View> {
 public:
  // The value (), which is also the content of a broken variant.
  constexpr View() noexcept = default;

  // `bytes` as a value of `type`, with numbers in `order`.
  View(Type type, std::string_view bytes, std::endian order = std::endian::native) noexcept;

  Type type() const noexcept { return Type::trusted({type_, type_size_}); }
  char code() const noexcept { return *type_; }

  // The bytes as they lie there. Empty, for a fixed-size type, if there weren't as many as it has: all zeros then.
  std::string_view bytes() const noexcept { return {data_, data_ == nullptr ? 0 : size_}; }
  std::endian byte_order() const noexcept { return is_swapped() ? kOtherOrder : std::endian::native; }

  // ---- true if no other bytes encode this value

  // O(n); constant for arrays of numbers, whose bytes are all valid.
  bool is_normal() const noexcept;
  // The same, and stores it: this View and those taken from it needn't check any more.
  bool validate() noexcept {
    if (!is_trusted() && is_normal()) flags_ |= kTrusted;
    return is_trusted();
  }
  bool is_trusted() const noexcept { return (flags_ & kTrusted) != 0; }
  // For bytes that are known to be in normal form, because this program wrote them. Wrong knowledge is a fault.
  View trusting_normal_form() const noexcept {
    View result = *this;
    result.flags_ |= kTrusted;
    return result;
  }

  // ---- basic values; the default where the type is another

  bool as_bool() const noexcept { return code() == 'b' && data_ != nullptr && *data_ != 0; }
  // as_byte(), as_int16(), ... as_double() and as_handle() are in tare/variant/numbers.h

  // Of s, o or g: followed by a zero, which the size leaves out. "" for other types.
  std::string_view text() const noexcept;

  // ---- containers: array, tuple, entry, maybe (0 or 1 child), variant (1)

  // Children; 0 for basic values.
  std::size_t child_count() const noexcept;
  // A default where there's no such child: () if this is no container.
  View child(std::size_t index) const noexcept;
  View key() const noexcept { return child(0); }
  View value() const noexcept { return child(1); }

  // The content of a variant; the View itself if it is none.
  View inside() const noexcept;

  class Iterator;
  Iterator begin() const noexcept;
  std::default_sentinel_t end() const noexcept { return {}; }
  // Of an array: children by number, each at constant cost. O(n) to make for bytes that aren't validated.
  Items items() const noexcept;

  // In a dictionary a{s?}: the value of the first entry with this key, out of its variant if it is one. Keys of type o
  // and g work as well. Nothing where there's none, or this is no such dictionary.
  std::optional<View> lookup(std::string_view key) const noexcept;

  // All elements of an array of fixed-size elements, each sizeof(Element) bytes: without checks of single elements.
  // Empty if the type's elements aren't that large, or the bytes lie unaligned or in another byte order: see
  // can_be_array_of(). Bools are bytes, which may hold other than 0 and 1 unless validated.
  template <typename Element>
  std::span<const Element> array_of() const noexcept {
    if (!can_be_array_of<Element>()) return {};
    return {reinterpret_cast<const Element*>(data_), size_ / sizeof(Element)};
  }
  template <typename Element>
  bool can_be_array_of() const noexcept {
    static_assert(std::is_trivially_copyable_v<Element> && !std::is_same_v<Element, bool>);
    if (code() != 'a' || type().element().layout().fixed_size != sizeof(Element)) return false;
    return size_ % sizeof(Element) == 0 && (!is_swapped() || sizeof(Element) == 1) &&
           reinterpret_cast<std::uintptr_t>(data_) % alignof(Element) == 0;
  }

  // ---- as C++ values: in tare/variant/convert.h

  // Nothing if the type doesn't fit Value; a value that the bytes don't hold properly is a default.
  template <typename Value>
  std::optional<Value> to() const;

  // ---- the whole value

  // This value in normal form, in `order`, written to `out` from its beginning. A copy of the bytes where they are so
  // already. Deeper values than allowed can't exist, so that only memory can fail.
  Written normal_form(Output& out, std::endian order) const noexcept;
  Written normal_form(Output& out) const noexcept { return normal_form(out, byte_order()); }

  // True if types and values are the same, in any encodings. Doubles are compared by their bits.
  friend bool operator==(const View& a, const View& b) noexcept { return compare(a, b) == 0; }
  // A total order: by type, then number by number and text by text; a container that is the beginning of another comes
  // before it. Doubles in IEEE's total order.
  friend std::strong_ordering operator<=>(const View& a, const View& b) noexcept { return compare(a, b); }
  // The same for equal values. Not the same in other versions.
  std::uint64_t hash() const noexcept;

  // Levels above this value: 0 for one that was made from bytes.
  std::size_t depth() const noexcept { return depth_; }

 private:
  friend class Numbers<View>;
  friend class Items;
  template <bool>
  friend class BasicBuilder;
  static constexpr std::uint8_t kTrusted = 1;
  static constexpr std::uint8_t kSwapped = 2;
  static constexpr std::endian kOtherOrder =
      std::endian::native == std::endian::little ? std::endian::big : std::endian::little;

  constexpr View(const char* type, std::size_t type_size, const char* data, std::size_t size, std::size_t depth,
                 std::uint8_t flags) noexcept
      : data_(data),
        size_(size),
        type_(type),
        type_size_(static_cast<std::uint32_t>(type_size)),
        depth_(static_cast<std::uint8_t>(depth)),
        flags_(flags) {}

  bool is_normal_below(std::size_t levels) const noexcept;  // as a part of another value, so deep inside
  bool is_swapped() const noexcept { return (flags_ & kSwapped) != 0; }
  static std::strong_ordering compare(const View& a, const View& b) noexcept;

  template <typename Number>
  Number number(char code_wanted) const noexcept {
    if (code() != code_wanted || data_ == nullptr) return Number{};
    return format_details::load<Number>(data_, is_swapped());
  }

  template <std::size_t kWidth>
  std::optional<View> find(std::string_view key) const noexcept;
  std::optional<View> find_default(std::string_view key) const noexcept;

  const char* data_ = nullptr;  // null with a size: zeros
  std::size_t size_ = 1;
  const char* type_ = "()";
  std::uint32_t type_size_ = 2;
  std::uint8_t depth_ = 0;
  std::uint8_t flags_ = 0;
};

// An array's elements by number.
class TARE_API Items {
 public:
  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  View operator[](std::size_t index) const noexcept;  // a default where there's no such element

 private:
  friend class View;
  explicit Items(const View& array) noexcept;

  View array_;
  std::size_t count_ = 0;
  std::size_t element_size_ = 0;  // 0: there are offsets
  std::size_t alignment_ = 1;
  std::size_t width_ = 0;    // of an offset
  std::size_t body_ = 0;     // where the offsets begin
  std::size_t ordered_ = 0;  // elements whose offsets are in order
};

// Goes through the children of any container.
class TARE_API View::Iterator {
 public:
  using value_type = View;
  using difference_type = std::ptrdiff_t;

  Iterator() noexcept = default;
  const View& operator*() const noexcept { return child_; }
  const View* operator->() const noexcept { return &child_; }
  Iterator& operator++() noexcept;
  void operator++(int) noexcept { ++*this; }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) noexcept { return it.left_ == 0; }

 private:
  friend class View;
  explicit Iterator(const View& container) noexcept;
  void find_element() noexcept;
  void find_member() noexcept;
  std::size_t last_end_of_tuple(std::size_t& members) const noexcept;

  View container_;
  View child_;
  std::size_t left_ = 0;      // children from this one on
  std::size_t at_ = 0;        // where the child before ended
  std::size_t width_ = 0;     // of an offset
  std::size_t offset_ = 0;    // where the next offset lies
  std::size_t last_end_ = 0;  // where offsets begin, or the last member ends
  std::size_t element_size_ = 0;
  std::size_t alignment_ = 1;
  const char* member_ = nullptr;  // type of the next member
  bool is_broken_ = false;        // children from here on are defaults
};

inline View::Iterator View::begin() const noexcept { return Iterator(*this); }
inline Items View::items() const noexcept { return Items(*this); }

}  // namespace tare::inline TARE_ABI::variant
