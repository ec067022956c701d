// Filling, the table of filled blocks, and the reading at their end.
#include "recorder/events/contents.h"

#include <cstring>

#include <sys/mman.h>

#include "recorder/base/address.h"
#include "recorder/base/syscall.h"
#include "recorder/hooks/real.h"
#include "recorder/unwind/own_memory.h"
#include "recorder/unwind/stack_memory.h"

namespace tare::recorder {

constinit Contents contents_of_blocks;

namespace {

using trace::ContentClass;
using trace::ContentOrigin;
using trace::ContentTable;
using trace::ContentWord;

constexpr std::uint64_t kBatchPages = 512;
constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kFetchedBytes = 16 * kLine;

std::uint8_t* bytes_at(std::uint64_t address) { return reinterpret_cast<std::uint8_t*>(address); }

// Which of the pages from `start` on are in memory. False: the kernel doesn't report it.
bool look_up_pages(std::uint64_t start, std::uint64_t pages, unsigned char* present) {
  return !sys::failed(
      sys::call(SYS_mincore, static_cast<long>(start), static_cast<long>(pages * kPage), sys::word(present)));
}

void put_fill_word(std::uint64_t address) {
  std::memcpy(bytes_at(address), &trace::kFillWord, sizeof trace::kFillWord);
}

// Small blocks here, as most are: the call took longer than their stores.
void fill_bytes(std::uint64_t start, std::uint64_t end) {
  constexpr std::uint64_t kWord = sizeof trace::kFillWord;
  if (end - start < kWord || end - start > 16 * kWord) {
    std::memset(bytes_at(start), trace::kFillByte, end - start);
    return;
  }
  for (std::uint64_t at = start; at < end - kWord; at += kWord) put_fill_word(at);
  put_fill_word(end - kWord);
}

// Untouched pages contain zeros.
TARE_REALIGNED ContentOrigin fill_present(std::uint64_t start, std::uint64_t end) {
  const std::uint64_t first = (start + kPage - 1) / kPage * kPage;
  const std::uint64_t last = end / kPage * kPage;
  ContentOrigin origin = ContentOrigin::Filled;
  fill_bytes(start, first);
  for (std::uint64_t at = first; at < last;) {
    unsigned char present[kBatchPages] = {};
    const std::uint64_t left = (last - at) / kPage;
    const std::uint64_t pages = left < kBatchPages ? left : kBatchPages;
    const bool is_known = look_up_pages(at, pages, present);
    for (std::uint64_t i = 0; i < pages; ++i, at += kPage) {
      if (!is_known || (present[i] & 1) != 0)
        fill_bytes(at, at + kPage);
      else
        origin = ContentOrigin::Zeroed;
    }
  }
  fill_bytes(last, end);
  return origin;
}

ContentOrigin fill(std::uint64_t start, std::uint64_t end) {
  if (end - start >= trace::kUntouchedBytes) return fill_present(start, end);
  fill_bytes(start, end);
  return ContentOrigin::Filled;
}

std::uint64_t mark_of(std::uint64_t start, std::uint64_t end, ContentOrigin origin) {
  return trace::high_water({bytes_at(start), end - start}, origin);
}

// Can this page of a block be read? The program may have protected it by any call: a guard page of a coroutine's stack,
// a page for later use. The kernel's answer takes 100 ns.
bool may_read_page(std::uint64_t page) { return !sys::forbidden_calls.has(SYS_rt_sigprocmask) && probe_readable(page); }

// As mark_of a block that has pages of its own: untouched ones aren't touched by it, and of a block with a page that
// can't be read all counts as written.
TARE_REALIGNED std::uint64_t mark_of_pages(std::uint64_t start, std::uint64_t end, ContentOrigin origin) {
  const std::uint64_t first = (start + kPage - 1) / kPage * kPage;
  std::uint64_t last = end / kPage * kPage;
  if (const std::uint64_t mark = mark_of(last, end, origin); mark != 0) return last + mark - start;
  const bool may_be_untouched = origin == ContentOrigin::Zeroed && end - start >= trace::kUntouchedBytes;
  while (last > first) {
    unsigned char present[kBatchPages] = {};
    const std::uint64_t left = (last - first) / kPage;
    const std::uint64_t pages = left < kBatchPages ? left : kBatchPages;
    const std::uint64_t from = last - pages * kPage;
    const bool is_known = may_be_untouched && look_up_pages(from, pages, present);
    for (std::uint64_t i = pages; i-- > 0;) {
      if (is_known && (present[i] & 1) == 0) continue;
      const std::uint64_t page = from + i * kPage;
      if (!may_read_page(page)) return end - start;
      if (const std::uint64_t mark = mark_of(page, page + kPage, origin); mark != 0) return page + mark - start;
    }
    last = from;
  }
  return mark_of(start, first, origin);
}

bool has_page_of_its_own(std::uint64_t address, std::uint64_t bytes) {
  return bytes >= kPage && (address + kPage - 1) / kPage * kPage + kPage <= address + bytes;
}

}  // namespace

// Entries of an earlier recording are cleared: their blocks may have ended since.
bool Contents::prepare() {
  if (leaves_ != nullptr) {
    forget_blocks();
    return true;
  }
  leaves_ = static_cast<std::atomic<Word*>*>(reserve_zeroed(ContentTable::kBytes));
  return leaves_ != nullptr;
}

// The leaves have tens of megabytes, mostly untouched zeros: if the kernel reports which pages are present, only these
// are scanned.
TARE_REALIGNED void Contents::forget_blocks() {
  constexpr std::uint64_t kSlotsAPage = kPage / sizeof(std::atomic<Word*>);
  for (std::uint64_t page = 0; page < ContentTable::kLeaves / kSlotsAPage;) {
    unsigned char present[kBatchPages] = {};
    const std::uint64_t left = ContentTable::kLeaves / kSlotsAPage - page;
    const std::uint64_t pages = left < kBatchPages ? left : kBatchPages;
    const bool is_known = look_up_pages(reinterpret_cast<std::uint64_t>(leaves_ + page * kSlotsAPage), pages, present);
    for (std::uint64_t i = 0; i < pages; ++i, ++page) {
      if (is_known && (present[i] & 1) == 0) continue;
      for (std::uint64_t slot = page * kSlotsAPage; slot < (page + 1) * kSlotsAPage; ++slot) {
        Word* const leaf = leaves_[slot].load(std::memory_order_acquire);
        if (leaf != nullptr) sys::madvise(leaf, ContentTable::kLeafWords * sizeof(Word), MADV_DONTNEED);
      }
    }
  }
}

Contents::Word* Contents::find(std::uint64_t address) const {
  if (!ContentTable::covers(address)) return nullptr;
  Word* leaf = leaves_[ContentTable::leaf_of(address)].load(std::memory_order_acquire);
  return leaf == nullptr ? nullptr : leaf + ContentTable::word_of(address);
}

Contents::Word* Contents::make(std::uint64_t address) {
  if (!ContentTable::covers(address)) return nullptr;
  std::atomic<Word*>& slot = leaves_[ContentTable::leaf_of(address)];
  Word* leaf = slot.load(std::memory_order_acquire);
  if (TARE_UNLIKELY(leaf == nullptr)) {
    constexpr std::uint64_t kLeafBytes = ContentTable::kLeafWords * sizeof(Word);
    Word* const made = static_cast<Word*>(reserve_zeroed(kLeafBytes));
    if (made == nullptr) return nullptr;
    if (slot.compare_exchange_strong(leaf, made, std::memory_order_acq_rel))
      leaf = made;
    else
      give_back(made, kLeafBytes);  // another thread was first
  }
  return leaf + ContentTable::word_of(address);
}

void Contents::keep(std::uint64_t address, std::uint64_t slop, ContentOrigin origin) {
  Word* const word = make(address);
  if (word != nullptr) word->store(ContentWord{origin, 0, slop}.bits(), std::memory_order_relaxed);
}

void Contents::born(const Block& block) {
  const std::uint64_t slop = block.usable - block.requested;
  Word* const word = make(block.address);
  if (word == nullptr) return;
  const bool is_known = block.maker == Maker::Allocator && slop <= ContentWord::kMostSlop;
  ContentOrigin origin = ContentOrigin::Unknown;
  if (is_known) {
    origin = block.api == trace::AllocApi::Calloc ? ContentOrigin::Zeroed
                                                  : fill(block.address, block.address + block.requested);
  }
  word->store(is_known ? ContentWord{origin, 0, slop}.bits() : 0, std::memory_order_relaxed);
}

bool Contents::was_seen(std::uint64_t digest) {
  std::atomic<std::uint16_t>& slot = slot_of(digest);
  const auto tag = static_cast<std::uint16_t>(digest / kDigests | 1);
  if (slot.load(std::memory_order_relaxed) == tag) return true;
  slot.store(tag, std::memory_order_relaxed);
  return false;
}

std::uint64_t Contents::mark(std::uint64_t address, std::uint64_t requested, ContentOrigin origin) const {
  // The last lines, which are scanned from the end: prefetched now, they arrive together.
  const std::uint64_t most = requested < kFetchedBytes ? requested : kFetchedBytes;
  for (std::uint64_t back = 1; back <= most; back += kLine) __builtin_prefetch(bytes_at(address + requested - back));
  if (origin == ContentOrigin::Unknown) return requested;
  return has_page_of_its_own(address, requested) ? mark_of_pages(address, address + requested, origin)
                                                 : mark_of(address, address + requested, origin);
}

SeenContents Contents::take(std::uint64_t address, TakenContents& taken) {
  Word* const word = find(address);
  const std::uint32_t bits = word == nullptr ? 0 : word->load(std::memory_order_relaxed);
  if (bits == 0) return {};
  word->store(0, std::memory_order_relaxed);
  taken.word = ContentWord::of(bits);
  taken.usable = usable_bytes(bytes_at(address), 0);
  if (taken.usable < taken.word.slop) {  // another block than the one that was kept
    taken = {};
    return {};
  }
  taken.requested = taken.usable - taken.word.slop;
  SeenContents seen;
  seen.unwritten_bytes = taken.requested - mark(address, taken.requested, taken.word.origin);
  return seen;
}

SeenContents Contents::ended(std::uint64_t address) {
  TakenContents taken;
  SeenContents seen = take(address, taken);
  if (taken.requested == 0 || taken.requested > trace::kMostDigestedBytes) return seen;
  // The program may have protected that page.
  if (has_page_of_its_own(address, taken.requested) && !may_read_page(address)) return seen;
  const std::span<const std::uint8_t> written{bytes_at(address), taken.requested - seen.unwritten_bytes};
  const std::uint64_t digest = trace::content_digest(written);
  __builtin_prefetch(&slot_of(digest), 1);
  seen.content_class = trace::content_class(written);
  if (seen.content_class != ContentClass::None && seen.content_class != ContentClass::Zeros) seen.digest = digest;
  return seen;
}

void Contents::mark_new(SeenContents& seen) { seen.is_new = seen.digest != 0 && !was_seen(seen.digest); }

void Contents::grown(const TakenContents& taken, const Block& block) {
  const std::uint64_t slop = block.usable - block.requested;
  ContentOrigin origin = taken.word.origin;
  if (origin == ContentOrigin::Unknown || slop > ContentWord::kMostSlop) return;
  const std::uint64_t from = taken.word.asked != 0 ? taken.usable : taken.requested;
  if (block.requested > from) {
    const ContentOrigin added = fill(block.address + from, block.address + block.requested);
    if (added == ContentOrigin::Zeroed) origin = ContentOrigin::Zeroed;
  }
  keep(block.address, slop, origin);
}

void Contents::put_back(std::uint64_t address, const TakenContents& taken) {
  Word* const word = find(address);
  if (word != nullptr) word->store(taken.word.bits(), std::memory_order_relaxed);
}

void Contents::mark_usable_queried(std::uint64_t address) {
  Word* const word = find(address);
  const std::uint32_t bits = word == nullptr ? 0 : word->load(std::memory_order_relaxed);
  if (bits != 0) word->store(bits | ContentWord{ContentOrigin::Unknown, 1, 0}.bits(), std::memory_order_relaxed);
}

}  // namespace tare::recorder
