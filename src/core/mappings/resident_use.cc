// Sorts pieces by the calls of mmap and by live blocks: see resident_use.h.
#include "core/mappings/resident_use.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace tare::core {
namespace {

using trace::RangeKind;
using trace::ResidentPiece;

constexpr std::uint64_t kArenaBytes = 64 << 20;  // glibc aligns its arenas to so much
constexpr std::uint64_t kFewPlaces = 4;
constexpr std::uint64_t kManyPlaces = 64;
constexpr std::uint64_t kBehindHeader = 16;  // where the block of a chunk lies that glibc has mapped

// An address in one of `places` equal parts, at another distance from its start in each part. Allocators put headers at
// regular distances: the middles of 64 parts of CPython's arenas were headers of its pools where an arena began 8 KiB
// behind a multiple of 16 KiB.
std::uint64_t place_in(std::uint64_t start, std::uint64_t bytes, std::uint64_t place, std::uint64_t places) {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  const std::uint64_t part = std::max<std::uint64_t>(bytes / places, 1);
  return start + place * part + (place + 1) * kGoldenRatio % part;
}

// A foreign allocator's mapping, blocks of which are known.
bool is_foreign(std::uint64_t start, std::uint64_t bytes, const std::function<bool(std::uint64_t)>& has_block) {
  for (std::uint64_t place = 0; place < kManyPlaces; ++place) {
    if (has_block(place_in(start, bytes, place, kManyPlaces))) return true;
  }
  return false;
}

// Mappings within a piece, by who made them.
struct MappedParts {
  struct Part {
    std::uint32_t stack;
    std::uint64_t bytes;
  };
  std::vector<Part> of_program;
  std::uint64_t program_bytes = 0;
  bool has_foreign = false;
};

MappedParts mapped_parts(const ResidentPiece& piece, const Mappings& mappings,
                         const std::function<bool(std::uint64_t)>& has_block) {
  MappedParts parts;
  const std::uint64_t end = piece.start + piece.bytes;
  const auto& ranges = mappings.ranges();
  auto next = ranges.upper_bound(piece.start);
  if (next != ranges.begin()) --next;
  for (; next != ranges.end() && next->first < end; ++next) {
    const std::uint64_t from = std::max(next->first, piece.start);
    const std::uint64_t to = std::min(next->second.end, end);
    if (from >= to) continue;
    if (is_foreign(from, to - from, has_block)) {
      parts.has_foreign = true;
    } else {
      parts.of_program.push_back({trace::index(next->second.stack), to - from});
      parts.program_bytes += to - from;
    }
  }
  return parts;
}

std::uint64_t share_of(std::uint64_t bytes, std::uint64_t part, std::uint64_t whole) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * static_cast<double>(part) /
                                    static_cast<double>(whole));
}

// A few places are enough for glibc: a mapped chunk has its block right behind its first bytes. Others mix blocks with
// free pages.
bool holds_blocks(const ResidentPiece& piece, HeapMapping heap, const std::function<bool(std::uint64_t)>& has_block) {
  const bool is_seen = heap == HeapMapping::Seen;
  if (!is_seen && piece.start % kArenaBytes == 0) return true;
  if (has_block(piece.start + kBehindHeader)) return true;
  const std::uint64_t places = is_seen ? kManyPlaces : kFewPlaces;
  for (std::uint64_t place = 0; place < places; ++place) {
    if (has_block(place_in(piece.start, piece.bytes, place, places))) return true;
  }
  return false;
}

}  // namespace

ResidentUse resident_use(const trace::MemoryReading& reading, const Mappings& mappings, HeapMapping heap,
                         const std::function<bool(std::uint64_t)>& has_block) {
  ResidentUse use;
  for (const ResidentPiece& piece : reading.pieces) {
    const std::uint64_t resident = piece.resident_bytes;
    const bool is_heap =
        piece.kind == RangeKind::Break || (heap == HeapMapping::Seen && holds_blocks(piece, heap, has_block));
    const MappedParts parts = is_heap ? MappedParts{} : mapped_parts(piece, mappings, has_block);
    const std::uint64_t mapped = parts.program_bytes;
    const std::uint64_t unmapped = piece.bytes - mapped;
    if (mapped != 0) {
      const std::uint64_t least = resident - std::min(resident, unmapped);
      const std::uint64_t most = std::min(resident, mapped);
      const std::uint64_t own = std::clamp(share_of(resident, mapped, piece.bytes), least, most);
      use.mapping_bytes += own;
      use.mapping_spread += most - least;
      (piece.kind == RangeKind::BehindFile ? use.file_bytes : use.heap_bytes) += resident - own;
      for (const MappedParts::Part& part : parts.of_program) {
        ResidentUse::Mapped& sums = use.mapped[part.stack];
        sums.accessible_bytes += part.bytes;
        sums.resident_bytes += share_of(own, part.bytes, mapped);
      }
    } else if (is_heap || parts.has_foreign || holds_blocks(piece, heap, has_block)) {
      use.heap_bytes += resident;
    } else if (piece.kind == RangeKind::BehindFile) {
      use.file_bytes += resident;
    } else if (piece.kind == RangeKind::AboveGuard) {
      use.stack_bytes += resident;
    } else {
      use.other_bytes += resident;
    }
  }
  return use;
}

}  // namespace tare::core
