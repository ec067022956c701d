// Pages of the operating system: all calls of a cage to it. One source file for each system.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tare/version.h"

namespace tare::inline TARE_ABI::system_pages {

std::size_t page_bytes() noexcept;

// Addresses without access, charge or memory. Null if there are none.
std::byte* reserve(std::size_t size_bytes) noexcept;
// At exactly that address, or not at all; never over another mapping.
bool reserve_at(std::uintptr_t address, std::size_t size_bytes) noexcept;
void release(std::byte* begin, std::size_t size_bytes) noexcept;

// Memory for books: readable and writable, zero, resident only where touched. Null if there is none.
std::byte* map_books(std::size_t size_bytes) noexcept;

bool make_accessible(std::byte* begin, std::size_t size_bytes) noexcept;
bool make_inaccessible(std::byte* begin, std::size_t size_bytes) noexcept;  // and returns them to the kernel
void return_contents(std::byte* begin, std::size_t size_bytes) noexcept;

void prefer_huge(std::byte* begin, std::size_t size_bytes) noexcept;
void avoid_huge(std::byte* begin, std::size_t size_bytes) noexcept;

std::size_t resident_bytes(std::byte* begin, std::size_t size_bytes) noexcept;

// The process's limit of address space: RLIMIT_AS, or the largest size_t.
std::size_t address_limit_bytes() noexcept;

}  // namespace tare::inline TARE_ABI::system_pages
