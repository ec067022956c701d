// Reads GVariant bytes in place: finds children and checks parts that aren't known to be in normal form.
#include "tare/variant/view.h"

#include <algorithm>
#include <cstring>

#include "tare/variant/text_rules.h"

namespace tare::inline TARE_ABI::variant {

using format_details::aligned;
using format_details::load_offset;
using format_details::offset_width;
using type_details::layout_at;

namespace {

// The bytes of an element or member of a type: null where there are too few of them for a fixed size, and for none.
struct Extent {
  const char* data;
  std::size_t size;
};
constexpr Extent extent(const char* base, std::size_t begin, std::size_t end, std::size_t fixed_size) {
  if (begin < end) return {base + begin, end - begin};
  return {nullptr, fixed_size};
}

// True if a text may have type `code`.
bool is_text_of(char code, std::string_view text) {
  return is_text(text) && (code == 's' || (code == 'o' ? is_object_path(text) : is_signature(text)));
}

}  // namespace

View::View(Type type, std::string_view bytes, std::endian order) noexcept
    : View(type.data(), type.size(), bytes.data(), bytes.size(), 0, order == std::endian::native ? 0 : kSwapped) {
  const bool is_variable = (type_details::code_bits(type.code()) & type_details::kVariable) != 0;
  const std::size_t fixed_size = is_variable ? 0 : type.layout().fixed_size;
  if (fixed_size != 0 && fixed_size != size_) {
    data_ = nullptr;
    size_ = fixed_size;
  } else if (size_ == 0) {
    data_ = nullptr;
  }
}

std::string_view View::text() const noexcept {
  const bool is_path = code() == 'o';
  if (!is_path && code() != 's' && code() != 'g') return {};
  if (is_trusted()) return {data_, size_ - 1};
  const std::string_view fallback = is_path ? "/" : "";
  if (size_ == 0 || data_[size_ - 1] != 0) return fallback;
  const std::string_view found(data_, size_ - 1);
  return is_text_of(code(), found) ? found : fallback;
}

namespace {

// True if bytes of a variant end with a type of one character, and have the size of that type.
inline bool holds_basic(const char* data, std::size_t size) {
  if (size <= 2 || data[size - 2] != 0) return false;
  const unsigned bits = type_details::code_bits(data[size - 1]);
  const std::size_t fixed_size = bits & type_details::kAlignments;
  return (bits & type_details::kBasic) != 0 && ((bits & type_details::kVariable) != 0 || fixed_size == size - 2);
}

}  // namespace

View View::inside() const noexcept {
  if (code() != 'v') return *this;
  if (holds_basic(data_, size_) && depth_ < kDeepest - 1) [[likely]] {
    return {data_ + size_ - 1, 1, data_, size_ - 2, depth_ + 1u, flags_};
  }
  const View nothing("()", 2, nullptr, 1, depth_ + 1u, flags_);
  if (size_ == 0) return nothing;
  std::size_t end = size_ - 1;
  while (end > 0 && data_[end] != 0) --end;
  if (data_[end] != 0) return nothing;
  const std::string_view type(data_ + end + 1, size_ - end - 1);
  std::size_t levels = 0;
  if (type_details::scan(type, 0, type_details::Indefinite::Refused, levels) != type.size()) return nothing;
  if (depth_ + levels >= kDeepest) return nothing;
  const char* at = type.data();
  const std::size_t fixed_size = layout_at(at).fixed_size;
  if (fixed_size != 0 && fixed_size != end) return nothing;
  return {type.data(), type.size(), end == 0 ? nullptr : data_, end, depth_ + 1u, flags_};
}

std::size_t View::child_count() const noexcept {
  switch (code()) {
    case 'a':
      return Iterator(*this).left_;
    case 'm': {
      const std::size_t fixed_size = type().element().layout().fixed_size;
      return fixed_size != 0 ? (size_ == fixed_size ? 1 : 0) : (size_ > 0 ? 1 : 0);
    }
    case 'v':
      return 1;
    case '(':
    case '{':
      return type().member_count();
    default:
      return 0;
  }
}

View View::child(std::size_t index) const noexcept {
  if (code() == 'a') return Items(*this)[index];
  Iterator it(*this);
  while (it.left_ > 0 && index-- > 0) ++it;
  return it.left_ > 0 ? *it : View();
}

// ---- arrays by number

Items::Items(const View& array) noexcept : array_(array) {
  if (array.code() != 'a') return;
  const char* at = array.type_ + 1;
  const Layout layout = layout_at(at);
  alignment_ = layout.alignment;
  element_size_ = layout.fixed_size;
  if (element_size_ != 0) {
    count_ = array.size_ % element_size_ == 0 ? array.size_ / element_size_ : 0;
    return;
  }
  if (array.size_ == 0) return;
  width_ = offset_width(array.size_);
  body_ = load_offset(array.data_ + array.size_ - width_, width_);
  if (body_ > array.size_ || (array.size_ - body_) % width_ != 0) return;
  count_ = (array.size_ - body_) / width_;
  ordered_ = count_;
  if (array.is_trusted()) return;
  std::size_t before = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::size_t end = load_offset(array.data_ + body_ + i * width_, width_);
    if (end < before) {
      ordered_ = i;
      return;
    }
    before = end;
  }
}

View Items::operator[](std::size_t index) const noexcept {
  if (index >= count_) {
    if (array_.code() != 'a') return {};
    return {array_.type_ + 1, array_.type_size_ - 1u, nullptr, element_size_, array_.depth_ + 1u, 0};
  }
  Extent found{nullptr, 0};
  if (element_size_ != 0) {
    found = {array_.data_ + index * element_size_, element_size_};
  } else if (index < ordered_) {
    const char* offset = array_.data_ + body_ + index * width_;
    const std::size_t begin = index == 0 ? 0 : aligned(load_offset(offset - width_, width_), alignment_);
    const std::size_t end = load_offset(offset, width_);
    if (end <= body_) found = extent(array_.data_, begin, end, 0);
  }
  return {array_.type_ + 1, array_.type_size_ - 1u, found.data, found.size, array_.depth_ + 1u, array_.flags_};
}

// ---- children one after another

View::Iterator::Iterator(const View& container) noexcept : container_(container) {
  switch (container.code()) {
    case 'a': {
      const Items items(container.trusting_normal_form());  // order is seen to step by step
      left_ = items.count_;
      element_size_ = items.element_size_;
      alignment_ = items.alignment_;
      width_ = items.width_;
      offset_ = last_end_ = items.body_;
      if (left_ != 0) find_element();
      break;
    }
    case 'm': {
      left_ = container.child_count();
      const bool is_fixed = container.type().element().layout().fixed_size != 0;
      const std::size_t size = container.size_ - (is_fixed || left_ == 0 ? 0 : 1);
      child_ = View(container.type_ + 1, container.type_size_ - 1u, size == 0 ? nullptr : container.data_, size,
                    container.depth_ + 1u, container.flags_);
      break;
    }
    case 'v':
      left_ = 1;
      child_ = container.inside();
      break;
    case '(':
    case '{':
      member_ = container.type_ + 1;
      width_ = offset_width(container.size_);
      offset_ = container.size_;
      last_end_ = last_end_of_tuple(left_);
      if (left_ != 0) find_member();
      break;
    default:
      break;
  }
}

View::Iterator& View::Iterator::operator++() noexcept {
  if (--left_ == 0) return *this;
  if (member_ != nullptr) {
    find_member();
  } else {
    find_element();
  }
  return *this;
}

void View::Iterator::find_element() noexcept {
  Extent found{nullptr, element_size_};
  if (element_size_ != 0) {
    found.data = container_.data_ + at_;
    at_ += element_size_;
  } else if (!is_broken_) {
    const std::size_t end = load_offset(container_.data_ + offset_, width_);
    offset_ += width_;
    is_broken_ = end < at_;
    if (!is_broken_ && end <= last_end_) found = extent(container_.data_, aligned(at_, alignment_), end, 0);
    at_ = end;
  }
  child_ = View(container_.type_ + 1, container_.type_size_ - 1u, found.data, found.size, container_.depth_ + 1u,
                container_.flags_);
}

// Counts the members, and finds where the last one ends as the bytes have it: no other may reach further. SIZE_MAX if
// it is unknown.
std::size_t View::Iterator::last_end_of_tuple(std::size_t& members) const noexcept {
  std::size_t offsets = 0;  // of members but the last
  bool is_last_variable = false;
  const char* trailing = member_;  // fixed members at the end
  const bool is_trusted = container_.is_trusted();
  members = 0;
  for (const char* at = member_; *at != ')' && *at != '}'; ++members) {
    if (is_trusted) {
      at = type_details::skip(at);
      continue;
    }
    if (is_last_variable) ++offsets;
    is_last_variable = layout_at(at).fixed_size == 0;
    if (is_last_variable) trailing = at;
  }
  if (is_trusted) return SIZE_MAX;
  const std::size_t table = offsets * width_;
  if (is_last_variable) return table <= container_.size_ ? container_.size_ - table : SIZE_MAX;
  std::size_t end = 0;
  if (table != 0 && table <= container_.size_) end = load_offset(container_.data_ + container_.size_ - table, width_);
  while (*trailing != ')' && *trailing != '}') {
    const Layout layout = layout_at(trailing);
    end = aligned(end, layout.alignment) + layout.fixed_size;
  }
  return end;
}

void View::Iterator::find_member() noexcept {
  const char* type = member_;
  const Layout layout = layout_at(member_);
  Extent found{nullptr, layout.fixed_size};
  if (container_.data_ != nullptr && !is_broken_) {
    const std::size_t size = container_.size_;
    const std::size_t begin = aligned(at_, layout.alignment);
    std::size_t end = SIZE_MAX;
    if (layout.fixed_size != 0) {
      end = begin + layout.fixed_size;
    } else if (left_ == 1) {
      end = offset_;
    } else if (offset_ >= width_) {
      offset_ -= width_;
      end = load_offset(container_.data_ + offset_, width_);
    }
    is_broken_ = begin > end || end > size;
    if (!is_broken_ && end <= last_end_) found = extent(container_.data_, begin, end, layout.fixed_size);
    at_ = end;
  }
  child_ = View(type, static_cast<std::size_t>(member_ - type), found.data, found.size, container_.depth_ + 1u,
                container_.flags_);
}

// ---- dictionaries

namespace {

// True if `size` bytes are equal. Keys are short: a call of memcmp would cost as much as the rest of a step.
inline bool are_equal(const char* a, const char* b, std::size_t size) {
  if (size >= 8) {
    for (std::size_t at = 0; at + 8 < size; at += 8) {
      if (text_details::load8(a + at) != text_details::load8(b + at)) return false;
    }
    return text_details::load8(a + size - 8) == text_details::load8(b + size - 8);
  }
  if (size >= 4) {
    return text_details::load4(a) == text_details::load4(b) &&
           text_details::load4(a + size - 4) == text_details::load4(b + size - 4);
  }
  for (std::size_t at = 0; at < size; ++at) {
    if (a[at] != b[at]) return false;
  }
  return true;
}

}  // namespace

// The entries are read in place: an entry has one offset, at its end, for the end of the key.
template <std::size_t kWidth>
std::optional<View> View::find(std::string_view key) const noexcept {
  const std::size_t body = load_offset(data_ + size_ - kWidth, kWidth);
  if (body > size_ || (size_ - body) % kWidth != 0) return std::nullopt;
  const char* type_end = type_ + 4;
  const Layout value = type_[3] == 'v' ? Layout{0, 8} : layout_at(type_end = type_ + 3);
  std::size_t before = 0;
  for (std::size_t offset = body; offset < size_; offset += kWidth) {
    const std::size_t begin = aligned(before, value.alignment);
    const std::size_t end = load_offset(data_ + offset, kWidth);
    if (begin >= end || end > body) [[unlikely]] {
      if (end < before) return std::nullopt;  // the rest are defaults
      before = end;
      continue;
    }
    before = end;
    const char* entry = data_ + begin;
    const std::size_t width = kWidth == 1 ? 1 : offset_width(end - begin);
    if (kWidth != 1 && end - begin < width) continue;
    const std::size_t table = end - begin - width;
    if (load_offset(entry + table, width) != key.size() + 1 || key.size() >= table) continue;
    if (entry[key.size()] != 0 || !are_equal(entry, key.data(), key.size())) continue;
    if (!is_trusted() && !(type_[2] == 's' ? is_text(key) : is_text_of(type_[2], key))) [[unlikely]]
      return std::nullopt;  // such keys read as defaults
    const std::size_t value_begin = aligned(key.size() + 1, value.alignment);
    if (type_[3] == 'v' && value_begin < table && holds_basic(entry + value_begin, table - value_begin) &&
        depth_ < kDeepest - 3) [[likely]] {
      // as inside() has it. Made from registers: a View copied from memory that was just written would wait for the
      // store
      return View(entry + table - 1, 1, entry + value_begin, table - value_begin - 2, depth_ + 3u, flags_);
    }
    const std::size_t value_end = value.fixed_size != 0 ? value_begin + value.fixed_size : table;
    Extent place{nullptr, value.fixed_size};
    if (value_end <= end - begin) place = extent(entry, value_begin, value_end, value.fixed_size);
    return View(type_ + 3, static_cast<std::size_t>(type_end - type_ - 3), place.data, place.size, depth_ + 2u, flags_)
        .inside();
  }
  return std::nullopt;
}

// A key that invalid ones read as.
std::optional<View> View::find_default(std::string_view key) const noexcept {
  for (const View& entry : *this) {
    if (entry.child(0).text() == key) return entry.child(1).inside();
  }
  return std::nullopt;
}

std::optional<View> View::lookup(std::string_view key) const noexcept {
  if (type_[0] != 'a' || type_[1] != '{' || size_ == 0) return std::nullopt;
  if (type_[2] != 's' && type_[2] != 'o' && type_[2] != 'g') return std::nullopt;
  if (key.size() <= 1 && !is_trusted() && (key.empty() || key == "/")) [[unlikely]]
    return find_default(key);
  if (size_ <= 0xFF) return find<1>(key);
  if (size_ <= 0xFFFF) return find<2>(key);
  return size_ <= 0xFFFF'FFFF ? find<4>(key) : find<8>(key);
}

}  // namespace tare::inline TARE_ABI::variant
