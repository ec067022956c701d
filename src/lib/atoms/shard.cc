#include "lib/atoms/shard.h"

#include <algorithm>
#include <cstring>

#include "lib/atoms/block.h"
#include "lib/atoms/readers.h"

namespace tare {

namespace {

// Whether the block has this text. Its memory isn't reused while the caller reads or has the lock.
bool has_text(const SharedHeader* block, std::string_view text) {
  return block->size_bytes() == text.size() && std::memcmp(block->characters(), text.data(), text.size()) == 0;
}

}  // namespace

std::uint32_t AtomShard::find_shared(std::string_view text, std::uint64_t hash) const {
  const atom_readers::Reading reading;
  const BucketArray array = BucketArray::unpacked(array_.load(std::memory_order_acquire));
  return array.find(hash, [text](std::uint32_t handle) {
    SharedHeader* block = AtomBlock::at(handle);
    return has_text(block, text) && AtomBlock::acquire_unless_dead(block);
  });
}

std::uint32_t AtomShard::find_locked(std::string_view text, std::uint64_t hash) const {
  const BucketArray array = BucketArray::unpacked(array_.load(std::memory_order_relaxed));
  return array.find(hash, [text](std::uint32_t handle) { return has_text(AtomBlock::at(handle), text); });
}

std::uint32_t AtomShard::find(std::string_view text, std::uint64_t hash) {
  const std::lock_guard<AtomMutex> lock(mutex_);
  const std::uint32_t handle = find_locked(text, hash);
  if (handle != 0) AtomBlock::at(handle)->acquire();
  return handle;
}

std::uint32_t AtomShard::intern(std::string_view text, std::uint64_t hash, AtomTableFacts& facts, AtomError& error) {
  const std::lock_guard<AtomMutex> lock(mutex_);
  if (const std::uint32_t handle = find_locked(text, hash); handle != 0) {
    AtomBlock::at(handle)->acquire();
    return handle;
  }
  BucketArray array = BucketArray::unpacked(array_.load(std::memory_order_relaxed));
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  if (count >= most_atoms(array.capacity())) {
    if (!rebuild(array.count() + array.count() / 2 + 1, facts)) {
      error = AtomError::kNoMemory;
      return 0;
    }
    array = BucketArray::unpacked(array_.load(std::memory_order_relaxed));
  }
  array.prefetch(hash);
  std::byte* memory = slabs_.allocate(AtomBlock::bytes_for(text.size()), facts.small_slabs, facts.id);
  if (memory == nullptr) {
    error = slabs_.error();
    return 0;
  }
  AtomBlock::make(memory, text);
  const std::uint32_t handle = AtomBlock::handle_of(memory);
  array.insert(hash, handle);
  count_.store(count + 1, std::memory_order_relaxed);
  return handle;
}

// Moves all atoms to an array of another size. Each is hashed again: not to keep the hash saves 4 bytes an atom, and
// costs 5 ns here, of which there are two a lifetime.
bool AtomShard::rebuild(std::size_t bucket_count, const AtomTableFacts& facts) {
  if (bucket_count > BucketArray::kMostBuckets) return false;
  BucketArray next = BucketArray::make(bucket_count, facts.id);
  if (next.is_empty()) return false;
  const BucketArray old = BucketArray::unpacked(array_.load(std::memory_order_relaxed));
  const auto for_slots = [&old](std::size_t index, auto&& call) {
    const AtomBucket& bucket = old.bucket(index);
    for (std::uint32_t slots = ~bucket.match(AtomBucket::kEmpty) & AtomBucket::kAllSlots; slots != 0;
         slots &= slots - 1) {
      call(bucket.handle(static_cast<unsigned>(std::countr_zero(slots))));
    }
  };
  const auto prefetch = [](std::uint32_t handle) { __builtin_prefetch(AtomBlock::at(handle)); };
  for (std::size_t i = 0; i < old.count(); ++i) {
    // Two buckets ahead: the atoms lie anywhere, and 24 lines can be under way at once.
    if (i == 0) for_slots(i, prefetch);
    if (i == 0 && old.count() > 1) for_slots(1, prefetch);
    if (i + 2 < old.count()) for_slots(i + 2, prefetch);
    for_slots(i, [&](std::uint32_t handle) {
      next.insert(atom_details::seeded_hash(AtomBlock::at(handle)->text(), facts.secret), handle);
    });
  }
  replace(next);
  return true;
}

void AtomShard::replace(const BucketArray& array) {
  BucketArray old = BucketArray::unpacked(array_.load(std::memory_order_relaxed));
  array_.store(array.packed(), std::memory_order_release);
  if (shared_details::is_single_threaded()) {
    old.free();
  } else if (!old.is_empty()) {
    if (retired_count_ == kRetired) free_retired();
    retired_[retired_count_++] = old.packed();
  }
}

void AtomShard::free_retired() {
  if (retired_count_ == 0) return;
  atom_readers::wait_for_readers();
  for (std::uint32_t i = 0; i < retired_count_; ++i) BucketArray::unpacked(retired_[i]).free();
  retired_count_ = 0;
}

std::size_t AtomShard::sweep(const AtomTableFacts& facts) {
  const std::lock_guard<AtomMutex> lock(mutex_);
  return sweep_locked(facts);
}

bool AtomShard::try_sweep(const AtomTableFacts& facts) {
  if (!mutex_.try_lock()) return false;
  sweep_locked(facts);
  mutex_.unlock();
  return true;
}

std::size_t AtomShard::sweep_locked(const AtomTableFacts& facts) {
  became_unused.store(0, std::memory_order_relaxed);
  BucketArray array = BucketArray::unpacked(array_.load(std::memory_order_relaxed));
  // First take the dead ones out, so that no search finds them any more; then, when none is reading, free them.
  std::size_t dead = 0;
  slabs_.walk(
      [&](SharedHeader* block) {
        if (!AtomBlock::is_unused(block) || !AtomBlock::kill(block)) return;
        array.remove(atom_details::seeded_hash(block->text(), facts.secret), AtomBlock::handle_of(block));
        ++dead;
      },
      [](std::size_t, std::size_t) {});
  if (dead == 0) {
    free_retired();
    return 0;
  }
  const auto left = static_cast<std::uint32_t>(count_.load(std::memory_order_relaxed) - dead);
  count_.store(left, std::memory_order_relaxed);
  if (left == 0) {
    replace({});
  } else if (left < most_atoms(array.capacity()) / 3) {
    rebuild(left * 3 / 2 / AtomBucket::kSlots + 1, facts);  // if there is no memory for a smaller one, the old is kept
  }
  atom_readers::wait_for_readers();
  slabs_.reclaim();
  free_retired();
  return dead;
}

void AtomShard::add_use(AtomTableUse& use) {
  const std::lock_guard<AtomMutex> lock(mutex_);
  slabs_.walk(
      [&use](const SharedHeader* block) {
        const std::size_t bytes = AtomBlock::bytes_of(block);
        if (AtomBlock::is_free(block)) {
          use.free_bytes += bytes;
          return;
        }
        (AtomBlock::is_unused(block) ? use.unused_atoms : use.used_atoms) += 1;
        use.header_bytes += sizeof(SharedHeader);
        use.character_bytes += block->size_bytes();
        use.padding_bytes += bytes - sizeof(SharedHeader) - block->size_bytes();
        const bool was_handed_out = AtomBlock::was_handed_out(block);
        (was_handed_out ? use.handed_out_atoms : use.unshared_atoms) += 1;
        (was_handed_out ? use.handed_out_bytes : use.unshared_bytes) += bytes;
      },
      [&use](std::size_t slab_bytes, std::size_t block_bytes) { use.unfilled_bytes += slab_bytes - block_bytes; });
  use.mapped_bytes += slabs_.mapped_bytes();
  const auto add_array = [&use](std::uint64_t packed) {
    const BucketArray array = BucketArray::unpacked(packed);
    use.mapped_bytes += array.mapped_bytes();
    use.malloc_bytes += array.malloc_bytes();
    use.table_bytes += array.mapped_bytes() + array.malloc_bytes();
  };
  add_array(array_.load(std::memory_order_relaxed));
  use.slots += BucketArray::unpacked(array_.load(std::memory_order_relaxed)).capacity();
  for (std::uint32_t i = 0; i < retired_count_; ++i) add_array(retired_[i]);
}

bool AtomShard::abandon(const AtomTableFacts& facts) {
  sweep(facts);
  const std::lock_guard<AtomMutex> lock(mutex_);
  BucketArray array = BucketArray::unpacked(array_.load(std::memory_order_relaxed));
  array_.store(0, std::memory_order_relaxed);
  atom_readers::wait_for_readers();
  array.free();
  return slabs_.abandon();
}

}  // namespace tare
