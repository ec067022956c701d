// After marking: checks that all targets of marked objects and roots are marked, and nothing else is.
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "lib/gc/heap/types.h"
#include "lib/gc/marking/marker.h"
#include "lib/gc/threads/stop.h"

namespace tare::inline TARE_ABI::gc {

void Marker::verify() noexcept {
  is_verifying_ = true;
  heap_.for_each_object([&](std::uintptr_t object, std::size_t) {
    if (space_.is_marked(object)) verify_object(object);
  });
  verified_ = 0;
  verify_roots();
  verify_marks();
  is_verifying_ = false;
}

void Marker::verify_object(std::uintptr_t object) noexcept {
  const CellHeader header = header_of(reinterpret_cast<const void*>(object));
  const auto trace_it = types_by_index[header.type()].trace;
  if (header.is_in_construction() || trace_it == nullptr) return;
  verified_ = object;
  trace_it(visitor_, reinterpret_cast<const void*>(object));
  for (const std::uint32_t* edge = list_.begin(); edge != visitor_.top_; ++edge) {
    const std::uintptr_t target = space_.object_at(*edge);
    if (heap_.object_at(target) == 0 || !space_.is_marked(heap_.object_at(target))) tell_unmarked(object, target);
  }
  visitor_.top_ = list_.begin();
}

void Marker::verify_target(const void* target) noexcept {
  if (target == nullptr) return;
  const std::uintptr_t object = heap_.object_around(reinterpret_cast<std::uintptr_t>(target));
  if (object == 0 || !space_.is_marked(object)) tell_unmarked(verified_, reinterpret_cast<std::uintptr_t>(target));
}

void Marker::verify_roots() noexcept {
  const auto each = [&](const void* root) { verify_target(root); };
  heap_.for_each_strong_root(each);
  heap_.roots(RootKind::Weak).for_each(each);
}

// Marks without an object would be lost cells.
void Marker::verify_marks() noexcept {
  heap_.for_each_page([&](const Page& page) {
    std::size_t marks = 0;
    const std::uint64_t* words = space_.marks() + space_.unit_of(page) * Space::kWordsOfUnit;
    for (std::size_t i = 0; i < HeapImpl::words_of(page); ++i) {
      marks += static_cast<std::size_t>(std::popcount(words[i]));
    }
    for (std::uint32_t cell = 0; cell < page.cells; ++cell) marks -= space_.is_marked(heap_.object_of(page, cell));
    if (marks != 0) stop("verifier: something is marked that is no object: was trace_again() told of a part of one?");
  });
}

void Marker::tell_unmarked(std::uintptr_t from, std::uintptr_t to) noexcept {
  const auto name = [](std::uintptr_t object) {
    return object == 0 ? std::string_view("no object of this heap")
                       : types_by_index[header_of(reinterpret_cast<const void*>(object)).type()].name;
  };
  const std::string_view from_name = from == 0 ? "a Persistent" : name(from);
  const std::string_view to_name = name(heap_.object_at(to));
  std::fprintf(stderr, "tare::gc: verifier: %.*s at %p points to %.*s at %p, which isn't marked\n",
               static_cast<int>(from_name.size()), from_name.data(), reinterpret_cast<void*>(from),
               static_cast<int>(to_name.size()), to_name.data(), reinterpret_cast<void*>(to));
  std::abort();
}

}  // namespace tare::inline TARE_ABI::gc
