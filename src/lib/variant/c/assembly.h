// A value that is put together in the order of GLib's builder calls: containers open and close, a variant's type is
// known when it gets its value, a maybe is Nothing when it gets none. Written by variant::Builder as the calls come.
#pragma once

#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

#include "lib/variant/c/type_texts.h"
#include "tare/variant/builder.h"

namespace tare::inline TARE_ABI::variant::c {

// The type of any value in a variant.
inline constexpr std::string_view kAnyType = "*";

enum class Text : std::uint8_t {
  Copied,
  Kept
};  // a type's text is kept until the value is complete by the assembly or by the caller

class Assembly {
 public:
  Assembly() noexcept = default;
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;
  ~Assembly() { abandon(); }

  // A value of `type`, a definite container. An unfinished value is dropped.
  bool begin(std::string_view type, Text text) noexcept;

  // The type that may come next: a definite type, kAnyType in a variant, or nothing if the value is complete.
  std::string_view wanted() const noexcept {
    const Level& level = levels_[depth_];
    if (level.code != 'v' && level.code != 'm') return builder().wanted();
    if (level.is_open) return {};
    return level.code == 'v' ? kAnyType : builder().wanted().substr(1);
  }
  bool accepts(std::string_view type) const noexcept {
    const std::string_view next = wanted();
    return next == type || (next == kAnyType && !type.empty());
  }

  // Opens the definite container `type` as the next child. Its text isn't needed afterwards.
  bool open(std::string_view type) noexcept;
  // True if the innermost container is complete.
  bool can_close() const noexcept {
    const Level& level = levels_[depth_];
    return level.code == 'a' || level.code == 'm' || wanted().empty();
  }
  // Closes the innermost container; not the outermost one, see end().
  bool close() noexcept { return depth_ > 0 && can_close() && close_level(); }
  // Drops the innermost container, unless it is the outermost one.
  bool drop() noexcept;
  std::size_t open_containers() const noexcept { return depth_; }
  std::size_t children_so_far() const noexcept {
    const Level& level = levels_[depth_];
    return level.code != 'v' && level.code != 'm' ? builder().children_so_far() : std::size_t{level.is_open};
  }

  // Adds a value of the definite `type` by write(Builder&), or leaves all as it was and returns false.
  template <typename Write>
  bool add(std::string_view type, Write&& write) noexcept {
    if (!accepts(type)) return fail(WriteError::WrongType);
    return add_accepted(type, std::forward<Write>(write));
  }
  // The same where it is known that the type is accepted.
  template <typename Write>
  bool add_accepted(std::string_view type, Write&& write) noexcept {
    const Builder::Mark mark = builder().mark();
    const TypeTexts::Place texts = texts_.place();
    const bool was_open = levels_[depth_].is_open;
    if (enter(type) && write(builder())) return true;
    last_error_ = builder().error() == WriteError::None ? WriteError::WrongType : builder().error();
    builder().rewind(mark);
    texts_.back_to(texts);
    levels_[depth_].is_open = was_open;
    return false;
  }

  // True if a value of the type with this one code may come next, and isn't in a variant or a maybe.
  bool wants(char code) const noexcept {
    const Level& level = levels_[depth_];
    return level.code != 'v' && level.code != 'm' && builder().wants(code);
  }
  // Adds such a value, or leaves all as it was and returns false.
  template <typename Write>
  bool add_wanted(Write&& write) noexcept {
    const Builder::Mark mark = builder().mark();
    if (write(builder())) return true;
    builder().rewind(mark);
    return false;
  }

  // The bytes, if only the outermost container is open and complete. Valid until the next begin().
  Written end() noexcept;
  std::string_view type() const noexcept { return type_; }
  // Why something was refused last.
  WriteError last_error() const noexcept { return last_error_; }
  bool fail(WriteError reason) noexcept {
    last_error_ = reason;
    return false;
  }
  void abandon() noexcept;

  Output& output() noexcept { return out_; }

 private:
  struct Level {
    char code;     // v and m are opened when they get their child
    bool is_open;  // of v and m: they have it
    TypeTexts::Place texts;
    // the state restored by drop()
    Builder::Mark before;
    bool was_open;  // of the enclosing v or m, if there is one
  };
  Builder& builder() noexcept { return *std::launder(reinterpret_cast<Builder*>(memory_)); }
  const Builder& builder() const noexcept { return *std::launder(reinterpret_cast<const Builder*>(memory_)); }
  bool enter(std::string_view type) noexcept;
  bool close_level() noexcept;

  Output out_;
  TypeTexts texts_;
  std::string_view type_;
  std::size_t depth_ = 0;  // levels_[0] is the whole value
  WriteError last_error_ = WriteError::None;
  bool is_begun_ = false;
  alignas(Builder) char memory_[sizeof(Builder)];
  Level levels_[kDeepest + 1];
};

}  // namespace tare::inline TARE_ABI::variant::c
