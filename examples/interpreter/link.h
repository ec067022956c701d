// A pointer from one object of the heap to another: 4 bytes, or 8 in the target interpreter-uncompressed, with which
// bench/page_loads.py compares. HeapVector names its array by 4 bytes in both, and weak maps their keys.
#pragma once

#include <cstdint>

#include "tare/gc/member.h"

namespace script {

#ifdef INTERPRETER_UNCOMPRESSED
template <class T>
using Link = tare::gc::UncompressedMember<T>;
#else
template <class T>
using Link = tare::gc::Member<T>;
#endif

// Of the object's address, equal in both.
template <class T>
std::uint32_t bits_of(const Link<T>& link) {
#ifdef INTERPRETER_UNCOMPRESSED
  return tare::gc::Member<T>::bits_of(link.get());
#else
  return link.bits();
#endif
}

}  // namespace script
