// Writes a value piece by piece: containers that open and close, and values copied out of views.
#include "tare/variant/builder.h"

#include <array>

#include "tare/good_size.h"

namespace tare::inline TARE_ABI::variant {
namespace {

using format_details::offset_width_for;
using format_details::store_offset;
using type_details::code_bits;
using type_details::kVariable;
using type_details::Shape;
using type_details::shape_at;

// Types of one character, each with a zero behind it: a container of a single child finds that there is no second one.
constexpr std::array<char, 512> kSingles = [] {
  std::array<char, 512> singles{};
  for (std::size_t i = 0; i < 256; ++i) singles[2 * i] = static_cast<char>(i);
  return singles;
}();
const char* single(const char* type, std::size_t size) {
  return size == 1 ? &kSingles[2 * static_cast<unsigned char>(*type)] : type;
}

constexpr std::size_t alignment_of(unsigned bits) { return Shape{nullptr, bits}.alignment(); }

}  // namespace

template <bool kIsDBus>
BasicBuilder<kIsDBus>::BasicBuilder(Output& out, Type type, std::endian numbers) noexcept
    : data_(out.data()),
      at_(0),
      capacity_(out.capacity()),
      begin_(0),
      out_(out),
      is_swapped_(numbers != std::endian::native) {
  out.clear();
  frames_[0] = {0, single(type.data(), type.size()), "", "", 0, 0, 0, 0, 'v', Kind::Single};
  if (kIsDBus && !is_dbus_signature(type.text())) fail(WriteError::NotInDBus);
}

template <bool kIsDBus>
BasicBuilder<kIsDBus>::BasicBuilder(Output& out, Body, Type type, std::endian numbers) noexcept
  requires(kIsDBus)
    : data_(out.data()),
      at_(out.size()),
      capacity_(out.capacity()),
      begin_(format_details::aligned(at_, 8)),
      out_(out),
      is_swapped_(numbers != std::endian::native) {
  frames_[0] = {begin_, type.data() + 1, "", "", 0, 0, 0, 0, '(', Kind::Sequence};
  const std::string_view members = type.text().substr(1, type.size() - 2);
  if (type.code() != '(' || !is_dbus_signature(members)) {
    fail(WriteError::NotInDBus);
  } else {
    align(8, 0);
  }
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::fail(WriteError reason) noexcept {
  if (error_ == WriteError::None) error_ = reason;
  frames_[depth_].next = "";  // nothing fits any more, and close() doesn't go back to where something would
  return false;
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::grow(std::size_t end) noexcept {
  out_.set_size(at_);
  if (error_ != WriteError::None) return false;
  if (!out_.reserve_amortized(end)) return fail(out_.why_not());
  data_ = out_.data();
  capacity_ = out_.capacity();
  return true;
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::grow_ends() noexcept {
  const std::size_t size_bytes = good_size(2 * ends_capacity_ * sizeof(std::size_t));
  void* block = ends_ == own_ends_ ? std::malloc(size_bytes) : std::realloc(ends_, size_bytes);
  if (block == nullptr) return fail(WriteError::OutOfMemory);
  if (ends_ == own_ends_) std::memcpy(block, own_ends_, sizeof own_ends_);
  ends_ = static_cast<std::size_t*>(block);
  ends_capacity_ = size_bytes / sizeof(std::size_t);
  return true;
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::add_text(std::string_view text) noexcept {
  Frame& frame = frames_[depth_];
  const char code = *frame.next;
  if (code != 's' && code != 'o' && code != 'g') [[unlikely]]
    return fail(WriteError::WrongType);
  if constexpr (kIsDBus) {
    if (code == 'g') {
      if (text.size() > kLongestDBusSignature) return fail(WriteError::TooLarge);
      if (!reserve(at_ + text.size() + 2)) return false;
      data_[at_++] = static_cast<char>(text.size());
    } else {
      if (text.size() > kLargestDBusMessage) return fail(WriteError::TooLarge);
      if (!align(4, text.size() + 5)) return false;
      format_details::store(data_ + at_, static_cast<std::uint32_t>(text.size()), is_swapped_);
      at_ += 4;
    }
  } else if (!reserve(at_ + text.size() + 1)) [[unlikely]] {
    return false;
  }
  if (!copy_text(data_ + at_, text)) [[unlikely]]
    return fail(WriteError::NotText);
  if (code == 'o' && !is_object_path(text)) return fail(WriteError::NotObjectPath);
  if (code == 'g' && !(kIsDBus ? is_dbus_signature(text) : is_signature(text))) return fail(WriteError::NotSignature);
  at_ += text.size();
  data_[at_++] = 0;
  frame.next += frame.kind == Kind::Array ? 0 : 1;
  return finish_child(frame);
}

// Opens a container of the next type, whose children begin one character further in it.
template <bool kIsDBus>
typename BasicBuilder<kIsDBus>::Frame* BasicBuilder<kIsDBus>::push(char code, Kind kind, const Shape* known) noexcept {
  if (depth_ == kMostOpen) {
    fail(WriteError::TooDeep);
    return nullptr;
  }
  const Frame& parent = frames_[depth_];
  Frame& frame = frames_[++depth_];
  frame.next = parent.next + 1;
  frame.after = parent.next;
  frame.ends = ends_size_;
  frame.count = 0;
  frame.code = code;
  frame.kind = kind;
  if (parent.kind == Kind::Array && kind == Kind::Sequence) {
    frame.bits = parent.bits;  // of its elements
  } else {
    const char* children = kind == Kind::Sequence ? parent.next : frame.next;
    const Shape shape = known != nullptr ? *known : shape_at(children);
    frame.bits = static_cast<std::uint8_t>(shape.bits);
    if (parent.kind == Kind::Sequence) frame.after = shape.end;
    if (kind == Kind::Single) frame.next = single(children, static_cast<std::size_t>(shape.end - children));
  }
  if (parent.kind == Kind::Single) frame.after = "";
  return &frame;
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::open(const Shape* known) noexcept {
  const char code = *frames_[depth_].next;
  Kind kind = Kind::Sequence;
  if (code == 'a') {
    kind = Kind::Array;
  } else if (code == 'm') {
    kind = Kind::Single;
  } else if (code != '(' && code != '{') {
    return fail(WriteError::WrongType);
  }
  Frame* frame = push(code, kind, known);
  if (frame == nullptr) return false;
  if constexpr (kIsDBus) {
    if (code == 'a') {
      if (!align(4, 4)) return false;
      frame->ends = at_;  // where its length goes
      at_ += 4;
      if (!align(format_details::dbus_alignment(*frame->next), 0)) return false;
    } else if (!align(8, 0)) {
      return false;
    }
  } else if (!align(alignment_of(frame->bits), 0)) {
    return false;
  }
  frame->start = at_;
  return true;
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::open_variant(Type type) noexcept {
  if (!is_next('v')) return false;
  // a type has at most as many levels as characters
  const std::size_t levels_above = depth_ + 1;
  if (levels_above + type.size() > kDeepest && levels_above + type.depth() > kDeepest) return fail(WriteError::TooDeep);
  if (kIsDBus && type.size() > 1 && !is_dbus_signature(type.text())) return fail(WriteError::NotInDBus);
  if (kIsDBus && type.code() == 'm') return fail(WriteError::NotInDBus);
  if (depth_ == kMostOpen) return fail(WriteError::TooDeep);
  const Frame& parent = frames_[depth_];
  Frame& frame = frames_[++depth_];
  frame.next = single(type.data(), type.size());
  frame.after = parent.next + (parent.kind == Kind::Array ? 0 : 1);
  frame.type = type.data();
  frame.type_size = static_cast<std::uint32_t>(type.size());
  frame.ends = ends_size_;
  frame.count = 0;
  frame.code = 'v';
  frame.kind = Kind::Single;
  if constexpr (kIsDBus) {
    if (!reserve(at_ + type.size() + 2)) return false;
    data_[at_++] = static_cast<char>(type.size());
    std::memcpy(data_ + at_, type.data(), type.size());
    at_ += type.size();
    data_[at_++] = 0;
  } else if (!align(8, 0)) {
    return false;
  }
  frame.start = at_;
  return true;
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::close_empty_maybe() noexcept {
  Frame& parent = frames_[depth_ - 1];
  parent.next = frames_[depth_--].after;
  return finish_child(parent);
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::write_offsets(const Frame& frame) noexcept {
  const std::size_t count = ends_size_ - frame.ends;
  const std::size_t* ends = ends_ + frame.ends;
  const std::size_t width = offset_width_for(at_ - frame.start, count);
  if (!reserve(at_ + count * width)) return false;
  char* to = data_ + at_;
  if (frame.code == 'a') {
    if (width == 1) {
      for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<char>(ends[i] - frame.start);
    } else {
      for (std::size_t i = 0; i < count; ++i) store_offset(to + i * width, ends[i] - frame.start, width);
    }
  } else {
    for (std::size_t i = count; i > 0; to += width) store_offset(to, ends[--i] - frame.start, width);
  }
  at_ += count * width;
  ends_size_ = frame.ends;
  return true;
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::close_gvariant(const Frame& frame) noexcept {
  const bool is_variable = (frame.bits & kVariable) != 0;
  switch (frame.code) {
    case 'a':
      return !is_variable || write_offsets(frame);
    case 'v':
      if (!reserve(at_ + 1 + frame.type_size)) return false;
      data_[at_++] = 0;
      std::memcpy(data_ + at_, frame.type, frame.type_size);
      at_ += frame.type_size;
      return true;
    case 'm':
      if (!is_variable) return true;  // its content isn't
      if (!reserve(at_ + 1)) return false;
      data_[at_++] = 0;
      return true;
    default:
      if (is_variable) return write_offsets(frame);
      if (frame.count == 0) {
        if (!reserve(at_ + 1)) return false;
        data_[at_++] = 0;
        return true;
      }
      return align(alignment_of(frame.bits), 0);
  }
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::close_dbus(const Frame& frame) noexcept {
  if (frame.code != 'a') return true;
  if (at_ - frame.start > kLargestDBusArray) return fail(WriteError::TooLarge);
  format_details::store(data_ + frame.ends, static_cast<std::uint32_t>(at_ - frame.start), is_swapped_);
  return true;
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::close() noexcept {
  if (depth_ == 0) return fail(WriteError::WrongType);
  const Frame& frame = frames_[depth_];
  if (frame.kind != Kind::Array) {
    const char next = *frame.next;
    if (frame.kind == Kind::Single ? next != 0 : next != ')' && next != '}') return fail(WriteError::Incomplete);
  }
  if (error_ != WriteError::None) return false;
  if (!(kIsDBus ? close_dbus(frame) : close_gvariant(frame))) return false;
  Frame& parent = frames_[--depth_];
  parent.next = frame.after;
  if ((frame.code != '(' && frame.code != '{') || (frame.bits & kVariable) != 0) return finish_child(parent);
  ++parent.count;
  return true;
}

template <bool kIsDBus>
Written BasicBuilder<kIsDBus>::end() noexcept {
  if (error_ == WriteError::None && depth_ != 0) fail(WriteError::Incomplete);
  if (error_ == WriteError::None && *frames_[0].next != 0 && *frames_[0].next != ')') fail(WriteError::Incomplete);
  if (kIsDBus && at_ > kLargestDBusMessage) fail(WriteError::TooLarge);
  if (error_ != WriteError::None) return error_;
  out_.set_size(at_);
  return Written(data_ + begin_, at_ - begin_);
}

// ---- values from views

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::add_fixed_array(const void* elements, std::size_t count) noexcept {
  if (!is_next('a')) return false;
  const char* element = frames_[depth_].next + 1;
  const unsigned bits = code_bits(*element);
  const std::size_t size = bits & type_details::kAlignments;
  // numbers look the same in both encodings, bools don't
  if (size != 0 && (bits & kVariable) == 0 && (!kIsDBus || *element != 'b') && !is_swapped_) {
    if (!open() || !reserve(at_ + count * size)) return false;
    if (count != 0) std::memcpy(data_ + at_, elements, count * size);
    at_ += count * size;
    frames_[depth_].count = count;
    return close();
  }
  const Type type = Type::trusted(wanted());
  const std::size_t element_size = type.element().layout().fixed_size;
  if (element_size == 0) return fail(WriteError::WrongType);
  return add_view(View(type, {static_cast<const char*>(elements), count * element_size}).trusting_normal_form());
}

template <bool kIsDBus>
bool BasicBuilder<kIsDBus>::add_room(std::size_t bytes, char*& to) noexcept {
  Frame& frame = frames_[depth_];
  const char code = *frame.next;
  if (code == 0 || code == ')' || code == '}') return fail(WriteError::WrongType);
  const Shape shape = shape_at(frame.next);
  const std::size_t alignment = kIsDBus ? format_details::dbus_alignment(code) : shape.alignment();
  if (!align(alignment, bytes)) return false;
  to = data_ + at_;
  at_ += bytes;
  if (frame.kind == Kind::Single) frame.next = "";
  if (frame.kind == Kind::Sequence) frame.next = shape.end;
  if (kIsDBus || shape.is_variable()) return finish_child(frame);
  ++frame.count;
  return true;
}

template <bool kIsDBus>
void BasicBuilder<kIsDBus>::rewind(const Mark& mark) noexcept {
  depth_ = mark.depth_;
  at_ = mark.at_;
  ends_size_ = mark.ends_;
  frames_[depth_].next = mark.next_;
  frames_[depth_].count = mark.count_;
  error_ = WriteError::None;
}

template class BasicBuilder<false>;
template class BasicBuilder<true>;

}  // namespace tare::inline TARE_ABI::variant
