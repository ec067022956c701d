// Contents of blocks, for recordings with contents: blocks are filled when they begin and read when they end.
//
// Only requested bytes are filled, and never bytes that the program may have written: of a grown block the new part, of
// calloc's none. Untouched pages of the kernel stay untouched. No locks, no allocation: a block belongs to the thread
// that makes or ends it.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/events/record.h"
#include "trace/model/content_digest.h"
#include "trace/model/content_table.h"

namespace tare::recorder {

// The contents of an ended block.
struct SeenContents {
  std::uint64_t unwritten_bytes = 0;  // at its end
  std::uint64_t digest = 0;           // 0: none
  bool is_new = false;                // its contents weren't seen before
  trace::ContentClass content_class = trace::ContentClass::Other;

  bool tells() const { return unwritten_bytes != 0 || digest != 0; }
};

// A block that realloc is about to take: off the table meanwhile, because its address may be another thread's next.
struct TakenContents {
  trace::ContentWord word{trace::ContentOrigin::Unknown, 0, 0};
  std::uint64_t requested = 0;
  std::uint64_t usable = 0;
};

class Contents {
 public:
  // False: no address space for the table.
  bool prepare();
  const void* table() const { return leaves_; }

  void born(const Block& block);
  // Prefetches the data that ended() reads first, so that it waits for both at once.
  void prefetch(std::uint64_t address) const {
    __builtin_prefetch(find(address));
    __builtin_prefetch(reinterpret_cast<const void*>(address));
    __builtin_prefetch(reinterpret_cast<const void*>(address - sizeof(std::uint64_t)));  // the allocator's header
  }
  // Reads a block before it's freed, and removes it from the table. Its digest must be the argument of the next
  // mark_new().
  SeenContents ended(std::uint64_t address);
  // Finds out whether the same contents were seen before. Separate from the reading, because the table of digests is
  // seldom in the first cache: a third of the cost of contents in a Python program was a wait for it.
  void mark_new(SeenContents& seen);

  // Around a realloc: the first looks and takes; then one of the others.
  SeenContents take(std::uint64_t address, TakenContents& taken);
  void grown(const TakenContents& taken, const Block& block);
  void put_back(std::uint64_t address, const TakenContents& taken);

  // The program called malloc_usable_size: the bytes that it writes beyond its request must survive a realloc.
  void mark_usable_queried(std::uint64_t address);

 private:
  using Word = trace::ContentTable::Word;
  void forget_blocks();
  Word* find(std::uint64_t address) const;  // null: no leaf there
  Word* make(std::uint64_t address);        // null: no memory
  std::uint64_t mark(std::uint64_t address, std::uint64_t requested, trace::ContentOrigin origin) const;
  std::atomic<std::uint16_t>& slot_of(std::uint64_t digest) { return digests_[digest % kDigests]; }
  bool was_seen(std::uint64_t digest);
  void keep(std::uint64_t address, std::uint64_t slop, trace::ContentOrigin origin);

  std::atomic<Word*>* leaves_ = nullptr;
  // Digests of earlier contents: a digest that isn't in is new, or old enough to have been replaced. 128 KiB fit the
  // second-level cache.
  static constexpr std::uint32_t kDigests = 1 << 16;
  std::atomic<std::uint16_t> digests_[kDigests] = {};
};

extern Contents contents_of_blocks;

}  // namespace tare::recorder
