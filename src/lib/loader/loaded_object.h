// The program or shared object that an address belongs to.
#pragma once

#include "tare/version.h"

namespace tare::inline TARE_ABI::loaded_object {

// Closing it no longer unloads it. Takes the loader's lock: with none held that a constructor of a library may wait
// for.
void keep(const void* address) noexcept;

// True if both lie in one object. False if the program is static or the loader doesn't have them.
bool is_same(const void* one, const void* other) noexcept;

}  // namespace tare::inline TARE_ABI::loaded_object
