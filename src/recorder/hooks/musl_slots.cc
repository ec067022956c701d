// Blocks lie in groups of up to 32 slots. The 2 bytes before a block are its distance from the group's first slot in
// units of 16 bytes; if it needs more, byte -4 is set and the 4 bytes before that have it. A group begins with a
// pointer to its description, which has the class of the slots, or the pages of a group with one slot. From
// src/malloc/mallocng/meta.h of musl 1.2.1 to 1.2.5, where they are the same.
#include "recorder/hooks/musl_slots.h"

#include <cstdint>
#include <cstring>

#include "recorder/base/address.h"

namespace tare::recorder {
namespace {

constexpr std::size_t kUnit = 16;
constexpr std::size_t kBooksBytes = 4;

// In units.
constexpr std::uint16_t kClasses[] = {1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   12,   15,
                                      18,   20,   25,   31,   36,   42,   50,   63,   72,   84,   102,  127,
                                      146,  170,  204,  255,  292,  340,  409,  511,  584,  682,  818,  1023,
                                      1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191};
constexpr std::size_t kClassCount = sizeof kClasses / sizeof kClasses[0];

struct Description {
  void* previous;
  void* next;
  const char* group;
  std::int32_t available;
  std::int32_t freed;
  std::uint64_t last_slot : 5;
  std::uint64_t freeable : 1;
  std::uint64_t size_class : 6;
  std::uint64_t pages : 52;
};

template <typename T>
T read(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

bool is_mallocng(void* (*malloc)(std::size_t), void (*free)(void*), std::size_t (*malloc_usable_size)(void*)) {
  void* const block = malloc(1);
  if (block == nullptr) return false;
  const bool is_exact = malloc_usable_size(block) == 1;
  free(block);
  return is_exact;
}

std::size_t usable_bytes_by_slot(const void* block, std::size_t requested) {
  const auto* const start = static_cast<const char*>(block);
  std::size_t units = read<std::uint16_t>(start - 2);
  if (start[-4] != 0) units = read<std::uint32_t>(start - 8);
  const char* const group = start - kUnit * units - kUnit;
  const auto& description = *read<const Description*>(group);
  if (description.group != group) return requested;
  std::size_t stride = 0;
  if (description.last_slot == 0 && description.pages != 0) {
    stride = description.pages * kPage - kUnit;
  } else if (description.size_class < kClassCount) {
    stride = kUnit * kClasses[description.size_class];
  }
  return stride < requested + kBooksBytes ? requested : stride - kBooksBytes;
}

}  // namespace tare::recorder
