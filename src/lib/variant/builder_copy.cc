// Copies values out of views into a builder, piece by piece where the bytes can't be copied as they are.
#include <cstring>

#include "tare/variant/builder.h"

namespace tare::inline TARE_ABI::variant {

using type_details::Shape;
using type_details::shape_at;

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::add_view(const View& value) noexcept {
  if (wanted() != value.type().text()) return fail(WriteError::WrongType);
  const std::size_t bytes = value.bytes().size();
  const bool is_other_order = (value.byte_order() != std::endian::native) != is_swapped_;
  if constexpr (kIsDBus) {
    const std::size_t element_size = value.code() == 'a' ? format_details::dbus_fixed_size(value.type().data()[1]) : 0;
    if (element_size != 0 && !is_other_order && bytes % element_size == 0 && value.type().data()[1] != 'b') {
      return add_fixed_array(value.bytes().data(), bytes / element_size);
    }
  } else {
    const Shape shape = shape_at(value.type().data());
    if ((!is_other_order || shape.alignment() == 1) && value.is_normal_below(depth_)) {
      char* to = nullptr;
      if (!add_room(bytes, to)) return false;
      if (bytes != 0) std::memcpy(to, value.bytes().data(), bytes);
      return true;
    }
  }
  return copy(value);
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::copy_children(const View& value) noexcept {
  for (const View& child : value) {
    if (!copy(child)) return false;
  }
  return close();
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::copy(const View& value) noexcept {
  if constexpr (!kIsDBus) {
    // a variant too deep for any content: there may be no level left to open
    if (value.type() == Type("()")) {
      if (!reserve(at_ + 1)) return false;
      data_[at_++] = 0;
      Frame& parent = frames_[depth_];
      ++parent.count;
      parent.next = parent.kind == Kind::Single ? "" : parent.next + (parent.kind == Kind::Array ? 0 : 2);
      return true;
    }
  }
  switch (value.code()) {
    case 'b':
      return add_bool(value.as_bool());
    case 'y':
      return add_byte(value.as_byte());
    case 'n':
      return add_int16(value.as_int16());
    case 'q':
      return add_uint16(value.as_uint16());
    case 'i':
      return add_int32(value.as_int32());
    case 'u':
      return add_uint32(value.as_uint32());
    case 'x':
      return add_int64(value.as_int64());
    case 't':
      return add_uint64(value.as_uint64());
    case 'd':
      return add_double(value.as_double());
    case 'h':
      return add_handle(value.as_handle());
    case 's':
    case 'o':
    case 'g':
      return add_text(value.text());
    case 'v':
      return open_variant(value.inside().type()) && copy_children(value);
    case 'm':
      return value.child_count() == 0 ? add_nothing() : open() && copy_children(value);
    default:
      return open() && copy_children(value);
  }
}

template bool BasicBuilder<false>::add_view(const View& value) noexcept;
template bool BasicBuilder<true>::add_view(const View& value) noexcept;
template bool BasicBuilder<false>::copy_children(const View& value) noexcept;
template bool BasicBuilder<true>::copy_children(const View& value) noexcept;
template bool BasicBuilder<false>::copy(const View& value) noexcept;
template bool BasicBuilder<true>::copy(const View& value) noexcept;

Written View::normal_form(Output& out, std::endian order) const noexcept {
  Builder builder(out, type(), order);
  builder.add_view(*this);
  return builder.end();
}

}  // namespace tare::inline TARE_ABI::variant
