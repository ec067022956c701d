// Containers of a value that is put together in the order of GLib's builder calls.
#include "lib/variant/c/assembly.h"

namespace tare::inline TARE_ABI::variant::c {

void Assembly::abandon() noexcept {
  if (!is_begun_) return;
  is_begun_ = false;
  builder().~Builder();
  texts_.back_to({});
}

bool Assembly::begin(std::string_view type, Text text) noexcept {
  abandon();
  depth_ = 0;
  last_error_ = WriteError::None;
  type_ = type;
  if (text == Text::Copied) {
    const char* copy = texts_.keep(type);
    if (copy == nullptr) return fail(WriteError::OutOfMemory);
    type_ = {copy, type.size()};
  }
  new (memory_) Builder(out_, Type::trusted(type_));
  is_begun_ = true;
  levels_[0] = {type_[0], false, texts_.place(), {}, false};
  return type_[0] == 'v' || type_[0] == 'm' || builder().open();
}

// Opens the variant or maybe that the next child goes into, if it does.
bool Assembly::enter(std::string_view type) noexcept {
  Level& level = levels_[depth_];
  if (level.code != 'v' && level.code != 'm') return true;
  level.is_open = true;
  if (level.code == 'm') return builder().open_maybe();
  const char* kept = texts_.keep(type);
  if (kept == nullptr) return builder().fail(WriteError::OutOfMemory);
  return builder().open_variant(Type::trusted({kept, type.size()}));
}

bool Assembly::open(std::string_view type) noexcept {
  const TypeTexts::Place texts = texts_.place();
  const bool is_opened_later = type[0] == 'v' || type[0] == 'm';
  if (depth_ == kDeepest) return fail(WriteError::TooDeep);
  const Builder::Mark before = builder().mark();
  const bool was_open = levels_[depth_].is_open;
  if (!add(type, [&](Builder& to) { return is_opened_later || to.open(); })) return false;
  levels_[++depth_] = {type[0], false, texts, before, was_open};
  return true;
}

bool Assembly::drop() noexcept {
  if (depth_ == 0) return false;
  const Level& level = levels_[depth_--];
  builder().rewind(level.before);
  texts_.back_to(level.texts);
  levels_[depth_].is_open = level.was_open;
  return true;
}

bool Assembly::close_level() noexcept {
  const Level& level = levels_[depth_];
  const bool is_empty_maybe = level.code == 'm' && !level.is_open;
  if (!(is_empty_maybe ? builder().add_nothing() : builder().close())) return fail(builder().error());
  texts_.back_to(level.texts);
  if (depth_ > 0) --depth_;
  return true;
}

Written Assembly::end() noexcept {
  if (depth_ != 0 || !can_close()) return last_error_ = WriteError::Incomplete;
  if (!close_level()) return last_error_;
  const Written written = builder().end();
  last_error_ = written.error();
  return written;
}

}  // namespace tare::inline TARE_ABI::variant::c
