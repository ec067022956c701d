// What the kernel says of this process's memory, read without touching the heap.
#pragma once

#include <cstdint>

namespace tare::perform {

std::uint64_t resident_bytes();
std::uint64_t peak_resident_bytes();  // since the program was started

}  // namespace tare::perform
