// The table: 16 shards, static lists before them, and which shard is swept next.
#include "tare/atom_table.h"

#include <malloc.h>
#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "lib/atoms/bytes16.h"
#include "lib/atoms/range.h"
#include "lib/atoms/readers.h"
#include "lib/atoms/shard.h"
#include "lib/atoms/static_lists.h"
#include "lib/atoms/table_blocks.h"
#include "lib/atoms/unused_atoms.h"
#include "lib/fork/at_fork.h"
#include "lib/fork/mutex.h"
#include "tare/static_atoms.h"

namespace tare::inline TARE_ABI {

namespace {

constexpr std::size_t kShards = 16;
constexpr std::size_t kMostTables = 255;
#ifdef NDEBUG
constexpr std::uint32_t kDefaultThreshold = 10'000;
#else
constexpr std::uint32_t kDefaultThreshold = 64;
#endif

}  // namespace

struct AtomTable::Books {
  AtomTableFacts facts;
  std::uint32_t static_list_count = 0;
  std::array<const StaticAtomList*, kMostStaticLists> static_lists{};
  std::uint32_t threshold = 0;
  std::atomic<std::uint32_t> step{0};  // so many atoms must become unused before the next shard is swept
  std::uint32_t became_unused = 0;     // since the last sweep; all_atom_tables.mutex guards this and the next
  std::size_t next_swept = 0;
  std::atomic<AtomError> error{AtomError::None};
  AtomShard shards[kShards];

  static std::size_t shard_of(std::uint64_t hash) { return hash >> 8 & (kShards - 1); }
  AtomShard& shard(std::uint64_t hash) { return shards[shard_of(hash)]; }

  std::size_t approximate_count() const {
    std::size_t count = 0;
    for (const AtomShard& shard : shards) count += shard.approximate_count();
    return count;
  }

  void set_step() {
    const std::size_t unused = std::max<std::size_t>(threshold, approximate_count() / 4);
    step.store(static_cast<std::uint32_t>(std::max<std::size_t>(unused / kShards, 1)), std::memory_order_relaxed);
  }

  std::uint32_t find_static(const SoughtText& sought) const {
    const std::uint32_t hash = atom_details::static_hash(sought.text.size(), sought.words);
    for (std::uint32_t i = 0; i < static_list_count; ++i) {
      if (const std::uint32_t handle = static_lists::find(*static_lists[i], sought, hash); handle != 0) return handle;
    }
    return 0;
  }

  // True if AtomShard::search_unlocked() may begin a search for the text.
  bool is_simple(std::string_view text) const {
    return text.size() <= SoughtText::kMostWordBytes && static_list_count == 0 && shared_details::is_single_threaded();
  }

  [[gnu::always_inline]] std::uint32_t find(const SoughtText& sought) {
    if (static_list_count != 0) {
      if (const std::uint32_t handle = find_static(sought); handle != 0) return handle;
    }
    return shard(sought.hash).find(sought);
  }

  [[gnu::noinline]] std::uint32_t find_locked(std::string_view text, std::uint64_t hash) {
    return shard(hash).find_locked(text, hash);
  }

  template <class Visit>
  void visit_malloced(Visit&& visit) {
    visit(this);
    for (AtomShard& shard : shards) shard.visit_malloced(visit);
  }

  Atom fail(AtomError why) {
    error.store(why, std::memory_order_relaxed);
    return {};
  }

  // To wait for readers takes 1 us and more: as long as sweeping 200 atoms, of which a small table's shard has fewer.
  // So there is one wait for several shards, in which no atom is found until all of them are swept: 0.1 ms.
  std::size_t sweep() TARE_UNCHECKED_LOCKS {
    constexpr std::size_t kAtomsAtOnce = 16 * 1024;
    std::size_t freed = 0;
    for (std::size_t i = 0; i < kShards;) {
      std::size_t end = i;
      for (std::size_t atoms = 0; end < kShards && atoms < kAtomsAtOnce; ++end) {
        shards[end].begin_sweep();
        atoms += shards[end].approximate_count();
      }
      atom_readers::wait_for_readers();
      for (; i < end; ++i) {
        freed += shards[i].sweep_hidden(facts, FreedPages::Keep);
        shards[i].end_sweep();
      }
    }
    return freed;
  }

  // The range is reserved when the first atom is made, so that a table that isn't used costs no addresses.
  std::atomic<bool> is_ready{false};
  bool make_ready() {
    if (is_ready.load(std::memory_order_acquire)) [[likely]]
      return true;
    if (const AtomError why = atom_range::ensure(); why != AtomError::None) {
      fail(why);
      return false;
    }
    is_ready.store(true, std::memory_order_release);
    return true;
  }

  [[gnu::noinline]] Atom make(std::string_view text, std::uint64_t hash) {
    if (!make_ready()) return {};
    AtomError why = AtomError::None;
    const std::uint32_t handle = shard(hash).intern(text, hash, facts, why);
    return handle == 0 ? fail(why) : Atom::adopt_handle(handle);
  }
};

struct AtomTables {
  Mutex mutex;
  AtomTable::Books* by_id[kMostTables + 1] TARE_GUARDED_BY(mutex) = {};
};
TARE_STATE constinit AtomTables all_atom_tables;

namespace {

// All tables' locks, from those of the list down. No thread waits for one of these while it holds one further down, or
// of a later shard.
template <class CallTable>
void for_each_table(CallTable&& call) TARE_REQUIRES(all_atom_tables.mutex) {
  for (AtomTable::Books* books : all_atom_tables.by_id) {
    if (books != nullptr) call(*books);
  }
}

void lock_tables() TARE_UNCHECKED_LOCKS {
  all_atom_tables.mutex.lock();
  for_each_table([](AtomTable::Books& books) TARE_UNCHECKED_LOCKS {
    for (AtomShard& shard : books.shards) shard.lock_for_fork();
    books.facts.pages.lock_for_fork();
  });
  atom_range::lock_for_fork();
}

void unlock_tables() TARE_UNCHECKED_LOCKS {
  atom_range::unlock_after_fork();
  for_each_table([](AtomTable::Books& books) TARE_UNCHECKED_LOCKS {
    books.facts.pages.unlock_after_fork();
    for (AtomShard& shard : books.shards) shard.unlock_after_fork();
  });
  all_atom_tables.mutex.unlock();
}

constexpr at_fork::Steps kAtomForkSteps{.before =
                                            [] {
                                              lock_tables();
                                              atom_readers::lock_for_fork();
                                            },
                                        .in_parent =
                                            [] {
                                              atom_readers::unlock_after_fork();
                                              unlock_tables();
                                            },
                                        .in_child =
                                            [] {
                                              atom_readers::restart_in_child();
                                              unlock_tables();
                                            }};

}  // namespace

const char* describe(AtomError error) noexcept {
  switch (error) {
    case AtomError::None:
      return "no error";
    case AtomError::TooLong:
      return "the text is longer than an atom can be";
    case AtomError::SmallerRange:
      return "the range of addresses for atoms is smaller than wanted (see ulimit -v)";
    case AtomError::NoRange:
      return "the process can't have the addresses that atoms need (see ulimit -v)";
    case AtomError::RangeFull:
      return "the range of addresses for atoms is full";
    case AtomError::NoMemory:
      return "there is no memory for the atom";
    case AtomError::TooManyTables:
      return "the process has as many atom tables as it can have";
    case AtomError::StaticListTaken:
      return "two lists of static atoms have the same number";
  }
  return "unknown error";
}

AtomTable::AtomTable(const AtomTableOptions& options) {
  for (const StaticAtomList* list : options.static_lists) {
    if (list != nullptr && !register_static_atoms(*list)) {
      construction_error_ = AtomError::StaticListTaken;
      return;
    }
  }
  void* memory = std::aligned_alloc(alignof(Books), sizeof(Books));
  if (memory == nullptr) {
    construction_error_ = AtomError::NoMemory;
    return;
  }
  at_fork::guard(at_fork::Part::AtomTables, kAtomForkSteps);
  auto* made = new (memory) Books;
  {
    const Lock lock(all_atom_tables.mutex);
    std::size_t id = 1;
    while (id <= kMostTables && all_atom_tables.by_id[id] != nullptr) ++id;
    if (id <= kMostTables) {
      made->facts.pages.set_owner(static_cast<std::uint8_t>(id));
      all_atom_tables.by_id[id] = made;
    }
  }
  if (made->facts.pages.id() == 0) {
    made->~Books();
    std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
    construction_error_ = AtomError::TooManyTables;
    return;
  }
  for (const StaticAtomList* list : options.static_lists) {
    if (list != nullptr) made->static_lists[made->static_list_count++] = list;
  }
  std::uint64_t words[2];
  if (getrandom(words, sizeof(words), 0) != static_cast<ssize_t>(sizeof(words))) {
    // No entropy (an old kernel, a filter): addresses are random too, but less so.
    words[0] = reinterpret_cast<std::uintptr_t>(made) * atom_details::kOddWord;
    words[1] = reinterpret_cast<std::uintptr_t>(&options) * ~atom_details::kOddWord;
  }
  made->facts.secret = {words[0], words[1]};
  made->threshold = options.unused_threshold != 0 ? options.unused_threshold : kDefaultThreshold;
  made->set_step();
  atom_readers::prepare();
  books_ = made;
}

AtomTable::~AtomTable() {
  if (books_ == nullptr) return;
  {
    // From here on no release finds the table, and none is sweeping it.
    const Lock lock(all_atom_tables.mutex);
    all_atom_tables.by_id[books_->facts.pages.id()] = nullptr;
  }
  bool is_empty = true;
  for (AtomShard& shard : books_->shards) is_empty = shard.abandon(books_->facts) && is_empty;
  books_->facts.pages.leave(is_empty ? TablePages::Held::None : TablePages::Held::Some);
  books_->~Books();
  std::free(books_);  // NOLINT(cppcoreguidelines-no-malloc)
}

namespace {

constexpr std::uint32_t kMostUntold = 32;

void count_unused_atoms(const SharedHeader* block, atom_readers::ThreadRecord& thread)
    TARE_REQUIRES(all_atom_tables.mutex) {
  const std::uint32_t told = std::exchange(thread.unused_count, 0);
  AtomTable::Books* books = all_atom_tables.by_id[atom_range::owner_of(block)];
  if (books == nullptr) return;  // the table is gone
  const std::uint32_t step = books->step.load(std::memory_order_relaxed);
  // 32 on average, and never the same: every 32nd may be of the same table always.
  thread.unused_random = thread.unused_random * 1'664'525 + 1'013'904'223;
  const std::uint64_t most = 2 * std::min(step, kMostUntold) - 1;
  thread.unused_limit = 1 + static_cast<std::uint32_t>(thread.unused_random * most >> 32);
  books->became_unused += told;
  if (books->became_unused < step) return;
  books->became_unused = 0;
  const std::size_t next = books->next_swept;
  books->next_swept = (next + 1) % kShards;
  books->shards[next].try_sweep(books->facts);
  if (next == 0) books->set_step();
}

// The lock is held while the table is used, because another thread may destroy it. A thread that can't get it keeps
// counting.
[[gnu::noinline]] void tell_unused_atoms(const SharedHeader* block, atom_readers::ThreadRecord& thread) {
  if (!all_atom_tables.mutex.try_lock()) {
    thread.unused_limit = thread.unused_count + kMostUntold;
    return;
  }
  count_unused_atoms(block, thread);
  all_atom_tables.mutex.unlock();
}

Atom too_long_or_no_table(AtomTable::Books* books) {
  return books == nullptr ? Atom{} : books->fail(AtomError::TooLong);
}

}  // namespace

Atom AtomTable::intern(std::string_view text) {
  if (books_ != nullptr && books_->is_simple(text)) [[likely]] {
    const atom_details::KeyWords words = atom_details::key_words(text);
    const std::uint64_t hash = atom_details::seeded_hash(text, words, books_->facts.secret);
    const AtomShard::Look look = books_->shard(hash).search_unlocked(text.size(), words, hash);
    if (look.handle != 0) [[likely]] {
      AtomBlock::acquire_alone(AtomBlock::at(look.handle));
      return Atom::adopt_handle(look.handle);
    }
    if (look.is_absent) return books_->make(text, hash);
  }
  return intern_with_care(text);
}

// Where there are threads, static atoms, long texts, or others with the same tag.
[[gnu::noinline]] Atom AtomTable::intern_with_care(std::string_view text) {
  if (books_ == nullptr || text.size() > SharedHeader::kLargestSize) [[unlikely]]
    return too_long_or_no_table(books_);
  const SoughtText sought(text, books_->facts.secret);
  const std::uint32_t handle = books_->find(sought);
  const bool is_found = handle != 0 && handle != AtomShard::kAskLocked;
  return is_found ? Atom::adopt_handle(handle) : books_->make(text, sought.hash);
}

Atom AtomTable::find(std::string_view text) {
  if (books_ == nullptr || text.size() > SharedHeader::kLargestSize) [[unlikely]]
    return too_long_or_no_table(books_);
  const SoughtText sought(text, books_->facts.secret);
  const std::uint32_t handle = books_->find(sought);
  // Without a lock an atom that was made before this call is found for sure, so that 0 is an answer.
  return Atom::adopt_handle(handle == AtomShard::kAskLocked ? books_->find_locked(text, sought.hash) : handle);
}

std::uint32_t AtomTable::find_handle(std::string_view text) {
  if (books_ != nullptr && books_->is_simple(text)) [[likely]] {
    const atom_details::KeyWords words = atom_details::key_words(text);
    const std::uint64_t hash = atom_details::seeded_hash(text, words, books_->facts.secret);
    const AtomShard::Look look = books_->shard(hash).search_unlocked(text.size(), words, hash);
    if (look.handle != 0 || look.is_absent) [[likely]]
      return look.handle;
  }
  return find_handle_with_care(text);
}

[[gnu::noinline]] std::uint32_t AtomTable::find_handle_with_care(std::string_view text) {
  if (books_ == nullptr || text.size() > SharedHeader::kLargestSize) [[unlikely]]
    return 0;
  const SoughtText sought(text, books_->facts.secret);
  if (books_->static_list_count != 0) {
    if (const std::uint32_t handle = books_->find_static(sought); handle != 0) return handle;
  }
  const std::uint32_t handle = books_->shard(sought.hash).find_handle(sought);
  return handle == AtomShard::kAskLocked ? find(text).handle() : handle;
}

Atom AtomTable::intern(std::u16string_view text) {
  const Bytes16 bytes(text);
  if (bytes.error() != AtomError::None) return books_ == nullptr ? Atom{} : books_->fail(bytes.error());
  return intern(bytes.text());
}

Atom AtomTable::find(std::u16string_view text) {
  const Bytes16 bytes(text);
  if (bytes.error() != AtomError::None) return books_ == nullptr ? Atom{} : books_->fail(bytes.error());
  return find(bytes.text());
}

std::size_t AtomTable::gc() {
  if (books_ == nullptr) return 0;
  const std::size_t freed = books_->sweep();
  if (freed != 0) atom_range::trim();
  books_->set_step();
  return freed;
}

AtomError AtomTable::error() const noexcept {
  return books_ == nullptr ? construction_error_ : books_->error.load(std::memory_order_relaxed);
}

std::size_t AtomTable::size() const noexcept { return books_ == nullptr ? 0 : books_->approximate_count(); }

bool AtomTable::visit(void (*call)(void* context, const Atom& atom), void* context) const {
  if (books_ == nullptr) return true;
  for (AtomShard& shard : books_->shards) {
    Buffer<Atom> atoms;
    if (!shard.hold_all(atoms)) return false;
    for (const Atom& atom : atoms) call(context, atom);
  }
  return true;
}

AtomTableUse AtomTable::use() const {
  AtomTableUse use;
  if (books_ == nullptr) return use;
  for (std::uint32_t i = 0; i < books_->static_list_count; ++i) {
    use.static_atoms += books_->static_lists[i]->count;
    use.static_bytes += books_->static_lists[i]->size_bytes;
  }
  for (AtomShard& shard : books_->shards) shard.add_use(use);
  books_->facts.pages.add_use(use);
  books_->visit_malloced(
      [&use](const void* block) { use.malloc_bytes += malloc_usable_size(const_cast<void*>(block)); });
  use.table_bytes += use.malloc_bytes;
  use.total_bytes = use.mapped_bytes + use.malloc_bytes;
  return use;
}

void visit_malloced(AtomTable::Books& books, void (*visit)(void* context, const void* block), void* context) {
  books.visit_malloced([&](const void* block) { visit(context, block); });
}

AtomRangeUse AtomTable::range() noexcept { return atom_range::use(); }

// Threads count for themselves and report to a table about every 32 atoms: a counter that all threads write would
// double the cost of a release. The report goes to the table of the last of them. That is right in programs with one
// table, and on average in others: a look-up for each atom took 1 ns more. The count of a thread that ends is lost.
void count_unused_atom(const SharedHeader* block) {
  atom_readers::ThreadRecord& thread = atom_readers::this_thread;
  if (++thread.unused_count < thread.unused_limit) [[likely]]
    return;
  tell_unused_atoms(block, thread);
}

}  // namespace tare::inline TARE_ABI
