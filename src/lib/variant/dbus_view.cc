// Reads D-Bus values in place: checks all bytes first, finds children by walking then.
#include "tare/variant/dbus_view.h"

#include "tare/variant/text_rules.h"

namespace tare::inline TARE_ABI::variant {

using format_details::aligned;
using format_details::dbus_alignment;
using format_details::dbus_fixed_size;

namespace {

constexpr std::size_t kBroken = SIZE_MAX;

std::uint32_t load_length(const char* from, bool is_swapped) {
  return format_details::load<std::uint32_t>(from, is_swapped);
}

// Walks values from the beginning of `base` on, all bytes of which are untrusted.
class Checker {
 public:
  Checker(const char* base, std::size_t size, bool is_swapped) : base_(base), size_(size), is_swapped_(is_swapped) {}

  // Where the value ends that begins at `at`, kBroken if it isn't valid; `type` is moved behind its type.
  std::size_t value(const char*& type, std::size_t at, std::size_t levels) {
    const char code = *type;
    at = padding(at, dbus_alignment(code));
    if (at == kBroken || levels > kDeepestDBusValue) return kBroken;
    if (const std::size_t size = dbus_fixed_size(code); size != 0) {
      ++type;
      if (size_ - at < size) return kBroken;
      if (code == 'b' && load_length(base_ + at, is_swapped_) > 1) return kBroken;
      return at + size;
    }
    switch (code) {
      case 's':
      case 'o':
      case 'g':
        ++type;
        return text(code, at);
      case 'v':
        ++type;
        return variant(at, levels);
      case 'a':
        return array(type, at, levels);
      default: {
        for (++type; *type != ')' && *type != '}';) {
          at = value(type, at, levels + 1);
          if (at == kBroken) return kBroken;
        }
        ++type;
        return at;
      }
    }
  }

 private:
  // All padding is zeros.
  std::size_t padding(std::size_t at, std::size_t alignment) const {
    const std::size_t to = aligned(at, alignment);
    if (to > size_) return kBroken;
    for (; at < to; ++at) {
      if (base_[at] != 0) return kBroken;
    }
    return to;
  }

  std::size_t text(char code, std::size_t at) const {
    const std::size_t width = code == 'g' ? 1 : 4;
    if (size_ - at < width) return kBroken;
    const std::size_t length =
        code == 'g' ? static_cast<unsigned char>(base_[at]) : load_length(base_ + at, is_swapped_);
    at += width;
    if (size_ - at <= length || base_[at + length] != 0) return kBroken;
    const std::string_view text(base_ + at, length);
    if (code == 'g' ? !is_dbus_signature(text) : !is_text(text) || (code == 'o' && !is_object_path(text))) {
      return kBroken;
    }
    return at + length + 1;
  }

  std::size_t variant(std::size_t at, std::size_t levels) {
    const std::size_t end = text('g', at);
    if (end == kBroken) return kBroken;
    const std::string_view signature(base_ + at + 1, end - at - 2);
    if (!is_type(signature)) return kBroken;  // not one, but none or several
    const char* type = signature.data();
    return value(type, end, levels + 1);
  }

  std::size_t array(const char*& type, std::size_t at, std::size_t levels) {
    if (size_ - at < 4) return kBroken;
    const std::size_t length = load_length(base_ + at, is_swapped_);
    const char* element = type + 1;
    at = padding(at + 4, dbus_alignment(*element));
    if (at == kBroken || length > kLargestDBusArray || size_ - at < length) return kBroken;
    type = type_details::skip(element);
    const std::size_t end = at + length;
    const std::size_t size = dbus_fixed_size(*element);
    if (size != 0 && *element != 'b') return length % size == 0 ? end : kBroken;  // all numbers are valid
    Checker elements(base_, end, is_swapped_);
    while (at < end) {
      const char* each = element;
      at = elements.value(each, at, levels + 1);
      if (at == kBroken) return kBroken;
    }
    return end;
  }

  const char* base_;
  std::size_t size_;
  bool is_swapped_;
};

}  // namespace

std::optional<DBusView> DBusView::parse(Type type, std::string_view bytes, std::endian order) noexcept {
  if (!is_dbus_signature(type.text())) return std::nullopt;
  const bool is_swapped = order != std::endian::native;
  const char* at = type.data();
  if (Checker(bytes.data(), bytes.size(), is_swapped).value(at, 0, 0) != bytes.size()) return std::nullopt;
  DBusView view(type.data(), type.size(), bytes.data(), 0, bytes.size(), is_swapped);
  view.is_body_ = false;
  return view;
}

std::optional<DBusView> DBusView::parse_body(std::string_view signature, std::string_view bytes,
                                             std::endian order) noexcept {
  if (!is_dbus_signature(signature)) return std::nullopt;
  const bool is_swapped = order != std::endian::native;
  Checker checker(bytes.data(), bytes.size(), is_swapped);
  std::size_t end = 0;
  for (const char* type = signature.data(); type != signature.data() + signature.size();) {
    end = checker.value(type, end, 0);
    if (end == kBroken) return std::nullopt;
  }
  if (end != bytes.size()) return std::nullopt;
  return DBusView(signature.data(), signature.size(), bytes.data(), 0, bytes.size(), is_swapped);
}

std::string_view DBusView::text() const noexcept {
  switch (code()) {
    case 's':
    case 'o':
      return {base_ + at_ + 4, load_length(base_ + at_, is_swapped_)};
    case 'g':
      return {base_ + at_ + 1, static_cast<unsigned char>(base_[at_])};
    default:
      return {};
  }
}

// Where the value ends that begins at `at` or behind padding, and its type.
std::size_t DBusView::skip(const char*& type, std::size_t at) const noexcept {
  const char code = *type;
  at = aligned(at, dbus_alignment(code));
  if (const std::size_t size = dbus_fixed_size(code); size != 0) return ++type, at + size;
  switch (code) {
    case 's':
    case 'o':
      return ++type, at + 5 + load_length(base_ + at, is_swapped_);
    case 'g':
      return ++type, at + 2 + static_cast<unsigned char>(base_[at]);
    case 'v': {
      ++type;
      const char* inner = base_ + at + 1;
      return skip(inner, at + 2 + static_cast<unsigned char>(base_[at]));
    }
    case 'a': {
      const std::size_t length = load_length(base_ + at, is_swapped_);
      const char* element = type + 1;
      type = type_details::skip(element);
      return aligned(at + 4, dbus_alignment(*element)) + length;
    }
    default:
      for (++type; *type != ')' && *type != '}';) at = skip(type, at);
      ++type;
      return at;
  }
}

std::string_view DBusView::bytes() const noexcept {
  if (is_body_) return {base_ + at_, end_ - at_};
  const char* type = type_;
  return {base_ + at_, skip(type, at_) - at_};
}

DBusView DBusView::inside() const noexcept {
  if (code() != 'v') return *this;
  const std::size_t size = static_cast<unsigned char>(base_[at_]);
  const char* type = base_ + at_ + 1;
  DBusView view(type, size, base_, aligned(at_ + size + 2, dbus_alignment(*type)), 0, is_swapped_);
  view.is_body_ = false;
  return view;
}

std::string_view DBusView::element_bytes() const noexcept {
  if (code() != 'a') return {};
  return {base_ + aligned(at_ + 4, dbus_alignment(type_[1])), load_length(base_ + at_, is_swapped_)};
}

std::size_t DBusView::child_count() const noexcept {
  if (code() == 'a' && dbus_fixed_size(type_[1]) != 0) return element_bytes().size() / dbus_fixed_size(type_[1]);
  std::size_t count = 0;
  for (Iterator it(*this); it != end(); ++it) ++count;
  return count;
}

DBusView DBusView::child(std::size_t index) const noexcept {
  Iterator it(*this);
  for (; it != end() && index > 0; ++it) --index;
  return it == end() ? DBusView() : *it;
}

std::optional<DBusView> DBusView::lookup(std::string_view key) const noexcept {
  if (code() != 'a' || type_[1] != '{' || (type_[2] != 's' && type_[2] != 'o' && type_[2] != 'g')) return std::nullopt;
  for (const DBusView& entry : *this) {
    const Iterator it(entry);
    if (it->text() == key) return entry.child(1).inside();
  }
  return std::nullopt;
}

DBusView::Iterator::Iterator(const DBusView& container) noexcept : container_(container) {
  switch (container.code()) {
    case 'a': {
      is_array_ = true;
      next_ = container.type_ + 1;
      const std::string_view elements = container.element_bytes();
      const auto begin = static_cast<std::size_t>(elements.data() - container.base_);
      end_ = begin + elements.size();
      find(begin);
      break;
    }
    case 'v':
      child_ = container.inside();
      is_at_end_ = false;
      types_end_ = next_ = container.type_;
      break;
    case '(':
    case '{': {
      const std::size_t brackets = container.is_body_ ? 0 : 1;
      next_ = container.type_ + brackets;
      types_end_ = container.type_ + container.type_size_ - brackets;
      find(container.at_);
      break;
    }
    default:
      break;
  }
}

// The child that begins at `at` or behind padding.
void DBusView::Iterator::find(std::size_t at) noexcept {
  is_at_end_ = is_array_ ? at == end_ : next_ == types_end_;
  if (is_at_end_) return;
  const char* type = next_;
  const char* type_end = is_array_ ? container_.type_ + container_.type_size_ : type_details::skip(type);
  child_ = DBusView(type, static_cast<std::size_t>(type_end - type), container_.base_,
                    aligned(at, dbus_alignment(*type)), 0, container_.is_swapped_);
  child_.is_body_ = false;
  if (!is_array_) next_ = type_end;
}

DBusView::Iterator& DBusView::Iterator::operator++() noexcept {
  if (!is_array_ && next_ == types_end_) {
    is_at_end_ = true;
    return *this;
  }
  const char* type = child_.type_;
  find(container_.skip(type, child_.at_));
  return *this;
}

}  // namespace tare::inline TARE_ABI::variant
