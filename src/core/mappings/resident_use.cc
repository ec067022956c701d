// Sorts pieces by the calls of mmap and by live blocks: see resident_use.h.
#include "core/mappings/resident_use.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

namespace tare::core {
namespace {

using trace::RangeKind;
using trace::ResidentPiece;

constexpr std::uint64_t kArenaBytes = 64 << 20;  // glibc aligns its arenas to so much

// visit(from, to, stack) for each part of the piece that the program or an allocator has mapped.
template <typename Visit>
void for_each_mapped(const ResidentPiece& piece, const Mappings& mappings, const Visit& visit) {
  const std::uint64_t end = piece.start + piece.bytes;
  const auto& ranges = mappings.ranges();
  auto next = ranges.upper_bound(piece.start);
  if (next != ranges.begin()) --next;
  for (; next != ranges.end() && next->first < end; ++next) {
    const std::uint64_t from = std::max(next->first, piece.start);
    const std::uint64_t to = std::min(next->second.end, end);
    if (from < to) visit(from, to, next->second.stack);
  }
}

// Mappings that an allocator has made, by the call.
class AllocatorCalls {
 public:
  AllocatorCalls(const trace::MemoryReading& reading, const Mappings& mappings, const HeapFacts& facts)
      : facts_(facts) {
    for (const ResidentPiece& piece : reading.pieces) {
      for_each_mapped(piece, mappings, [&](std::uint64_t from, std::uint64_t to, trace::StackId stack) {
        if (stack != trace::kEmptyStack && facts_.has_block(from, to)) calls_.insert(facts_.call_of(stack));
      });
    }
  }
  bool made(std::uint64_t from, std::uint64_t to, trace::StackId stack) const {
    if (stack == trace::kEmptyStack) return facts_.has_block(from, to);
    return calls_.contains(facts_.call_of(stack));
  }

 private:
  const HeapFacts& facts_;
  std::set<trace::RowId> calls_;
};

// Mappings within a piece, by who made them.
struct MappedParts {
  struct Part {
    std::uint32_t stack;
    std::uint64_t bytes;
  };
  std::vector<Part> of_program;
  std::uint64_t program_bytes = 0;
  bool has_allocators = false;
};

MappedParts mapped_parts(const ResidentPiece& piece, const Mappings& mappings, const AllocatorCalls& allocators) {
  MappedParts parts;
  for_each_mapped(piece, mappings, [&](std::uint64_t from, std::uint64_t to, trace::StackId stack) {
    if (allocators.made(from, to, stack)) {
      parts.has_allocators = true;
    } else {
      parts.of_program.push_back({trace::index(stack), to - from});
      parts.program_bytes += to - from;
    }
  });
  return parts;
}

std::uint64_t share_of(std::uint64_t bytes, std::uint64_t part, std::uint64_t whole) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * static_cast<double>(part) /
                                    static_cast<double>(whole));
}

}  // namespace

ResidentUse resident_use(const trace::MemoryReading& reading, const Mappings& mappings, HeapMapping heap,
                         const HeapFacts& facts) {
  ResidentUse use;
  const AllocatorCalls allocators(reading, mappings, facts);
  for (const ResidentPiece& piece : reading.pieces) {
    const std::uint64_t resident = piece.resident_bytes;
    const bool has_block = facts.has_block(piece.start, piece.start + piece.bytes);
    const bool is_heap = piece.kind == RangeKind::Break || (heap == HeapMapping::Seen && has_block);
    const MappedParts parts = is_heap ? MappedParts{} : mapped_parts(piece, mappings, allocators);
    const bool is_arena = heap == HeapMapping::Unseen && piece.start % kArenaBytes == 0;
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
    } else if (is_heap || parts.has_allocators || has_block || is_arena) {
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
