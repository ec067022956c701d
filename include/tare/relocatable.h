// tare/relocatable.h: which types may be moved by copying their bytes and forgetting the original.
//
//   struct Edge { tare::RefPtr<Node> from, to; };
//   template <>
//   inline constexpr bool tare::is_trivially_relocatable<Edge> = true;
//
// True by default for trivially copyable types, for the library's handles (Atom, Bytes, Buffer, RefPtr) and for
// std::unique_ptr and std::shared_ptr. Specialize it for your own types that hold no pointers into themselves and
// aren't known by address, which are most; not for libstdc++'s std::string, which points to its own characters. A
// Buffer of such elements grows by realloc (tare/buffer.h).
//
// A constant: any thread, no errors.
#pragma once

#include <memory>
#include <type_traits>

#include "tare/version.h"

namespace tare::inline TARE_ABI {

template <typename T>
inline constexpr bool is_trivially_relocatable = std::is_trivially_copyable_v<T>;
template <typename T>
inline constexpr bool is_trivially_relocatable<std::unique_ptr<T>> = true;
template <typename T>
inline constexpr bool is_trivially_relocatable<std::shared_ptr<T>> = true;
template <typename T>
inline constexpr bool is_trivially_relocatable<std::weak_ptr<T>> = true;

}  // namespace tare::inline TARE_ABI
