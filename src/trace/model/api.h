// The allocation entry points as enums, made from the one list in apis.def.
#pragma once

#include <cstdint>

namespace tare::trace {

enum class AllocApi : std::uint8_t {
  None = 0,
#define TARE_ALLOC_API(code, id, name) id = code,
#include "trace/model/apis.def"
};

enum class FreeApi : std::uint8_t {
  None = 0,
#define TARE_FREE_API(code, id, name) id = code,
#include "trace/model/apis.def"
};

enum class MapApi : std::uint8_t {
  None = 0,
#define TARE_MAP_API(code, id, name) id = code,
#include "trace/model/apis.def"
};

// A block of a foreign allocator's own memory.
constexpr bool is_foreign(AllocApi api) { return api >= AllocApi::ForeignMalloc && api <= AllocApi::ForeignAligned; }

// Bit `code` is set for every code of this version.
inline constexpr std::uint32_t kKnownAllocApis = 0
#define TARE_ALLOC_API(code, id, name) | 1u << code
#include "trace/model/apis.def"
    ;
inline constexpr std::uint32_t kKnownFreeApis = 0
#define TARE_FREE_API(code, id, name) | 1u << code
#include "trace/model/apis.def"
    ;
inline constexpr std::uint32_t kKnownMapApis = 0
#define TARE_MAP_API(code, id, name) | 1u << code
#include "trace/model/apis.def"
    ;

// Display name, or "?" for a code that this version doesn't have. Static storage.
constexpr const char* name_of(AllocApi api) {
  switch (api) {
#define TARE_ALLOC_API(code, id, name) \
  case AllocApi::id:                   \
    return name;
#include "trace/model/apis.def"
    default:
      return "?";
  }
}

constexpr const char* name_of(FreeApi api) {
  switch (api) {
#define TARE_FREE_API(code, id, name) \
  case FreeApi::id:                   \
    return name;
#include "trace/model/apis.def"
    default:
      return "?";
  }
}

constexpr const char* name_of(MapApi api) {
  switch (api) {
#define TARE_MAP_API(code, id, name) \
  case MapApi::id:                   \
    return name;
#include "trace/model/apis.def"
    default:
      return "?";
  }
}

}  // namespace tare::trace
