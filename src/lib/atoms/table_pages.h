// The pages that one table has of the process' range. If there is a recorder, reports them and their contents to it as
// a pool (tare/reporter.h), so that the range hides nothing from `tare run`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/atoms/block.h"
#include "lib/atoms/mutex.h"
#include "tare/atom_table.h"
#include "tare/cage.h"
#include "tare/reporter.h"

namespace tare::inline TARE_ABI {

class TablePages {
 public:
  static constexpr std::size_t kSmallGrain = 512;

  // id: 1 to 255.
  void set_owner(std::uint8_t id) {
    id_ = id;
    pool_ = tare_pool_create("AtomTable");
  }
  std::uint8_t id() const { return id_; }

  // Whole pages.
  CageResult<PageRun> allocate(std::size_t size_bytes);
  void free(const PageRun& run, FreedPages pages);

  // Parts of pages that several shards share, up to size_bytes, a multiple of the grain. The rest of a page may be
  // smaller. They stay until the table goes: 16 KiB a shard or little more.
  CageResult<PageRun> allocate_small(std::size_t size_bytes);

  // When the table is destroyed: the shared pages become free, or ownerless if one of their atoms still has references.
  enum class Held : std::uint8_t { None, Some };
  void leave(Held held) TARE_UNCHECKED_LOCKS;  // the table ends, and has no other threads

  void add_use(AtomTableUse& use);

  // Around a fork, in a child too.
  void lock_for_fork() TARE_ACQUIRES(mutex_) { mutex_.lock(); }
  void unlock_after_fork() TARE_RELEASES(mutex_) { mutex_.unlock(); }

  // True if the contents of the pages, atoms and hash tables, are reported to the recorder.
  bool is_recorded() const { return pool_ != 0; }
  void tell_made(const void* block, std::size_t size_bytes) const { tare_pool_alloc(pool_, block, size_bytes); }
  void tell_freed(const void* block) const { tare_pool_free(pool_, block); }

 private:
  // In a shared page's first bytes; the rest is carved.
  struct Page {
    std::uint32_t next;  // handle; 0 ends the list
    std::uint32_t reserved;
  };

  tare_pool pool_ = 0;
  std::uint8_t id_ = 0;
  AtomMutex mutex_;
  // The shared pages.
  std::uint32_t first_page_ TARE_GUARDED_BY(mutex_) = 0;
  std::byte* next_ TARE_GUARDED_BY(mutex_) = nullptr;
  std::byte* end_ TARE_GUARDED_BY(mutex_) = nullptr;
  std::size_t small_pages_ TARE_GUARDED_BY(mutex_) = 0;
  std::size_t small_bytes_ TARE_GUARDED_BY(mutex_) = 0;
};

}  // namespace tare::inline TARE_ABI
