// Table `claimed`: live blocks at one time, by allocation stack and by their reports.
#pragma once

#include <compare>
#include <cstdint>
#include <map>

#include "core/columns/tables.h"
#include "trace/model/dictionary.h"
#include "trace/model/ids.h"

namespace tare::core {

// The fields of a report by which blocks are distinguished.
struct Claim {
  static constexpr std::uint32_t kNone = ~0u;
  std::uint32_t path = kNone;  // NameId
  std::uint32_t stack = 0;     // of the report; 0: unknown
  auto operator<=>(const Claim&) const = default;
};

// The reports of a block that stand: how many, and the first two.
struct Claims {
  std::uint32_t reports = 0;
  Claim first;
  Claim again;
  std::uint32_t formerly = Claim::kNone;  // with none that stands: the path that it had in a round before
  auto operator<=>(const Claims&) const = default;
};

enum class ClaimedKind : std::uint8_t { Malloc = 0, PoolBlock = 1, PoolMemory = 2 };

struct ClaimedKey {
  std::uint32_t stack;
  ClaimedKind kind;
  std::uint64_t requested_bytes;
  std::uint64_t usable_bytes;
  std::uint64_t header_bytes;
  double weight;
  Claims claims;
  auto operator<=>(const ClaimedKey&) const = default;
};

// Blocks of a kind, counted.
using ClaimedBlocks = std::map<ClaimedKey, std::uint64_t>;

Table claimed_table(const ClaimedBlocks& blocks, const trace::Dictionary& dictionary);

}  // namespace tare::core
