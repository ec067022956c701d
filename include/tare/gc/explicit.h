// tare/gc/explicit.h: memory freed without waiting for a collection, by code that has the only pointer.
//
// For the storage behind growing containers, and for large parts that a program doesn't need any more. A wrong guess is
// a pointer to freed memory, as with free(): debug and address sanitizer builds find it, others don't.
//
// Thread-safety: the heap's thread. In destructors, prefinalizers and weak call-backs free_unreferenced() does nothing,
// nor while the heap is being marked: the marker may already have a reference to the object, which is found dead later.
//
// Source: Oilpan's FreeUnreferencedObject and Resize.
#pragma once

#include <cstddef>

#include "tare/gc/heap.h"
#include "tare/gc/object.h"
#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

namespace explicit_details {
TARE_API void free_object(HeapCore& core, void* object) noexcept;
TARE_API std::size_t room_behind(HeapCore& core, const void* object, std::size_t object_bytes) noexcept;
}  // namespace explicit_details

// Destroys the object and frees its cell for the next of its size; a large object's pages go back to the cage. Null is
// ignored. No Member, Persistent or raw pointer to it may be used again; weak ones must have been cleared.
template <Collected T>
void free_unreferenced(HeapOf<typename T::GcGroup>& heap, T* object) noexcept {
  if (object != nullptr) explicit_details::free_object(heap.core(), object);
}

// How many bytes the object's cell has behind its own sizeof(T): its AdditionalBytes may be as many, growing and
// shrinking in place.
template <Collected T>
std::size_t room_behind(HeapOf<typename T::GcGroup>& heap, const T* object) noexcept {
  return explicit_details::room_behind(heap.core(), object, sizeof(T));
}

}  // namespace tare::inline TARE_ABI::gc
