// A 16th of a table: the atoms whose hashes name it, their memory, and one lock.
//
// Searches come first without the lock (find_shared); what they don't find is searched again, or made, under it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "lib/atoms/bucket_array.h"
#include "lib/atoms/mutex.h"
#include "lib/atoms/slabs.h"
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
  std::uint32_t find_shared(std::string_view text, std::uint64_t hash) const;
  // With it.
  std::uint32_t find(std::string_view text, std::uint64_t hash);
  std::uint32_t intern(std::string_view text, std::uint64_t hash, AtomTableFacts& facts, AtomError& error);

  // Frees the unused atoms; returns how many.
  std::size_t sweep(const AtomTableFacts& facts);
  // If nobody else is at it. False if somebody is.
  bool try_sweep(const AtomTableFacts& facts);

  std::size_t approximate_count() const { return count_.load(std::memory_order_relaxed); }

  // Adds what this shard has.
  void add_use(AtomTableUse& use);

  // Before the table goes: frees everything that nobody holds. True if then nothing is left.
  bool abandon(const AtomTableFacts& facts);

  // Atoms that became unused, counted where the lock isn't: on a line of its own, since every release may write it.
  alignas(64) std::atomic<std::uint32_t> became_unused{0};

 private:
  // Full at 86 %: beyond, searches that miss read a second line too often (one in three; one in ten on average).
  static constexpr std::size_t most_atoms(std::size_t capacity) { return capacity - capacity / 7; }
  static constexpr std::size_t kRetired = 4;

  std::uint32_t find_locked(std::string_view text, std::uint64_t hash) const;
  bool rebuild(std::size_t bucket_count, const AtomTableFacts& facts);
  void replace(const BucketArray& array);
  void free_retired();
  std::size_t sweep_locked(const AtomTableFacts& facts);

  alignas(64) AtomMutex mutex_;
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint64_t> array_{0};  // BucketArray::packed
  AtomSlabs slabs_;
  // Arrays that searches may still read: freed, all at once, when there is no room for another.
  std::uint32_t retired_count_ = 0;
  std::uint64_t retired_[kRetired] = {};
};

}  // namespace tare
