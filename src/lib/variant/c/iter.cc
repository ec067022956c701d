// The iterators of tare/variant/c.h.
#include <new>

#include "lib/variant/c/format_reader.h"

using tare::variant::View;
using tare::variant::c::Arguments;
using tare::variant::c::part_of;
using tare::variant::c::view_of;

namespace {

struct Children {
  View::Iterator next;
  tare_variant* whole;
  std::size_t count;
  const char* loop_format;  // of tare_variant_iter_loop(); null before its first call
};
static_assert(sizeof(Children) <= sizeof(tare_variant_iter) && alignof(Children) <= alignof(tare_variant_iter));

Children& children_of(tare_variant_iter* iter) { return *std::launder(reinterpret_cast<Children*>(iter)); }

}  // namespace

extern "C" {

size_t tare_variant_iter_init(tare_variant_iter* iter, tare_variant* value) {
  const View view = view_of(*value);
  new (iter) Children{view.begin(), value, view.child_count(), nullptr};
  return children_of(iter).count;
}

tare_variant_iter* tare_variant_iter_new(tare_variant* value) {
  auto* iter = new (std::nothrow) tare_variant_iter;
  if (iter == nullptr) return nullptr;
  tare_variant_iter_init(iter, value);
  tare_variant_ref_sink(value);
  return iter;
}

tare_variant_iter* tare_variant_iter_copy(const tare_variant_iter* iter) {
  const Children& children = children_of(const_cast<tare_variant_iter*>(iter));
  auto* copy = new (std::nothrow) tare_variant_iter;
  if (copy == nullptr) return nullptr;
  new (copy) Children{children.next, tare_variant_ref_sink(children.whole), children.count, nullptr};
  return copy;
}

void tare_variant_iter_free(tare_variant_iter* iter) {
  if (iter == nullptr) return;
  tare_variant_unref(children_of(iter).whole);
  delete iter;
}

size_t tare_variant_iter_n_children(const tare_variant_iter* iter) {
  return children_of(const_cast<tare_variant_iter*>(iter)).count;
}

tare_variant* tare_variant_iter_next_value(tare_variant_iter* iter) {
  Children& children = children_of(iter);
  if (children.next == std::default_sentinel) return nullptr;
  tare_variant* child = part_of(*children.whole, *children.next);
  ++children.next;
  return child;
}

bool tare_variant_iter_next(tare_variant_iter* iter, const char* format, ...) {
  Children& children = children_of(iter);
  if (children.next == std::default_sentinel) return false;
  Arguments arguments;
  va_start(arguments.list, format);
  const bool is_read = tare::variant::c::read_by_format(*children.whole, *children.next, format, arguments);
  va_end(arguments.list);
  ++children.next;
  return is_read;
}

bool tare_variant_iter_loop(tare_variant_iter* iter, const char* format, ...) {
  Children& children = children_of(iter);
  const bool is_first = children.loop_format == nullptr;
  if (!is_first && children.loop_format != format) return false;
  View child;
  const View* part = nullptr;
  if (children.next != std::default_sentinel) {
    child = *children.next;
    part = &child;
  }
  if (!tare::variant::c::fits(part, format)) {
    if (is_first) return false;
    part = nullptr;
  }
  children.loop_format = format;
  const auto before = is_first ? tare::variant::c::Before::Anything : tare::variant::c::Before::Read;
  Arguments arguments;
  va_start(arguments.list, format);
  tare::variant::c::read_over(*children.whole, part, format, before, arguments);
  va_end(arguments.list);
  if (part != nullptr) ++children.next;
  return part != nullptr;
}

}  // extern "C"
