// tare/variant/builder.h: writes a value whose type is known at run time only, piece by piece, straight into its bytes.
//
//   tare::variant::Builder builder(out, tare::variant::Type("a{sv}"));
//   builder.open_entry();
//   builder.add_text("answer");
//   builder.open_variant(tare::variant::Type("u"));
//   builder.add_uint32(42);
//   builder.close();                                   // the variant
//   builder.close();                                   // the entry
//   tare::variant::Written written = builder.end();    // the bytes, or the first error
//
//   tare::variant::DBusBuilder body(out, type);        // the same in D-Bus's encoding
//
// Each piece is checked against the place in the type where it goes. The first error is kept; after it nothing is
// written, and end() returns it: single results needn't be checked.
//
// Types aren't copied: the texts of the type and of those given to open_variant() must live until end(). No tree, no
// allocation a piece, no lock: pieces go to the end of the bytes. A stack in the Builder has the open containers, and a
// second one the ends of their children, because offsets can be written only when a container is complete. Both stacks
// lie in the Builder (10 KiB) until a container has more than 128 children of varying size.
//
// One thread at a time. Nothing throws.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "tare/internal/export.h"
#include "tare/variant/format.h"
#include "tare/variant/output.h"
#include "tare/variant/text_rules.h"
#include "tare/variant/type.h"
#include "tare/variant/view.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

template <bool kIsDBus>
class BasicBuilder {
 public:
  // A value of `type`, written to `out` from its beginning; with `numbers` for the order of its numbers' bytes.
  BasicBuilder(Output& out, Type type, std::endian numbers = std::endian::native) noexcept;
  // Behind the contents of `out`, as the body of a D-Bus message behind its header: the members of the tuple `type`,
  // one after the other. Alignment counts from the beginning of `out`, which is padded to a multiple of 8.
  enum class Body : std::uint8_t { Behind };
  BasicBuilder(Output& out, Body behind, Type type, std::endian numbers = std::endian::native) noexcept
    requires(kIsDBus);
  BasicBuilder(const BasicBuilder&) = delete;
  BasicBuilder& operator=(const BasicBuilder&) = delete;
  ~BasicBuilder() {
    if (ends_ != own_ends_) std::free(ends_);
  }

  // ---- basic values: false if the type requires something else here, or after an error

  bool add_bool(bool value) noexcept {
    if constexpr (kIsDBus) return add_number('b', std::uint32_t{value});
    return add_number('b', std::uint8_t{value});
  }
  bool add_byte(std::uint8_t value) noexcept { return add_number('y', value); }
  bool add_int16(std::int16_t value) noexcept { return add_number('n', value); }
  bool add_uint16(std::uint16_t value) noexcept { return add_number('q', value); }
  bool add_int32(std::int32_t value) noexcept { return add_number('i', value); }
  bool add_uint32(std::uint32_t value) noexcept { return add_number('u', value); }
  bool add_int64(std::int64_t value) noexcept { return add_number('x', value); }
  bool add_uint64(std::uint64_t value) noexcept { return add_number('t', value); }
  bool add_double(double value) noexcept { return add_number('d', value); }
  bool add_handle(Handle value) noexcept { return add_number('h', value.index); }

  // A text where the type has s, o or g: it is checked for that type, and copied, in one walk.
  bool add_text(std::string_view text) noexcept;

  // ---- containers

  // An array, a tuple or an entry, whichever the type has here; close() ends it. A tuple must be complete then.
  bool open() noexcept { return open(nullptr); }
  // The same with an already walked type: `shape` is that of the tuple or entry, or of an array's or maybe's element.
  bool open(const type_details::Shape& shape) noexcept { return open(&shape); }
  bool open_array() noexcept { return is_next('a') && open(); }
  bool open_tuple() noexcept { return is_next('(') && open(); }
  bool open_entry() noexcept { return is_next('{') && open(); }
  // A maybe with a value, which is added next, then close(); or one without, complete.
  bool open_maybe() noexcept { return is_next('m') && open(); }
  bool add_nothing() noexcept { return open_maybe() && close_empty_maybe(); }
  bool add_nothing(const type_details::Shape& shape) noexcept {
    return is_next('m') && open(&shape) && close_empty_maybe();
  }
  // A variant that will hold one `type`: add it, then close().
  bool open_variant(Type type) noexcept;
  bool close() noexcept;

  // ---- more at once

  // An array of `count` fixed-size elements whose bytes lie at `elements`, as g_variant_new_fixed_array: `type` is the
  // whole array's. Bools must be 0 or 1, padding 0. Byte by byte only where byte orders differ.
  bool add_fixed_array(const void* elements, std::size_t count) noexcept;
  // A value from elsewhere, in any form: it is brought into normal form and this encoding. Its type must be the one
  // required here, or in a variant, see add_variant.
  bool add_view(const View& value) noexcept;
  // A variant that holds `value`.
  bool add_variant(const View& value) noexcept { return open_variant(value.type()) && add_view(value) && close(); }

  // Room for the bytes of a value of the required type. The caller writes them there, in this encoding and in normal
  // form, before anything else is added; `to` is set to the place. Its depth isn't checked.
  bool add_room(std::size_t bytes, char*& to) noexcept;

  // Announces a number of bytes: one allocation instead of some.
  bool expect(std::size_t bytes) noexcept { return reserve(at_ + bytes); }

  // ---- where it stands

  // The next required type: empty if the innermost open container is complete, or an array's element type.
  std::string_view wanted() const noexcept {
    const char* next = frames_[depth_].next;
    if (type_details::is_leaf(*next)) [[likely]]
      return {next, 1};
    if (*next == 0 || *next == ')' || *next == '}') return {};
    return {next, static_cast<std::size_t>(type_details::skip(next) - next)};
  }
  // True if the next required type begins with `code`.
  bool wants(char code) const noexcept { return *frames_[depth_].next == code; }
  std::size_t open_containers() const noexcept { return depth_; }
  std::size_t children_so_far() const noexcept { return frames_[depth_].count; }
  WriteError error() const noexcept { return error_; }

  // A place to return to, as long as the container that is innermost now stays open: later pieces, and a later error,
  // are dropped.
  class Mark {
    friend class BasicBuilder;
    const char* next_;
    std::size_t at_, depth_, ends_, count_;
  };
  Mark mark() const noexcept {
    Mark mark;
    mark.next_ = frames_[depth_].next;
    mark.at_ = at_;
    mark.depth_ = depth_;
    mark.ends_ = ends_size_;
    mark.count_ = frames_[depth_].count;
    return mark;
  }
  void rewind(const Mark& mark) noexcept;

  // The whole value, when all containers are closed. The Output has it as well.
  Written end() noexcept;

  // Makes this Builder fail with `reason`, for callers that find an error. Returns false.
  bool fail(WriteError reason) noexcept;

 private:
  // How the next child's type is found when one is complete.
  enum class Kind : std::uint8_t {
    Single,    // there was only one
    Sequence,  // it follows in the type
    Array      // it is the same again
  };
  struct Frame {
    std::size_t start;  // where the container begins; of a D-Bus array, where its elements begin
    const char* next;   // type of the next child; at ) or } or a zero if there's none
    const char* after;  // the later `next` of the parent
    const char* type;   // of the container; of a variant, of its content
    std::size_t ends;   // how many ends lay on their stack before
    std::size_t count;  // children
    std::uint32_t type_size;
    std::uint8_t bits;  // of the container's type: its alignment, and if it varies in size; of an array, its elements'
    char code;
    Kind kind;
  };

  bool is_next(char code) noexcept {
    if (*frames_[depth_].next == code) [[likely]]
      return true;
    return fail(WriteError::WrongType);
  }
  // Room for bytes up to `end`.
  bool reserve(std::size_t end) noexcept { return end <= capacity_ || grow(end); }
  bool grow(std::size_t end) noexcept;
  bool grow_ends() noexcept;
  // Zeros up to the next multiple of `alignment`, and room for `more` behind.
  bool align(std::size_t alignment, std::size_t more) noexcept {
    if (!reserve(format_details::aligned(at_, alignment) + more)) [[unlikely]]
      return false;
    at_ = format_details::pad(data_, at_, alignment, capacity_);
    return true;
  }

  template <typename Number>
  bool add_number(char code, Number number) noexcept {
    Frame& frame = frames_[depth_];
    if (*frame.next != code) [[unlikely]]
      return fail(WriteError::WrongType);
    const std::size_t to = format_details::aligned(at_, sizeof(Number));
    if (!reserve(to + sizeof(Number))) [[unlikely]]
      return false;
    if constexpr (sizeof(Number) > 1) std::memset(data_ + at_, 0, sizeof(Number));  // padding, and overwritten bytes
    format_details::store(data_ + to, number, is_swapped_);
    at_ = to + sizeof(Number);
    ++frame.count;
    frame.next += frame.kind == Kind::Array ? 0 : 1;
    return true;
  }

  bool open(const type_details::Shape* known) noexcept;
  bool close_empty_maybe() noexcept;
  Frame* push(char code, Kind kind, const type_details::Shape* known) noexcept;
  // A child that varies in size is complete.
  bool finish_child(Frame& parent) noexcept {
    ++parent.count;
    if constexpr (kIsDBus) return true;
    if (parent.kind == Kind::Single) return true;
    if (parent.kind == Kind::Sequence && (*parent.next == ')' || *parent.next == '}')) return true;
    if (ends_size_ == ends_capacity_ && !grow_ends()) [[unlikely]]
      return false;
    ends_[ends_size_++] = at_;
    return true;
  }
  bool write_offsets(const Frame& frame) noexcept;
  bool close_dbus(const Frame& frame) noexcept;
  bool close_gvariant(const Frame& frame) noexcept;
  bool copy(const View& value) noexcept;
  bool copy_children(const View& value) noexcept;

  static constexpr std::size_t kOwnEnds = 128;
  static constexpr std::size_t kMostOpen = kIsDBus ? kDeepestDBusValue : kDeepest;

  char* data_;
  std::size_t at_;
  std::size_t capacity_;
  // Frames_[depth_] is the innermost open container; the first stands for the container of the value.
  std::size_t depth_ = 0;
  std::size_t begin_;
  Output& out_;
  std::size_t* ends_ = own_ends_;
  std::size_t ends_size_ = 0;
  std::size_t ends_capacity_ = kOwnEnds;
  WriteError error_ = WriteError::None;
  bool is_swapped_;
  Frame frames_[kMostOpen + 1];
  std::size_t own_ends_[kOwnEnds];
};

using Builder = BasicBuilder<false>;
using DBusBuilder = BasicBuilder<true>;

extern template class TARE_API BasicBuilder<false>;
extern template class TARE_API BasicBuilder<true>;

}  // namespace tare::inline TARE_ABI::variant
