// Checks if bytes are in normal form, the one encoding of their value: one pass. Memory is taken only for types that
// have more long ones in them than a program writes by hand.
#include "lib/variant/long_types.h"
#include "tare/variant/text_rules.h"
#include "tare/variant/view.h"

namespace tare::inline TARE_ABI::variant {
namespace {

using format_details::load_offset;
using format_details::offset_width;
using format_details::offset_width_for;
using type_details::code_bits;

bool is_normal_value(const char* type, const char* data, std::size_t size, std::size_t depth, LongTypes& types);

// True if all bytes of the fixed-size type at `type` are valid ones: numbers without gaps between.
bool is_plain(const char* type, std::size_t fixed_size) {
  std::size_t sum = 0;
  for (const char* end = type_details::skip(type); type != end; ++type) {
    const unsigned bits = code_bits(*type);
    if ((bits & type_details::kBool) != 0) return false;
    sum += bits & type_details::kAlignments;
  }
  return sum == fixed_size;
}

// Moves `at` to the next multiple of `alignment` if there are only zeros up to there, and not more than to `end`.
bool skip_padding(const char* data, std::size_t& at, std::size_t alignment, std::size_t end) {
  while ((at & (alignment - 1)) != 0) {
    if (at >= end || data[at] != 0) return false;
    ++at;
  }
  return true;
}

bool is_normal_text(char code, const char* data, std::size_t size) {
  if (size == 0 || data[size - 1] != 0) return false;
  const std::string_view text(data, size - 1);
  return is_text(text) && (code == 's' || (code == 'o' ? is_object_path(text) : is_signature(text)));
}

bool is_normal_array(const char* element, const char* data, std::size_t size, std::size_t depth, LongTypes& types) {
  if (size == 0) return true;  // before the type is read: arrays can be empty and their types long
  const char* at = element;
  const Layout layout = types.layout_at(at);
  if (layout.fixed_size != 0) {
    if (size % layout.fixed_size != 0 || depth >= kDeepest) return false;
    if (is_plain(element, layout.fixed_size)) return true;
    for (std::size_t begin = 0; begin < size; begin += layout.fixed_size) {
      if (!is_normal_value(element, data + begin, layout.fixed_size, depth, types)) return false;
    }
    return true;
  }
  const std::size_t width = offset_width(size);
  const std::size_t body = load_offset(data + size - width, width);
  if (body >= size || (size - body) % width != 0) return false;
  if (offset_width_for(body, (size - body) / width) != width) return false;
  std::size_t begin = 0;
  for (std::size_t offset = body; offset < size; offset += width) {
    const std::size_t end = load_offset(data + offset, width);
    if (end < begin || end > body || !skip_padding(data, begin, layout.alignment, end)) return false;
    if (!is_normal_value(element, data + begin, end - begin, depth, types)) return false;
    begin = end;
  }
  return true;
}

bool is_normal_tuple(const char* type, const char* data, std::size_t size, std::size_t depth, LongTypes& types) {
  const char* member = type;
  const Layout whole = types.layout_at(member);
  if (whole.fixed_size != 0) {
    if (data == nullptr || size != whole.fixed_size) return false;
    if (is_plain(type, whole.fixed_size)) return true;
  }
  const std::size_t width = offset_width(size);
  std::size_t table = size;
  std::size_t at = 0;
  for (member = type + 1; *member != ')' && *member != '}';) {
    const char* begin = member;
    const Layout layout = types.layout_at(member);
    if (!skip_padding(data, at, layout.alignment, size)) return false;
    std::size_t end = at + layout.fixed_size;
    if (layout.fixed_size == 0) {
      end = table;
      if (*member != ')' && *member != '}') {
        if (table < width || table - width < at) return false;
        table -= width;
        end = width == 0 ? 0 : load_offset(data + table, width);
      }
    }
    if (end < at || end > table) return false;
    if (!is_normal_value(begin, end == at ? nullptr : data + at, end - at, depth, types)) return false;
    at = end;
  }
  if (whole.fixed_size != 0) {
    for (; at < size; ++at) {
      if (data[at] != 0) return false;
    }
    return true;
  }
  return at == table && (size == 0 || size == at || offset_width_for(at, (size - table) / width) == width);
}

// A tuple of no bytes: the result depends on the type alone.
bool is_empty_normal(const char* type, std::size_t depth, LongTypes& types) {
  const LongTypes::Emptiness known = types.emptiness(type);
  if (known != LongTypes::Emptiness::Unknown) return known == LongTypes::Emptiness::Normal;
  const bool is_normal = is_normal_tuple(type, nullptr, 0, depth, types);
  types.set_emptiness(type, is_normal);
  return is_normal;
}

bool is_normal_variant(const char* data, std::size_t size, std::size_t depth, LongTypes& types) {
  if (size == 0) return false;
  std::size_t end = size - 1;
  while (end > 0 && data[end] != 0) --end;
  if (data[end] != 0) return false;
  const std::string_view type(data + end + 1, size - end - 1);
  std::size_t levels = 0;
  if (type_details::scan(type, 0, type_details::Indefinite::Refused, levels) != type.size()) return false;
  return depth + levels <= kDeepest && is_normal_value(type.data(), end == 0 ? nullptr : data, end, depth, types);
}

// `depth` is the value's own.
bool is_normal_value(const char* type, const char* data, std::size_t size, std::size_t depth, LongTypes& types) {
  if (depth >= kDeepest) return false;
  switch (*type) {
    case 'b':
      return size == 1 && data != nullptr && static_cast<unsigned char>(*data) < 2;
    case 's':
    case 'o':
    case 'g':
      return is_normal_text(*type, data, size);
    case 'v':
      return is_normal_variant(data, size, depth + 1, types);
    case 'a':
      return is_normal_array(type + 1, data, size, depth + 1, types);
    case 'm': {
      if (size == 0) return true;
      const char* at = type + 1;
      const std::size_t fixed_size = types.layout_at(at).fixed_size;
      if (fixed_size != 0) return size == fixed_size && is_normal_value(type + 1, data, size, depth + 1, types);
      if (data[size - 1] != 0) return false;
      return is_normal_value(type + 1, size == 1 ? nullptr : data, size - 1, depth + 1, types);
    }
    case '(':
    case '{':
      return size != 0 ? is_normal_tuple(type, data, size, depth + 1, types) : is_empty_normal(type, depth + 1, types);
    default:
      return data != nullptr && size == (code_bits(*type) & type_details::kAlignments);
  }
}

}  // namespace

bool View::is_normal() const noexcept {
  LongTypes types;
  return is_trusted() || is_normal_value(type_, data_, size_, depth_, types);
}

bool View::is_normal_below(std::size_t levels) const noexcept {
  // a level takes a character of a type, and one more byte for a variant's
  if (is_trusted() && levels + type_size_ + size_ / 2 < kDeepest) return true;
  LongTypes types;
  return is_normal_value(type_, data_, size_, levels, types);
}

}  // namespace tare::inline TARE_ABI::variant
