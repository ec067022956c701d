// tare/gc/make.h: make<T>(heap, ...), the only way to make collected objects.
//
//   Node* node = tare::gc::make<Node>(heap, parent, name);                            // null: no memory
//   Text* text = tare::gc::make<Text>(heap, tare::gc::AdditionalBytes(length));  // `length` zeros behind it
//
// Inline, an object is a comparison, an addition and two stores of its header. The object is reachable for the
// collector from the moment its constructor begins: from the stack, and its fields are then scanned conservatively. If
// the constructor throws, the cell is free again.
//
// Thread-safety: the heap's thread. In destructors that the collector calls, in prefinalizers and weak call-backs
// make() returns null.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "tare/gc/heap.h"
#include "tare/gc/object.h"
#include "tare/internal/gc/cell.h"
#include "tare/internal/gc/heap_core.h"
#include "tare/internal/gc/type_info.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

// Additional bytes of the object behind it, zeroed: for arrays whose length is known at the start.
class AdditionalBytes {
 public:
  constexpr explicit AdditionalBytes(std::size_t bytes) noexcept : bytes_(bytes) {}
  constexpr std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_;
};

namespace make_details {

template <class... Arguments>
inline constexpr bool kBeginWithBytes = false;
template <class First, class... Rest>
inline constexpr bool kBeginWithBytes<First, Rest...> = std::is_same_v<std::remove_cvref_t<First>, AdditionalBytes>;

// Ends an object's construction; by an exception unless finished.
class Construction {
 public:
  Construction(void* object, std::uint32_t type) noexcept : header_(header_of(object)) {
    header_.bits = type | CellHeader::kInConstruction;
  }
  ~Construction() {
    if (header_.is_in_construction()) header_.publish(0);
  }
  Construction(const Construction&) = delete;
  Construction& operator=(const Construction&) = delete;

  void succeed(std::uint32_t type) noexcept { header_.publish(type); }

 private:
  CellHeader& header_;
};

template <class T, class... Arguments>
T* construct(HeapCore& core, void* memory, Arguments&&... arguments) {
  const std::uint32_t type = TypeOf<T>::index();
  Construction construction(memory, type);
  T* object = ::new (memory) T(std::forward<Arguments>(arguments)...);
  construction.succeed(type);
  // GarbageCollected must be T's first base: pointers to objects are taken for their beginning.
  if (static_cast<void*>(static_cast<typename T::GcRoot*>(object)) != memory) __builtin_trap();
  if constexpr (HasPrefinalizer<T>) {
    core.add_prefinalizer(object, [](void* dead) { static_cast<T*>(dead)->prefinalize(); });
  }
  if constexpr (HasAfterMake<T>) object->after_make();
  return object;
}

template <class T>
inline constexpr Finalization kFinalization = TypeOf<T>::kHasFinalizer ? Finalization::Destructor
                                              : MovedByContainer<T>    ? Finalization::Movable
                                                                       : Finalization::None;

}  // namespace make_details

template <class T, class... Arguments>
  requires(!make_details::kBeginWithBytes<Arguments...>)
[[nodiscard]] T* make(HeapOf<typename T::GcGroup>& heap, Arguments&&... arguments) {
  static_assert(Collected<T>, "derive from GarbageCollected<T>");
  static_assert(alignof(T) <= 16, "objects are aligned to 16 bytes at most");
  constexpr std::size_t kBytes = cell::bytes_for(sizeof(T), alignof(T));
  constexpr Finalization kHow = make_details::kFinalization<T>;
  HeapCore& core = heap.core();
  void* memory = nullptr;
  if constexpr (kBytes <= cell::kMost) {
    memory = core.allocate(cell::class_of(kBytes), kHow);
  } else {
    memory = core.allocate_large(kBytes, kHow);
  }
  if (memory == nullptr) [[unlikely]]
    return nullptr;
  return make_details::construct<T>(core, memory, std::forward<Arguments>(arguments)...);
}

template <class T, class... Arguments>
[[nodiscard]] T* make(HeapOf<typename T::GcGroup>& heap, AdditionalBytes additional, Arguments&&... arguments) {
  static_assert(Collected<T>, "derive from GarbageCollected<T>");
  static_assert(alignof(T) <= 16, "objects are aligned to 16 bytes at most");
  constexpr Finalization kHow = make_details::kFinalization<T>;
  if (additional.bytes() > std::size_t{1} << 40) return nullptr;  // more than any cage; and the sum can't overflow
  const std::size_t bytes = cell::bytes_for(sizeof(T) + additional.bytes(), alignof(T));
  HeapCore& core = heap.core();
  void* memory = bytes <= cell::kMost ? core.allocate(cell::class_of(bytes), kHow) : core.allocate_large(bytes, kHow);
  if (memory == nullptr) [[unlikely]]
    return nullptr;
  std::memset(static_cast<std::byte*>(memory) + sizeof(T), 0, additional.bytes());
  return make_details::construct<T>(core, memory, std::forward<Arguments>(arguments)...);
}

}  // namespace tare::inline TARE_ABI::gc
