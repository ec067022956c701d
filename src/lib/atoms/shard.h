// A 16th of a table: the atoms whose hashes name it, their memory, and one lock.
//
// Searches come first without the lock (find); what they don't find is searched again, or made, under it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "lib/atoms/bucket_array.h"
#include "lib/atoms/mutex.h"
#include "lib/atoms/readers.h"
#include "lib/atoms/slabs.h"
#include "lib/atoms/sought_text.h"
#include "tare/atom_key.h"
#include "tare/atom_table.h"

namespace tare {

// What the shards of a table share.
struct AtomTableFacts {
  atom_details::HashSecret secret;
  std::uint8_t id = 0;  // 1 to 255; 0: the table couldn't be made
  SmallSlabs small_slabs;
};

class alignas(64) AtomShard {
 public:
  // Handles with a reference for the caller; 0 if there is none.
  //
  // Without the lock. Finds every atom that was there before and stays, but may miss one that is being made.
  [[gnu::always_inline]] std::uint32_t find(const SoughtText& sought) const {
    const bool is_alone = shared_details::is_single_threaded();
    atom_readers::ThreadRecord* reader = nullptr;
    if (!is_alone && (reader = atom_readers::begin()) == nullptr) return 0;
    std::uint32_t handle = search(sought);
    if (is_alone) {
      if (handle != 0) AtomBlock::acquire_alone(AtomBlock::at(handle));
      return handle;
    }
    if (handle != 0 && !AtomBlock::acquire_unless_dead(AtomBlock::at(handle))) handle = 0;
    atom_readers::end(reader);
    return handle;
  }
  // With the lock: makes what isn't there.
  std::uint32_t intern(std::string_view text, std::uint64_t hash, AtomTableFacts& facts, AtomError& error);
  std::uint32_t find_locked(std::string_view text, std::uint64_t hash);

  // Frees the unused atoms, and slabs as `pages` says; returns how many.
  std::size_t sweep(const AtomTableFacts& facts, FreedPages pages);
  // If nobody else is at it. False if somebody is.
  bool try_sweep(const AtomTableFacts& facts);

  std::size_t approximate_count() const { return count_.load(std::memory_order_relaxed); }

  // Adds what this shard has.
  void add_use(AtomTableUse& use);

  // Before the table goes: frees everything that nobody holds. True if then nothing is left.
  bool abandon(const AtomTableFacts& facts);

 private:
  // Full at 86 %: beyond, searches that miss read a second line too often (one in three; one in ten on average).
  static constexpr std::size_t most_atoms(std::size_t capacity) { return capacity - capacity / 7; }
  static constexpr std::size_t kRetired = 4;

  [[gnu::always_inline]] std::uint32_t search(const SoughtText& sought) const {
    const BucketArray array = BucketArray::unpacked(array_.load(std::memory_order_acquire));
    if (array.is_empty()) return 0;
    const BucketArray::FirstLook first = array.first_look(sought.hash);
    if (first.handle != 0 && sought.is_text_of(AtomBlock::at(first.handle))) [[likely]]
      return first.handle;
    return first.is_all ? 0 : search_on(array, sought.text, sought.hash);
  }
  // From the start again, and out of line, so that the first look needs no stack.
  static std::uint32_t search_on(const BucketArray& array, std::string_view text, std::uint64_t hash);

  template <class ForEachAtom>
  bool rebuild(std::size_t bucket_count, const AtomTableFacts& facts, ForEachAtom&& for_each_atom);
  bool grow(const AtomTableFacts& facts);
  void replace(const BucketArray& array);
  void free_retired();
  void remove_dead(std::size_t left, const AtomTableFacts& facts);
  std::size_t sweep_locked(const AtomTableFacts& facts, FreedPages pages);
  // By half; while they are below a page doubled, since every atom is moved once less and little is lost.
  static std::size_t next_bucket_count(std::size_t count) {
    return count < 64 ? std::max<std::size_t>(count * 2, 1) : count + count / 2;
  }

  AtomMutex mutex_;
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint64_t> array_{0};  // BucketArray::packed
  AtomSlabs slabs_;
  // Arrays that searches may still read: freed, all at once, when there is no room for another.
  std::uint32_t retired_count_ = 0;
  std::uint64_t retired_[kRetired] = {};
};

}  // namespace tare
