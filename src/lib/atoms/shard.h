// A 16th of a table: the atoms whose hashes select it, their memory, and one lock.
//
// Searches come first without the lock (find); a text that isn't found is searched again under the lock, or added.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/atoms/bucket_array.h"
#include "lib/atoms/mutex.h"
#include "lib/atoms/readers.h"
#include "lib/atoms/slabs.h"
#include "lib/atoms/sought_text.h"
#include "tare/atom_table.h"
#include "tare/buffer.h"
#include "tare/internal/atom_key.h"

namespace tare::inline TARE_ABI {

// State that the shards of a table share.
struct AtomTableFacts {
  atom_details::HashSecret secret;
  TablePages pages;
};

class alignas(64) AtomShard {
 public:
  // The result of searches without the lock that are undecided: find_locked() decides. No atom has this handle: static
  // ones begin anew after each multiple of it.
  static constexpr std::uint32_t kAskLocked = kMostStaticAtoms + 1;
  static_assert(kAskLocked < atom_details::kFirstDynamicHandle);

  // Handles with a reference for the caller; 0 if there is none.
  //
  // Without the lock. Finds every atom that was there before and stays, but may miss one that is being made.
  [[gnu::always_inline]] std::uint32_t find(const SoughtText& sought) const {
    if (shared_details::is_single_threaded()) {
      const std::uint32_t handle = search(sought);
      if (handle != 0) AtomBlock::acquire_alone(AtomBlock::at(handle));
      return handle;
    }
    atom_readers::ThreadRecord* reader = atom_readers::begin();
    return reader == nullptr ? kAskLocked : search_and_hold(sought, reader);
  }
  // The same without the reference.
  [[gnu::always_inline]] std::uint32_t find_handle(const SoughtText& sought) const {
    if (shared_details::is_single_threaded()) return search(sought);
    atom_readers::ThreadRecord* reader = atom_readers::begin();
    if (reader == nullptr) return kAskLocked;
    const std::uint32_t handle = search(sought);
    atom_readers::end(reader);
    return handle;
  }
  // The same for short texts where there is no other thread: the one look that is enough 96 of 100 times, in so few
  // instructions that several searches are under way at once in a processor that waits for memory. A text that it
  // neither finds nor proves absent is left to find().
  struct Look {
    std::uint32_t handle;
    bool is_absent;
  };
  [[gnu::always_inline]] Look search_unlocked(std::size_t size_bytes, const atom_details::KeyWords& words,
                                              std::uint64_t hash) const {
    const BucketArray array = BucketArray::unpacked(array_.load(std::memory_order_relaxed));
    if (array.is_empty()) [[unlikely]]
      return {0, true};
    const BucketArray::FirstLook first = array.first_look(hash);
    if (first.handle == 0) return {0, first.is_all};
    const bool is_it = SoughtText::is_short_text_of(AtomBlock::at(first.handle), size_bytes, words);
    return {is_it ? first.handle : 0, false};
  }
  // With the lock: adds the text if it is absent.
  std::uint32_t intern(std::string_view text, std::uint64_t hash, AtomTableFacts& facts, AtomError& error);
  std::uint32_t find_locked(std::string_view text, std::uint64_t hash);

  // Sweeping, in three steps, so that one wait for readers serves several shards. begin_sweep() takes the lock and
  // hides the atoms from searches without it. The second, after atom_readers::wait_for_readers(), frees the unused
  // atoms, and slabs according to `freed`, and returns the number of atoms. The third shows the rest and unlocks.
  // Searches meanwhile wait for the lock.
  void begin_sweep() TARE_ACQUIRES(mutex_);
  std::size_t sweep_hidden(AtomTableFacts& facts, FreedPages freed) TARE_REQUIRES(mutex_);
  void end_sweep() TARE_RELEASES(mutex_);
  // All three steps, unless another thread sweeps. Returns false if one does.
  bool try_sweep(AtomTableFacts& facts);

  std::size_t approximate_count() const { return count_.load(std::memory_order_relaxed); }

  // References to all atoms that this shard has now. False without memory, with none taken.
  bool hold_all(Buffer<Atom>& atoms);

  // Adds this shard's use.
  void add_use(AtomTableUse& use);

  // Calls visit(block) for each block of malloc.
  template <class Visit>
  void visit_malloced(Visit&& visit);

  // Around a fork, in a child too.
  void lock_for_fork() TARE_ACQUIRES(mutex_) { mutex_.lock(); }
  void unlock_after_fork() TARE_RELEASES(mutex_) { mutex_.unlock(); }

  // Before the table is destroyed: frees everything without references. True if then nothing is left.
  bool abandon(AtomTableFacts& facts);

 private:
  // Full at 86 %: beyond, searches that miss read a second line too often (one in three; one in ten on average).
  static constexpr std::size_t most_atoms(std::size_t capacity) { return capacity - capacity / 7; }
  static constexpr std::size_t kRetired = 4;
  // Larger arrays go at once: to wait for readers takes a few us, where to fill the next array took 100. Kept, they
  // were 7 of 37 bytes an atom.
  static constexpr std::size_t kMostRetiredBytes = 16 * 1024;

  [[gnu::always_inline]] std::uint32_t search(const SoughtText& sought) const {
    const std::uint64_t packed = array_.load(std::memory_order_acquire);
    if (packed <= kHidden) [[unlikely]]
      return packed == kHidden ? kAskLocked : 0;
    const BucketArray array = BucketArray::unpacked(packed);
    const BucketArray::FirstLook first = array.first_look(sought.hash);
    if (first.handle != 0 && sought.is_text_of(AtomBlock::at(first.handle))) [[likely]]
      return first.handle;
    return first.is_all ? 0 : search_on(array, sought.text, sought.hash);
  }
  // With a reference, and the end of the reading. The first candidate gets a reference before its text is read. An atom
  // that two threads search at once then travels once between their cores and not twice, for reading and for counting
  // (two threads on 2,000 names: 32 ns instead of 35). Until the reading ends, the atoms in a bucket can't be freed.
  [[gnu::always_inline]] std::uint32_t search_and_hold(const SoughtText& sought,
                                                       atom_readers::ThreadRecord* reader) const {
    const std::uint64_t packed = array_.load(std::memory_order_acquire);
    if (packed <= kHidden) [[unlikely]] {
      atom_readers::end(reader);
      return packed == kHidden ? kAskLocked : 0;
    }
    const BucketArray array = BucketArray::unpacked(packed);
    const BucketArray::FirstLook first = array.first_look(sought.hash);
    SharedHeader* other = nullptr;  // with the same tag
    if (first.handle != 0) [[likely]] {
      other = AtomBlock::at(first.handle);
      AtomBlock::acquire_shared(other);
      if (sought.is_text_of(other)) [[likely]] {
        atom_readers::end(reader);
        return first.handle;
      }
    }
    const std::uint32_t handle = first.is_all ? 0 : search_on(array, sought.text, sought.hash);
    if (handle != 0) AtomBlock::acquire_shared(AtomBlock::at(handle));
    atom_readers::end(reader);
    if (other != nullptr) other->release();  // which may sweep, and that waits for readers
    return handle;
  }
  // From the start again, and out of line, so that the first look needs no stack.
  static std::uint32_t search_on(const BucketArray& array, std::string_view text, std::uint64_t hash);

  // In place of a packed array while the shard is swept: a count without an address.
  static constexpr std::uint64_t kHidden = 1;

  // For holders of the lock.
  BucketArray array() const TARE_REQUIRES(mutex_) { return BucketArray::unpacked(own_array_); }
  bool is_hidden() const { return array_.load(std::memory_order_relaxed) == kHidden; }
  // True if no search without the lock can be under way here.
  bool has_no_readers() const { return shared_details::is_single_threaded() || is_hidden(); }

  template <class ForEachAtom>
  bool rebuild(std::size_t bucket_count, AtomTableFacts& facts, ForEachAtom&& for_each_atom) TARE_REQUIRES(mutex_);
  bool grow(AtomTableFacts& facts) TARE_REQUIRES(mutex_);
  void replace(const BucketArray& array, TablePages& pages) TARE_REQUIRES(mutex_);
  void free_retired(TablePages& pages) TARE_REQUIRES(mutex_);
  void remove_dead(std::size_t left, AtomTableFacts& facts) TARE_REQUIRES(mutex_);
  // Doubled: by half would save 1.3 bytes an atom on average over all sizes (8.9 now), and moves every atom twice in a
  // lifetime instead of once: 30 ns of the 95 that making an atom of 164,334 took. The first bucket becomes four at
  // once, which spares moves and costs no memory; with four after four a table of 1,000 had 50 bytes an atom for 42.
  static std::size_t next_bucket_count(std::size_t count) { return count == 0 ? 1 : count == 1 ? 4 : 2 * count; }

  AtomMutex mutex_;
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint64_t> array_{0};  // BucketArray::packed, for searches: own_array_ or kHidden
  std::uint64_t own_array_ TARE_GUARDED_BY(mutex_) = 0;
  AtomSlabs slabs_ TARE_GUARDED_BY(mutex_);
  // Small arrays that searches may still read: freed, all at once, when there is no room for another.
  std::uint32_t retired_count_ TARE_GUARDED_BY(mutex_) = 0;
  std::uint64_t retired_[kRetired] TARE_GUARDED_BY(mutex_) = {};
};

template <class Visit>
void AtomShard::visit_malloced(Visit&& visit) {
  const Lock lock(mutex_);
  const auto visit_array = [&visit](std::uint64_t packed) {
    const BucketArray array = BucketArray::unpacked(packed);
    if (!array.is_empty() && array.mapped_bytes() == 0) visit(&array.bucket(0));
  };
  visit_array(own_array_);
  for (std::uint32_t i = 0; i < retired_count_; ++i) visit_array(retired_[i]);
}

}  // namespace tare::inline TARE_ABI
