// One small mapping near each module, of jumps and displaced instructions: see entry_patch.h.
#include "recorder/foreign/entry_patch.h"

#include <sys/mman.h>

#include <cstring>

#include "recorder/base/address.h"
#include "recorder/base/syscall.h"
#include "recorder/foreign/displace.h"

namespace tare::recorder {
namespace {

constexpr std::uint64_t kAreaBytes = 4 * kPage;
constexpr std::uint64_t kSearchStep = 1 << 20;
constexpr std::uint64_t kSearchReach = 1 << 30;  // half of what a jump reaches: modules have up to as much
constexpr std::uint64_t kLowestAddress = 1 << 16;
constexpr int kFixedNoReplace = 0x100000;  // MAP_FIXED_NOREPLACE, Linux 4.17
constexpr std::uint64_t kMovedAt = 16;     // displaced instructions lie behind the jump to the replacement

constexpr char kOtherMachine[] = "its functions can be replaced on x86-64 only";

// Where the jumps of one module lie.
struct Area {
  std::uint64_t start = 0;
  std::uint64_t used = 0;
};
constexpr std::size_t kMostAreas = 8;
Area areas[kMostAreas];
std::size_t area_count = 0;

std::uint8_t* bytes_at(std::uint64_t address) { return reinterpret_cast<std::uint8_t*>(address); }

bool is_near(const Area& area, std::uint64_t address) {
  const std::uint64_t distance = area.start > address ? area.start - address : address - area.start;
  return distance < kSearchReach;
}

bool protect(std::uint64_t start, std::uint64_t bytes, int protection) {
  return !sys::failed(sys::call(SYS_mprotect, static_cast<long>(start), static_cast<long>(bytes), protection));
}

// 0: taken already, or not allowed.
std::uint64_t map_at(std::uint64_t wanted) {
  const long mapped = sys::mmap(reinterpret_cast<void*>(wanted), kAreaBytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | kFixedNoReplace, -1, 0);
  if (sys::failed(mapped)) return 0;
  if (static_cast<std::uint64_t>(mapped) == wanted) return wanted;
  sys::munmap(reinterpret_cast<void*>(mapped), kAreaBytes);  // older kernels take the address for a hint
  return 0;
}

// Below the module: the heap that grows by brk begins above an executable.
Area* area_near(std::uint64_t address) {
  for (std::size_t i = 0; i < area_count; ++i) {
    if (is_near(areas[i], address)) return &areas[i];
  }
  if (area_count == kMostAreas) return nullptr;
  const std::uint64_t top = address & ~(kPage - 1);
  for (std::uint64_t below = kSearchStep; below < kSearchReach; below += kSearchStep) {
    if (below + kLowestAddress > top) break;
    if (const std::uint64_t start = map_at(top - below); start != 0) {
      areas[area_count] = {start, 0};
      return &areas[area_count++];
    }
  }
  return nullptr;
}

// False: nothing is written. The pages are never writable and executable at once, except where the kernel refuses to
// take back the first.
bool write_code(std::uint64_t place, const std::uint8_t* code, std::uint64_t bytes) {
  const std::uint64_t first = place & ~(kPage - 1);
  const std::uint64_t pages = ((place + bytes + kPage - 1) & ~(kPage - 1)) - first;
  if (!protect(first, pages, PROT_READ | PROT_WRITE)) return false;
  std::memcpy(bytes_at(place), code, bytes);
  if (protect(first, pages, PROT_READ | PROT_EXEC)) return true;
  return protect(first, pages, PROT_READ | PROT_WRITE | PROT_EXEC);
}

// An absolute jump: the recorder may be anywhere.
void put_long_jump(std::uint8_t* out, std::uint64_t target) {
  constexpr std::uint8_t kJumpByNextWord[] = {0xff, 0x25, 0, 0, 0, 0};
  std::memcpy(out, kJumpByNextWord, sizeof kJumpByNextWord);
  std::memcpy(out + sizeof kJumpByNextWord, &target, sizeof target);
}

}  // namespace

const char* refusal_of_function(const void* function, std::size_t bytes) {
  if (!arch::kReplacesFunctions) return kOtherMachine;
  std::uint8_t moved[kMostDisplacedBytes];
  return displace(static_cast<const std::uint8_t*>(function), bytes, moved, word(function)).refusal;
}

const char* replace_function(void* function, std::size_t bytes, AnyFunction6 replacement, AnyFunction6& original) {
  if (!arch::kReplacesFunctions) return kOtherMachine;
  const std::uint64_t address = word(function);
  Area* const area = area_near(address);
  if (area == nullptr) return "no memory is left near it";
  std::uint8_t code[kMovedAt + kMostDisplacedBytes] = {};
  if (area->used + sizeof code > kAreaBytes) return "too many functions are described";
  const std::uint64_t jump = area->start + area->used;
  const std::uint64_t moved = jump + kMovedAt;
  put_long_jump(code, word(reinterpret_cast<const void*>(replacement)));
  const Displaced displaced = displace(bytes_at(address), bytes, code + kMovedAt, moved);
  if (displaced.refusal != nullptr) return displaced.refusal;
  std::uint8_t entry[kJumpBytes];
  const std::uint64_t place = address + displaced.place;
  if (!put_jump(entry, place, jump)) return "its module is too far away";

  if (!write_code(jump, code, kMovedAt + displaced.written)) return "code may not be made here";
  area->used += (kMovedAt + displaced.written + 15) & ~std::uint64_t{15};
  original = reinterpret_cast<AnyFunction6>(moved);
  return write_code(place, entry, sizeof entry) ? nullptr : "its code may not be changed here";
}

}  // namespace tare::recorder
