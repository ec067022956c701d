// tare/cage.h: a cage is one contiguous, aligned range of addresses, from which runs of pages are handed out.
//
// Objects in a cage can be named by a 4-byte offset from its base instead of an 8-byte address: half the size of every
// pointer, and half the cache that pointers take. CompressedPtr, AtomTable and the collector are built on it.
//
//   tare::CageResult<tare::Cage> made = tare::Cage::reserve({.size_bytes = std::size_t{4} << 30});
//   if (!made) return report(tare::describe(made.error()));
//   tare::Cage cage = std::move(made.value());
//   tare::CageResult<tare::PageRun> run = cage.allocate(64 * 1024);
//   use(run.value());
//   cage.free(run.value());
//
// Reserving costs addresses, not memory: nothing is readable, nothing is charged, and no page is touched until a run is
// allocated. The books lie outside the cage, in a mapping of 16 bytes a page that is filled as pages are used; a cage
// calls neither malloc nor new.
//
// Thread-safety: a Cage may be used by any number of threads at once, save for moving and destroying it. One lock is
// taken for each run; system calls are made as the cage grows, an eighth at a time, and for released pages. A forked
// child has a copy of each cage, and may use it in any state of the parent's threads.
//
// Source of the idea: "Pointer compression in Oilpan" (2022), whose cage is aligned so that a bit above it is set in
// every address. The differences: the range is reserved exactly, without twice or three times the addresses for
// alignment, which matters under `ulimit -v`. If the size can't be reserved, smaller ones are tried, and then it is an
// error, not the end of the program.
//
// Linux, 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tare/expected.h"
#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

static_assert(sizeof(void*) == 8, "a cage needs 64-bit addresses");

class ReportSink;

enum class CageError : std::uint8_t {
  None,
  BadOptions,      // sizes that aren't multiples or powers of two as they must be, or a guard without room behind it
  NoAddressSpace,  // not even CageOptions::least_bytes can be reserved: RLIMIT_AS, a container, a crowded process
  AddressTaken,    // CageOptions::fixed_base: something else is mapped there
  Exhausted,       // no free run is that long
  NoMemory,        // the system refuses to make pages accessible: strict overcommit, or too many mappings
  OutOfReach,      // CageBase::bind: the cage lies where the tag's compressed pointers can't point
  SlotTaken,       // gc::HeapOf::create: heaps of another Decoding or WriteBarrier have the group's slot
};

// One sentence in English, static storage.
TARE_API const char* describe(CageError error) noexcept;

// A value, or the reason why there is none.
template <class T>
using CageResult = Expected<T, CageError>;

enum class HugePages : std::uint8_t {
  System,  // as set in /sys/kernel/mm/transparent_hugepage
  Prefer,  // request them: fewer TLB misses in a cage that will be large, up to 2 MiB more resident a used spot
  Avoid,   // refuse them: pages that are released one by one stay released
};

struct CageOptions {
  // How much to reserve, guard included. A compressed pointer of 32 bits reaches 4 GiB, or 32 GiB in units of 8 bytes.
  std::size_t size_bytes = std::size_t{32} << 30;

  // If that fails it is halved again and again, down to this. Under RLIMIT_AS no more than half of the limit is tried
  // in the first place, so that the program is left with addresses for everything else. To get all or nothing, let
  // it be equal to size_bytes.
  std::size_t least_bytes = std::size_t{64} << 20;

  // base() is `alignment_phase_bytes` above a multiple of this power of two. A phase is for schemes that need a bit of
  // the address set: {.alignment_bytes = 8 GiB, .alignment_phase_bytes = 4 GiB} has bit 32 set throughout a cage of 4
  // GiB, as the sign-extending decoding of Oilpan requires, without reserving the other half. 0: page_bytes.
  std::size_t alignment_bytes = 0;
  std::size_t alignment_phase_bytes = 0;

  // Instead: exactly this address, for compressed pointers whose base is a compile-time constant. 0: anywhere.
  std::uintptr_t fixed_base = 0;

  // The first bytes of the cage are never accessible and never handed out, so that small offsets can mean null and the
  // like. 0: one page. With 4 GiB of 8 the lower half is guard.
  std::size_t guard_bytes = 0;

  // Sizes and addresses of runs are multiples of this: a power of two, at least a page of the system. 0: the system's.
  std::size_t page_bytes = 0;

  HugePages huge_pages = HugePages::System;
};

// Pages [data, data + size_bytes) of a cage, readable and writable.
struct PageRun {
  enum class Contents : std::uint8_t {
    Zero,   // fresh from the system, and not resident until touched
    Stale,  // used before and kept: any bytes
  };
  std::byte* data = nullptr;
  std::size_t size_bytes = 0;
  Contents contents = Contents::Zero;
};

enum class FreedPages : std::uint8_t {
  Return,  // to the system at once: they're no longer resident when free() returns
  Keep,    // resident for the next run, without a system call; Cage::trim gives them back
};

// All in bytes. reserved = guard + used + free; committed is accessible.
struct CageUse {
  std::size_t wanted_bytes = 0;  // requested in CageOptions; more than reserved_bytes after a fallback
  std::size_t reserved_bytes = 0;
  std::size_t committed_bytes = 0;     // readable and writable, resident or not
  std::size_t used_bytes = 0;          // in runs that are handed out
  std::size_t kept_bytes = 0;          // in free runs whose pages may be resident (FreedPages::Keep)
  std::size_t largest_free_bytes = 0;  // the longest run that allocate() would find
  std::size_t books_bytes = 0;         // reserved for the cage's own books, outside of it
};

class TARE_API Cage {
 public:
  // Reserves a range. Errors: BadOptions, NoAddressSpace, AddressTaken.
  static CageResult<Cage> reserve(const CageOptions& options = {}) noexcept;

  Cage() noexcept = default;  // of no bytes: allocate() fails with Exhausted
  Cage(Cage&& other) noexcept : books_(std::exchange(other.books_, nullptr)) {}
  Cage& operator=(Cage&& other) noexcept {
    std::swap(books_, other.books_);
    return *this;
  }
  ~Cage();  // unmaps everything; runs that are still in use are gone

  // Offset 0: where the guard begins. Null for a cage of no bytes. Constant for the cage's life, also when moved.
  std::byte* base() const noexcept;
  std::size_t size_bytes() const noexcept;   // from base(), guard included
  std::size_t guard_bytes() const noexcept;  // the first that can be handed out lies here
  std::size_t page_bytes() const noexcept;

  // Whether the address lies in the range, handed out or not.
  bool contains(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base()) < size_bytes();
  }

  // A run of size_bytes, rounded up to pages, at a multiple of alignment_bytes (a power of two; pages are the least) in
  // address space. The caller owns it until free(). Finds the run in constant time: freed runs that fit well first,
  // then unused space. Errors: Exhausted (also for 0 bytes), BadOptions (the alignment), NoMemory.
  CageResult<PageRun> allocate(std::size_t size_bytes, std::size_t alignment_bytes = 0) noexcept;

  // Takes back a run that allocate() gave; a part of a run, or a run twice, ends the program with a message. Neighbours
  // that are free become one run.
  void free(const PageRun& run, FreedPages pages = FreedPages::Return) noexcept;

  // Makes pages of a run that is in use inaccessible, and returns them to the system; any access faults. Both ends are
  // multiples of page_bytes() from base(). A run may be freed with pages in this state. Each decommitted stretch costs
  // the process a mapping of its own (vm.max_map_count, 65,530 by default). False if the system refused.
  bool decommit(std::byte* begin, std::size_t size_bytes) noexcept;
  // Makes them accessible again, zeroed. Pages that are accessible already keep their contents. False if the system
  // refused.
  bool commit(std::byte* begin, std::size_t size_bytes) noexcept;

  // Returns the contents of pages of a run in use to the system. They stay accessible and read as zeros.
  void discard(std::byte* begin, std::size_t size_bytes) noexcept;

  // Returns the pages that free() kept to the system, all but keep_bytes of them: those with the lowest addresses.
  // Returns how many bytes went back, resident or not.
  std::size_t trim(std::size_t keep_bytes = 0) noexcept;

  CageUse use() const noexcept;

  // Bytes in memory now, from a system call for every page up to the highest ever used: about 1 us a MiB.
  std::size_t resident_bytes() const noexcept;

  // Reports memory that no other reporter can: "books", and "kept" pages. Runs in use are reported by their users.
  // Beside the tree of memory there are "used", "committed", "reserved" and "largest-free". The last warns of
  // exhaustion: reserved addresses appear in no other figure. From a call-back of a ReporterRegistry:
  //   registry.add("explicit/scene/cage", [&](ReportSink& sink) { cage.report(sink); });
  void report(ReportSink& sink) const;

 private:
  struct Books;  // see src/lib/cage/cage.cc

  Books* books_ = nullptr;
};

}  // namespace tare::inline TARE_ABI
