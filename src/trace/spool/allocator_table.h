// Descriptions of foreign allocators, as the launcher hands them to recorders: a file in its folder, which is this
// struct.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace tare::trace {

inline constexpr char kAllocatorsName[] = "allocators";
inline constexpr char kForeignNotice[] = "allocator ";  // so begins a notice about an allocator that isn't recorded
inline constexpr char kAllocatorsMagic[8] = {'T', 'A', 'R', 'E', 'A', 'L', 'C', '\n'};
inline constexpr std::uint32_t kAllocatorsVersion = 2;
inline constexpr std::uint32_t kMostForeignAllocators = 32;
inline constexpr std::uint32_t kMostForeignFunctions = 320;

enum class ForeignRole : std::uint8_t {
  Allocate = 0,      // returns a block
  AllocateInto = 1,  // stores a block where argument `pointer` points, and returns 0
  Free = 2,
  Resize = 3,
  UsableBytes = 4,  // called by the recorder with a block as its only argument, never replaced
  // A pool ends all its blocks at once. Its children are pools that end with it.
  CreatePool = 5,   // makes argument `pool`, or stores it where argument `pointer` points, or returns it
  ResetPool = 6,    // ends the blocks, and destroys the children
  ClearPool = 7,    // ends the blocks only
  DestroyPool = 8,  // ends blocks, children and the pool
  MovePool = 9,     // `parent` is its parent from now on
};
inline constexpr ForeignRole kLastForeignRole = ForeignRole::MovePool;
constexpr bool is_of_pools(ForeignRole role) { return role >= ForeignRole::CreatePool; }
constexpr bool ends_pools(ForeignRole role) { return role == ForeignRole::DestroyPool; }

inline constexpr std::int8_t kNoArgument = -1;
inline constexpr std::int8_t kSizeOfString = -2;  // as `size`: the block is a string, with its terminating zero
inline constexpr std::int8_t kMostArguments = 6;  // those in registers

struct ForeignFunction {
  char symbol[64];         // terminated
  std::uint8_t allocator;  // index
  ForeignRole role;
  std::int8_t size;   // which argument is what, from 0; kNoArgument: none
  std::int8_t count;  // by which the size is multiplied
  std::int8_t align;
  std::int8_t pointer;
  std::int8_t pool;  // the pool of the block; none: the allocator's current one
  std::int8_t parent;
  std::uint8_t zeroed;    // the block is filled with zeros
  std::uint8_t required;  // the user has described it: that it is missing is reported
  std::uint8_t reserved[6];
};

enum class ForeignModule : std::uint8_t {
  Program = 0,    // the executable
  OwnMalloc = 1,  // the executable, if its malloc precedes the recorder's
  Library = 2,
};

struct ForeignAllocator {
  char name[32];     // terminated
  char library[64];  // terminated: how the base name of a library begins
  char current[64];  // terminated: the variable that contains the current pool; empty: none
  ForeignModule module;
  std::uint8_t reserved[7];
};

struct AllocatorTable {
  char magic[8];
  std::uint32_t version;
  std::uint32_t struct_bytes;
  std::uint32_t allocator_count;
  std::uint32_t function_count;
  ForeignAllocator allocators[kMostForeignAllocators];
  ForeignFunction functions[kMostForeignFunctions];
};

// Every index is within its table, every text terminated, every role and argument known.
inline bool is_sound(const AllocatorTable& table) {
  if (std::memcmp(table.magic, kAllocatorsMagic, sizeof table.magic) != 0 || table.version != kAllocatorsVersion ||
      table.struct_bytes != sizeof table || table.allocator_count > kMostForeignAllocators ||
      table.function_count > kMostForeignFunctions)
    return false;
  for (std::uint32_t i = 0; i < table.allocator_count; ++i) {
    const ForeignAllocator& allocator = table.allocators[i];
    if (allocator.name[sizeof allocator.name - 1] != '\0' || allocator.library[sizeof allocator.library - 1] != '\0' ||
        allocator.current[sizeof allocator.current - 1] != '\0' || allocator.module > ForeignModule::Library)
      return false;
  }
  for (std::uint32_t i = 0; i < table.function_count; ++i) {
    const ForeignFunction& function = table.functions[i];
    if (function.symbol[sizeof function.symbol - 1] != '\0' || function.allocator >= table.allocator_count ||
        function.role > kLastForeignRole)
      return false;
    const std::int8_t size = function.size == kSizeOfString ? kNoArgument : function.size;
    for (const std::int8_t argument :
         {size, function.count, function.align, function.pointer, function.pool, function.parent}) {
      if (argument < kNoArgument || argument >= kMostArguments) return false;
    }
  }
  return true;
}

}  // namespace tare::trace
