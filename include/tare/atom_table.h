// tare/atom_table.h: the table that makes atoms (tare/atom.h), finds them, and frees those without references.
//
//   inline constexpr auto& kTags = tare::static_atoms<kTagNames>;                  // tare/static_atoms.h; optional
//   tare::AtomTable table({.static_lists = {&kTags.list}});
//   tare::Atom a = table.intern("main-header");
//   if (!a) return report(tare::describe(table.error()));
//   tare::Atom b = table.intern(u"main-header");                                   // == a
//   table.gc();
//
// Texts of up to 1 GiB - 1 bytes. An empty table takes 4.3 KiB; one of 2,000 names and words 37 to 42 bytes an atom, of
// 10,000 32, of 164,334 30 (11 characters on average): llvm::StringMap takes 58, 53 and 52 (bench-atoms).
//
// Life and death. A table holds its atoms without counting as a user. When the last user releases it, the atom becomes
// unused and stays: interning its text again finds it. For every sixteenth of AtomTableOptions::unused_threshold that
// became unused (or of a quarter of all atoms, if that is more) the thread that released the last of them sweeps one of
// the 16 shards, in turn; gc() sweeps all. So about half the threshold stays unused without anybody calling gc(), and
// no release does more than count, save the rare one that sweeps a shard. Threads report releases to the table 32 at a
// time. Sweeping takes 5 to 10 ns an atom, used or not, and gives empty pages back to the system, all but 128 KiB of
// the process.
//
// Threads. Everything may be called from any thread at once, save the destructor. The table has 16 shards, chosen by
// hash; each has a lock of 4 bytes. While the process has one thread, locks and counts are plain memory accesses. Each
// shard's hash table grows and shrinks by itself. No pause stops all threads, and the longest stops one shard (30 ns an
// atom of it: 0.2 ms in a table of 164,334), in which existing atoms are still found. While a shard is swept, searches
// for its atoms wait (10 ns an atom of it; gc() sweeps small shards together, 0.1 ms).
//
// A child forked while other threads are at work has all tables as they were, and may use them.
//
// Where the atoms lie. All tables of a process share a range of 32 GiB of addresses, reserved when the first one
// interns. If that can't be reserved (RLIMIT_AS, containers), a smaller one is: half, a quarter, down to 1 MiB; under
// RLIMIT_AS half of the limit at most. range() has the size, and AtomError::SmallerRange if it is smaller. An atom
// without room is null, with an error.
//
// Under `tare run` a table is a pool: each atom is a block of the recording, with the stack that made it, and unused
// parts of the table's pages are visible too.
//
// Collisions can't be forced: the hash is seeded by the system, for each table (tare/internal/atom_key.h).
//
// After Firefox's atom table (shards; dead atoms swept in bulk; a small threshold in debug builds) and V8's string
// table (4-byte handles). The difference: the atom is the shared string buffer itself, and lies in the table's own
// slabs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tare/atom.h"
#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

enum class AtomError : std::uint8_t {
  None,
  TooLong,          // more than SharedHeader::kLargestSize bytes
  SmallerRange,     // no failure: the range is smaller than wanted (AtomTable::range)
  NoRange,          // no address range could be reserved, however small
  RangeFull,        // the range has no room for the atom
  NoMemory,         // malloc or the system refused
  TooManyTables,    // 255 live in the process already
  StaticListTaken,  // another static list has the number of one of this table's
};

// One sentence in English, static storage.
TARE_API const char* describe(AtomError error) noexcept;

struct AtomTableOptions {
  std::array<const StaticAtomList*, kMostStaticLists> static_lists{};  // null: none. Searched first, in this order

  // How many atoms may be unused, about; a quarter of all if that is more. 0: 10,000, as in Firefox; with assertions
  // (NDEBUG undefined) 64, so that the rare path is taken often. 0xFFFFFFFF: any number, until gc().
  std::uint32_t unused_threshold = 0;
};

// Where a table's memory is. Parts add up: total_bytes = mapped_bytes + malloc_bytes = all parts marked +.
struct AtomTableUse {
  std::size_t static_atoms = 0;
  std::size_t static_bytes = 0;  // in read-only memory, not in the total

  std::size_t used_atoms = 0;    // dynamic ones with references
  std::size_t unused_atoms = 0;  // that the next sweep would free

  std::size_t header_bytes = 0;     // + 8 an atom
  std::size_t character_bytes = 0;  // + without NUL
  std::size_t padding_bytes = 0;    // + the NUL, and rounding up to 8
  std::size_t free_bytes = 0;       // + blocks of freed atoms, for atoms to come
  std::size_t unfilled_bytes = 0;   // + of slabs: not used yet, or their own headers
  std::size_t table_bytes = 0;      // + the hash tables and the table object

  std::size_t slots = 0;  // atoms that the hash tables have room for

  // The same atoms, divided by whether their characters were ever handed out (Atom::share).
  std::size_t handed_out_atoms = 0;
  std::size_t handed_out_bytes = 0;  // header, characters and padding
  std::size_t unshared_atoms = 0;
  std::size_t unshared_bytes = 0;

  std::size_t mapped_bytes = 0;  // pages of the range
  std::size_t malloc_bytes = 0;  // by malloc_usable_size
  std::size_t total_bytes = 0;
};

struct AtomRangeUse {
  std::size_t wanted_bytes = 0;       // 32 GiB
  std::size_t reserved_bytes = 0;     // less after a fallback; 0 before the first atom, or if nothing could be reserved
  std::size_t mapped_bytes = 0;       // pages that tables have
  std::size_t kept_bytes = 0;         // free pages that stay with the process, 128 KiB at most
  AtomError error = AtomError::None;  // SmallerRange after a fallback; NoRange if nothing could be reserved
};

class ReportSink;

class TARE_API AtomTable {
 public:
  explicit AtomTable(const AtomTableOptions& options = {});
  // Frees all atoms without references. Atoms with references stay readable for ever, in pages that are never freed;
  // they are equal to no atom of another table.
  ~AtomTable();
  AtomTable(const AtomTable&) = delete;
  AtomTable& operator=(const AtomTable&) = delete;

  // The atom of the text, made if there is none. Null on error: see error().
  [[nodiscard]] Atom intern(std::string_view text);
  [[nodiscard]] Atom intern(std::u16string_view text);  // native byte order

  // The atom of the text if there is one, null if not. Makes nothing.
  [[nodiscard]] Atom find(std::string_view text);
  [[nodiscard]] Atom find(std::u16string_view text);

  // The handle of that atom, without a reference: for comparing with held atoms, which needs no counting. 0 if there is
  // none. The handle of an atom without references may soon be another atom's. Takes four fifths of find(), which
  // writes to the atom.
  [[nodiscard]] std::uint32_t find_handle(std::string_view text);

  // Frees every unused atom, and memory that then is empty. Returns how many atoms it freed.
  std::size_t gc();

  // How many atoms there are, static ones left out, those that the next sweep would free counted. Exact while no other
  // thread makes or sweeps atoms. 16 loads.
  std::size_t size() const noexcept;

  // Calls each(const Atom&) for every dynamic atom, in no order, including those without references. No lock is held
  // then: `each` may use this table, and an atom made or freed meanwhile may be seen or not; one that lived all the
  // time is seen once. False, with a part of the atoms seen, where there's no memory for a sixteenth of their handles.
  template <class Each>
  bool for_each(Each&& each) const {
    return visit([](void* context, const Atom& atom) { (*static_cast<std::remove_reference_t<Each>*>(context))(atom); },
                 const_cast<void*>(static_cast<const volatile void*>(&each)));
  }

  // Walks all atoms, one shard locked at a time: 2 ns an atom.
  AtomTableUse use() const;

  // Reports use() as memory of this table: "atoms" handed out and unshared, "slack", "table"; counts beside. Blocks of
  // malloc are measured one by one, pages are non-heap. From a call-back of a ReporterRegistry
  // (tare/memory_reporter.h):
  //   registry.add("explicit/atoms", [&](ReportSink& sink) { table.report(sink); });
  void report(ReportSink& sink) const;

  // Why intern() last returned null, to whichever thread; None if it never did. It stays after calls that succeed, and
  // find() sets it only where there's no memory to convert UTF-16. If the table couldn't be made: why, and every
  // intern() returns null. Where several threads intern, two failures at once may swap their reasons: the failure
  // itself is the null atom.
  AtomError error() const noexcept;

  static AtomRangeUse range() noexcept;

  struct Books;  // see src/lib/atoms/table.cc

 private:
  Atom intern_with_care(std::string_view text);
  std::uint32_t find_handle_with_care(std::string_view text);
  bool visit(void (*call)(void* context, const Atom& atom), void* context) const;

  Books* books_ = nullptr;
  AtomError construction_error_ = AtomError::None;
};

}  // namespace tare::inline TARE_ABI
