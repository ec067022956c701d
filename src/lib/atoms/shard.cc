#include "lib/atoms/shard.h"

#include <algorithm>
#include <cstring>

#include "lib/atoms/block.h"
#include "lib/atoms/readers.h"

namespace tare::inline TARE_ABI {

[[gnu::noinline]] std::uint32_t AtomShard::search_on(const BucketArray& array, std::string_view text,
                                                     std::uint64_t hash) {
  return array.find(hash, [text](std::uint32_t handle) { return AtomBlock::at(handle)->text() == text; });
}

std::uint32_t AtomShard::find_locked(std::string_view text, std::uint64_t hash) {
  const Lock lock(mutex_);
  const std::uint32_t handle = search_on(array(), text, hash);
  if (handle != 0) AtomBlock::at(handle)->acquire();
  return handle;
}

std::uint32_t AtomShard::intern(std::string_view text, std::uint64_t hash, AtomTableFacts& facts, AtomError& error) {
  const Lock lock(mutex_);
  // Else no other thread can have made it since the search without the lock.
  if (!shared_details::is_single_threaded()) {
    if (const std::uint32_t found = search_on(array(), text, hash); found != 0) {
      AtomBlock::at(found)->acquire();
      return found;
    }
  }
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  if (count >= most_atoms(array().capacity()) && !grow(facts)) {
    error = AtomError::NoMemory;
    return 0;
  }
  std::byte* memory = slabs_.allocate(AtomBlock::bytes_for(text.size()), facts.pages);
  if (memory == nullptr) {
    error = slabs_.error();
    return 0;
  }
  AtomBlock::make(memory, text);
  facts.pages.tell_made(memory, AtomBlock::bytes_for(text.size()));
  const std::uint32_t handle = AtomBlock::handle_of(memory);
  array().insert(hash, handle);
  count_.store(count + 1, std::memory_order_relaxed);
  return handle;
}

// Puts all atoms, as enumerated by for_each_atom(call), into an array of another size. Each is hashed again: not to
// keep the hash saves 4 bytes an atom, and costs 5 ns here, of which there is one a lifetime.
template <class ForEachAtom>
bool AtomShard::rebuild(std::size_t bucket_count, AtomTableFacts& facts, ForEachAtom&& for_each_atom) {
  if (bucket_count > BucketArray::kMostBuckets) return false;
  BucketArray next = BucketArray::make(bucket_count, facts.pages);
  if (next.is_empty()) return false;
  for_each_atom([&](const SharedHeader* block) {
    next.insert(atom_details::seeded_hash(block->text(), facts.secret), AtomBlock::handle_of(block));
  });
  replace(next, facts.pages);
  return true;
}

bool AtomShard::grow(AtomTableFacts& facts) {
  const BucketArray old = array();
  return rebuild(next_bucket_count(old.count()), facts, [&old](auto&& put) {
    const auto for_slots = [&old](std::size_t index, auto&& call) {
      const AtomBucket& bucket = old.bucket(index);
      for (std::uint32_t slots = ~bucket.match(AtomBucket::kEmpty) & AtomBucket::kAllSlots; slots != 0;
           slots &= slots - 1) {
        call(AtomBlock::at(bucket.handle(static_cast<unsigned>(std::countr_zero(slots)))));
      }
    };
    for (std::size_t i = 0; i < old.count(); ++i) {
      // Two buckets ahead: the atoms lie anywhere, and 24 lines can be under way at once.
      if (i + 2 < old.count()) for_slots(i + 2, [](const SharedHeader* block) { __builtin_prefetch(block); });
      for_slots(i, put);
    }
  });
}

void AtomShard::replace(const BucketArray& array, TablePages& pages) {
  BucketArray old = this->array();
  own_array_ = array.packed();
  if (!is_hidden()) array_.store(own_array_, std::memory_order_release);
  if (has_no_readers()) {
    old.free(pages);
  } else if (!old.is_empty()) {
    if (retired_count_ == kRetired) free_retired(pages);
    retired_[retired_count_++] = old.packed();
    if (old.mapped_bytes() >= kMostRetiredBytes) free_retired(pages);
  }
}

void AtomShard::free_retired(TablePages& pages) {
  if (retired_count_ == 0) return;
  if (!has_no_readers()) atom_readers::wait_for_readers();
  for (std::uint32_t i = 0; i < retired_count_; ++i) BucketArray::unpacked(retired_[i]).free(pages);
  retired_count_ = 0;
}

void AtomShard::begin_sweep() {
  mutex_.lock();
  array_.store(kHidden, std::memory_order_relaxed);  // the wait for readers orders this
}

void AtomShard::end_sweep() {
  array_.store(own_array_, std::memory_order_release);
  mutex_.unlock();
}

bool AtomShard::try_sweep(AtomTableFacts& facts) {
  if (!mutex_.try_lock()) return false;
  array_.store(kHidden, std::memory_order_relaxed);
  atom_readers::wait_for_readers();
  sweep_hidden(facts, FreedPages::Return);
  end_sweep();
  return true;
}

// Takes dead atoms out of the hash table: one by one, or, if most are dead, by making a new one of the others.
void AtomShard::remove_dead(std::size_t left, AtomTableFacts& facts) {
  BucketArray array = this->array();
  const auto ignore_slab = [](std::size_t, std::size_t) {};
  if (left == 0) return replace({}, facts.pages);
  if (left < most_atoms(array.capacity()) / 3) {
    const std::size_t buckets = left * 3 / 2 / AtomBucket::kSlots + 1;
    const bool is_rebuilt = rebuild(buckets, facts, [&](auto&& put) TARE_REQUIRES(mutex_) {
      slabs_.walk(
          [&put](const SharedHeader* block) {
            if (!AtomBlock::is_free(block)) put(block);
          },
          ignore_slab);
    });
    if (is_rebuilt) return;
  }
  slabs_.walk(
      [&](const SharedHeader* block) {
        if (!AtomBlock::is_dead_atom(block)) return;
        array.remove(atom_details::seeded_hash(block->text(), facts.secret), AtomBlock::handle_of(block));
      },
      ignore_slab);
}

// A thread that holds an atom whose only reference is the table's must have found it here, and no thread finds atoms
// here now. So killing one takes no locked instruction: with one, and a wait for readers a shard, an atom took 11 to 19
// ns.
std::size_t AtomShard::sweep_hidden(AtomTableFacts& facts, FreedPages freed) {
  const auto [dead, left] = slabs_.kill_unused();
  if (dead != 0) {
    count_.store(static_cast<std::uint32_t>(left), std::memory_order_relaxed);
    remove_dead(left, facts);
    if (facts.pages.is_recorded()) {
      slabs_.walk(
          [&](const SharedHeader* block) {
            if (AtomBlock::is_dead_atom(block)) facts.pages.tell_freed(block);
          },
          [](std::size_t, std::size_t) {});
    }
    slabs_.reclaim(facts.pages, freed);
  }
  free_retired(facts.pages);
  return dead;
}

bool AtomShard::hold_all(Buffer<Atom>& atoms) {
  const Lock lock(mutex_);
  if (!atoms.reserve_exactly(count_.load(std::memory_order_relaxed))) return false;
  slabs_.walk(
      [&atoms](const SharedHeader* block) {
        if (AtomBlock::is_free(block)) return;
        static_cast<void>(atoms.push_back(Atom::from_handle(AtomBlock::handle_of(block))));  // there is room
      },
      [](std::size_t, std::size_t) {});
  return true;
}

void AtomShard::add_use(AtomTableUse& use) {
  const Lock lock(mutex_);
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
    const std::size_t bytes = BucketArray::unpacked(packed).mapped_bytes();
    use.mapped_bytes += bytes;
    use.table_bytes += bytes;
  };
  add_array(own_array_);
  use.slots += array().capacity();
  for (std::uint32_t i = 0; i < retired_count_; ++i) add_array(retired_[i]);
}

bool AtomShard::abandon(AtomTableFacts& facts) {
  begin_sweep();
  atom_readers::wait_for_readers();
  sweep_hidden(facts, FreedPages::Return);
  replace({}, facts.pages);
  const bool is_empty = slabs_.abandon();
  end_sweep();
  return is_empty;
}

}  // namespace tare::inline TARE_ABI
