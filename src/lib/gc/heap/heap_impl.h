// A heap: its pages by size, its roots, and when it collects.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/gc/heap/heap_pool.h"
#include "lib/gc/marking/rows.h"
#include "lib/gc/pages/space.h"
#include "lib/gc/roots/root_ring.h"
#include "lib/gc/roots/stacks.h"
#include "lib/gc/threads/locks.h"
#include "lib/gc/threads/pauses.h"
#include "tare/gc/heap.h"

namespace tare::inline TARE_ABI::gc {

// An object that has a prefinalize().
struct Prefinalizer {
  void* object;
  void (*call)(void* object);
};

// Cells of one size, for statistics; those of large objects have no one size.
struct SizeUse {
  std::size_t cell_bytes = 0;
  std::size_t pages = 0;
  std::size_t page_bytes = 0;
  std::size_t discarded_bytes = 0;
  std::size_t cells = 0;
  std::size_t objects = 0;  // dead ones included that weren't found yet
};

class ConcurrentMarking;
class Marker;

class HeapImpl final : public HeapCore {
 public:
  static CageResult<HeapCore*> create(Space& space, WriteBarrier barrier, const HeapOptions& options) noexcept;
  static void destroy(HeapCore* core) noexcept;
  static HeapImpl* of(const void* object) noexcept;  // the heap whose page contains the address; null if none

  // Allocation: heap_alloc.cc
  void* allocate_slowly(std::size_t size_class, Finalization finalization) noexcept;
  void* allocate_large(std::size_t cell_bytes, Finalization finalization) noexcept;
  void add_prefinalizer(const Prefinalizer& prefinalizer) noexcept { prefinalizers_.push(prefinalizer); }

  // Explicit: explicit.cc
  void free_object(std::uintptr_t object) noexcept;
  std::size_t room_of(std::uintptr_t object) noexcept;

  // Collection: collect.cc, sweep.cc
  void collect(StackState stack) noexcept;
  void finish_sweeping() noexcept;
  std::size_t compact(StackState stack) noexcept;  // compact.cc

  // Marking by steps: marking.cc
  bool collect_some(std::size_t budget_ns, StackState stack) noexcept;
  bool is_marking() const noexcept { return marker_ != nullptr; }
  bool is_of_this_thread() const noexcept { return pthread_equal(thread_, pthread_self()) != 0; }
  // While it is marking: stored references, a new root, and references written without the barrier.
  void mark_stored(const std::uint32_t* granules, std::size_t count) noexcept;
  void mark_linked(std::uintptr_t address) noexcept;
  void trace_again(std::uintptr_t object) noexcept;

  void trim() noexcept;  // trim.cc

  // The young generation: young.cc
  bool collect_young(StackState stack) noexcept;
  void remember(std::uintptr_t place) noexcept;  // which lies in an old object, or beside one
  static constexpr std::size_t kPartBytes = 512;

  // Objects: pages.cc. The object whose cell contains this address, if it is an object of a heap; 0 otherwise.
  std::uintptr_t object_around(std::uintptr_t address) noexcept;
  // The same for an address that is known to lie in an object, or in one that was freed.
  std::uintptr_t start_of(std::uintptr_t address) noexcept;
  std::uintptr_t start_in_page(std::uintptr_t address) noexcept;  // and in a page of this heap
  // As object_around, for an address that can only be an object's start, or lie within an object with mixins.
  std::uintptr_t object_at(std::uintptr_t address) noexcept;
  // Calls each(object, cell_bytes) for all objects, living or not found dead yet.
  template <class Each>
  void for_each_object(Each&& each);

  HeapUse use() const noexcept;
  bool is_sweeping() const noexcept;
  bool is_busy() const noexcept { return is_busy_; }
  std::array<SizeUse, cell::kClasses + 1> sizes() noexcept;  // the last: large objects
  void add_types(Rows<TypeUse>& types) noexcept;             // by number, including types without objects
  Space& space() noexcept { return space_; }
  RootList& roots(RootKind kind) noexcept { return roots_[static_cast<std::size_t>(kind)]; }
  CrossRootList& cross_roots(RootKind kind) noexcept TARE_REQUIRES(locks().cross_roots) {
    return cross_roots_[static_cast<std::size_t>(kind)];
  }
  // each(object), for all roots that keep theirs.
  template <class Each>
  void for_each_strong_root(const Each& each) {
    for (const RootKind kind : {RootKind::Strong, RootKind::Located}) roots(kind).for_each(each);
  }
  template <class Each>
  void for_each_strong_cross_root(const Each& each) TARE_REQUIRES(locks().cross_roots) {
    for (const RootKind kind : {RootKind::Strong, RootKind::Located}) cross_roots(kind).for_each(each);
  }
  Stacks& stacks() noexcept { return stacks_; }
  const HeapOptions& options() const noexcept { return options_; }

  std::uint32_t no_collection_scopes = 0;
  std::uint32_t disallow_scopes = 0;

 private:
  friend class Compactor;
  friend class Marker;

  HeapImpl(Space& space, WriteBarrier barrier, const HeapOptions& options) noexcept;
  ~HeapImpl() = default;

  struct PageList {
    std::uint32_t first = 0;    // units; 0: none
    std::uint32_t current = 0;  // has the stretch that is allocated from; those before it are full
  };

  // Cells that were freed one by one, each with the next one's granule in it; 0 ends the list.
  struct FreeCells {
    std::uint32_t first = 0;
  };

  PageList& list(std::size_t size_class, Finalization finalization) noexcept {
    return lists_[static_cast<std::size_t>(finalization)][size_class];
  }
  static std::size_t list_of(const Page& page) noexcept {
    const Finalization finalization = page.has_destructors ? Finalization::Destructor
                                      : page.is_movable    ? Finalization::Movable
                                                           : Finalization::None;
    return static_cast<std::size_t>(finalization);
  }
  template <class Each>
  void for_each_page(Each&& each);
  template <class Each>
  void for_each_stretch(Each&& each);

  // pages.cc
  std::uint32_t cell_at(const Page& page, std::uintptr_t address) noexcept;
  bool has_object(const Page& page, std::uint32_t cell) noexcept;
  std::uintptr_t object_of(const Page& page, std::uint32_t cell) noexcept {
    return space_.address_of(space_.unit_of(page)) + cell::kFirstObject + std::size_t{cell} * page.cell_bytes;
  }
  // Of marks and of used bits.
  static std::size_t words_of(const Page& page) noexcept {
    return page.kind == Page::Kind::Large ? 1 : page.units * Space::kWordsOfUnit;
  }
  static std::size_t bytes_of_cells(const Page& page) noexcept {
    return page.kind == Page::Kind::Large ? page.run_bytes : page.cell_bytes;
  }
  std::uintptr_t find(std::uintptr_t address, bool is_start_only) noexcept;
  // The first free cells from `begin` on, which is at the page's cursor or behind it: up to `end`. False if none are.
  bool free_cells_of(const Page& page, std::uint32_t& begin, std::uint32_t& end) noexcept;
  bool next_stretch_of(Page& page, Stretch& stretch) noexcept;

  // trim.cc
  void release_all_pooled() noexcept;
  void discard_free_cells(Page& page) noexcept;
  void forget_discarded(std::uintptr_t begin, std::uintptr_t end) noexcept;

  // heap_alloc.cc
  bool next_stretch(std::size_t size_class, Finalization finalization) noexcept;
  bool add_page(std::size_t size_class, Finalization finalization, CageError& error) noexcept;
  CageResult<std::uint32_t> take_pages(std::size_t bytes, Page::Kind kind) noexcept;
  template <class Attempt>
  void* with_all_means(std::size_t bytes, Attempt&& attempt) noexcept;
  void take_stretch(const Stretch& stretch, std::size_t cell_bytes) noexcept;
  void drop_page(std::uint32_t unit) noexcept;
  void forget_prefinalizer(std::uintptr_t object) noexcept;

  void drop_roots() noexcept;

  void release_pooled() noexcept;

  // marking.cc
  void collect_as_due() noexcept;
  // If the heap's thread does work that a helper could do.
  enum class Help : std::uint8_t { None, Full };
  bool advance(const Pause& pause, std::size_t budget_ns, Help help, StackState stack) noexcept;
  bool mark_until(std::size_t deadline_ns, Help help) noexcept;
  bool mark_last_roots(std::size_t deadline_ns, StackState stack) noexcept;
  void start_marking() noexcept;
  void stop_marking() noexcept;
  void abort_marking() noexcept;
  void take_back_marking() noexcept;
  void mark_cells(const Stretch& stretch, std::size_t cell_bytes) noexcept;
  void unmark_cells(const Stretch& stretch, std::size_t cell_bytes) noexcept;
  void release_surplus() noexcept;
  std::size_t window_bytes() const noexcept;
  std::size_t expected_marking_ns() const noexcept;

  // collect.cc
  enum class Extent : std::uint8_t { All, Young };
  void end_marking(Marker& marker, Extent extent, StackState stack) noexcept;
  void retire_stretches() noexcept;
  void learn(Extent extent, std::size_t live_bytes_before) noexcept;

  // young.cc
  void make_all_young() noexcept;
  void remember_part(std::uint32_t granule) noexcept;
  void note_old_places(Page& page) noexcept;
  void forget_freed(Page& page, std::uintptr_t object) noexcept;
  std::size_t grown_bytes() const noexcept;
  std::size_t full_collections() const noexcept { return collections_ - young_collections_; }

  // sweep.cc
  void sweep() noexcept;
  bool sweep_until(std::size_t deadline_ns) noexcept;
  void drop_empty(std::uint32_t& first) noexcept;
  void sweep_page(Page& page) noexcept;
  void sweep_words(Page& page) noexcept;
  void finalize_dead(Page& page) noexcept;
  void sweep_large() noexcept;
  void run_prefinalizers(bool all) noexcept;
  void set_limit() noexcept;
  void count_live() noexcept;

  void tell_dead() noexcept;   // reports unmarked objects to the recorder
  void tell_types() noexcept;  // the recorder, where the heap has never been that large

  Space& space_;
  HeapOptions options_;
  HeapPool pool_;
  Stacks stacks_;
  PageList lists_[kFinalizations][cell::kClasses];
  FreeCells free_cells_[kFinalizations][cell::kClasses];
  PageList large_;
  std::uint32_t pooled_ = 0;  // empty pages of one unit
  RootList roots_[kRootKinds];
  CrossRootList cross_roots_[kRootKinds] TARE_GUARDED_BY(locks().cross_roots);
  Rows<Prefinalizer> prefinalizers_;
  Rows<std::uint32_t> mark_stack_;

  // Marks stay after a collection and mean that an object is old.
  const bool is_generational_;
  Rows<std::uint32_t> remembered_;  // objects that are old, or were: if one is marked, it is the same still
  Rows<std::uint32_t> parts_;       // the same of large ones' parts, by the first granule of both; some more than once

  pthread_t thread_ = pthread_self();
  Marker* marker_ = nullptr;                 // while marking by steps
  ConcurrentMarking* concurrent_ = nullptr;  // the same, if another thread does it, too
  Rows<std::uint32_t> left_;                 // references that the helper leaves to this thread
  std::size_t marking_began_bytes_ = 0;      // of allocated_bytes_
  std::size_t next_step_bytes_ = 0;          // the same, when the next step is due
  std::size_t marking_ns_ = 0;               // of this collection so far
  std::uint32_t stack_scans_ = 0;
  bool gives_stores_ = false;  // to concurrent_
  // Predictions from the last collections: the surviving share of new objects, and the time of marking. Begins with 40
  // ns for an object of 32 bytes.
  double survival_ = 1;
  double marking_ns_a_byte_ = 40.0 / 32;
  Pauses pauses_;

  bool is_busy_ = false;  // finalizers, prefinalizers or call-backs run: nothing is allocated or collected
  std::size_t page_bytes_ = 0;
  std::size_t pooled_bytes_ = 0;
  std::size_t discarded_bytes_ = 0;
  std::size_t live_bytes_ = 0;
  std::size_t live_objects_ = 0;
  std::size_t allocated_bytes_ = 0;
  std::size_t told_bytes_ = 0;  // of cells, by tell_types()
  std::size_t limit_bytes_ = 0;
  std::size_t pool_limit_bytes_ = 0;  // empty pages beyond go back to the cage at once
  std::size_t full_live_bytes_ = 0;   // after the last collection of the whole heap
  std::size_t collections_ = 0;
  std::size_t young_collections_ = 0;
  std::size_t last_stack_roots_ = 0;
};

template <class Each>
void HeapImpl::for_each_page(Each&& each) {
  for (auto& of_kind : lists_) {
    for (PageList& of_class : of_kind) {
      for (std::uint32_t unit = of_class.first; unit != 0; unit = space_.page(unit).next) each(space_.page(unit));
    }
  }
  for (std::uint32_t unit = large_.first; unit != 0; unit = space_.page(unit).next) each(space_.page(unit));
}

template <class Each>
void HeapImpl::for_each_stretch(Each&& each) {
  for (auto& of_kind : stretches_) {
    for (std::size_t size_class = 0; size_class < cell::kClasses; ++size_class) {
      if (of_kind[size_class].next != of_kind[size_class].end) each(of_kind[size_class], cell::bytes_of(size_class));
    }
  }
}

template <class Each>
void HeapImpl::for_each_object(Each&& each) {
  for_each_page([&](Page& page) {
    for (std::uint32_t cell = 0; cell < page.cells; ++cell) {
      if (has_object(page, cell)) each(object_of(page, cell), bytes_of_cells(page));
    }
  });
}

// The cell whose header or object contains the address; page.cells if none.
inline std::uint32_t HeapImpl::cell_at(const Page& page, std::uintptr_t address) noexcept {
  const std::uintptr_t offset = address - space_.address_of(space_.unit_of(page));
  constexpr std::size_t kFirstHeader = cell::kFirstObject - sizeof(CellHeader);
  if (offset < kFirstHeader) return page.cells;
  if (page.kind == Page::Kind::Large) return 0;
  const auto index = static_cast<std::uint32_t>((offset - kFirstHeader) * page.cells_a_byte >> kReciprocalShift);
  return std::min(index, page.cells);
}

inline std::uintptr_t HeapImpl::start_in_page(std::uintptr_t address) noexcept {
  const Page& page = space_.page_around(address);
  const std::uint32_t cell = cell_at(page, address);
  return cell == page.cells ? 0 : object_of(page, cell);
}

}  // namespace tare::inline TARE_ABI::gc
