// A heap: its pages by size, its roots, and when it collects.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/gc/root_ring.h"
#include "lib/gc/rows.h"
#include "lib/gc/space.h"
#include "tare/gc/heap.h"

namespace tare::gc {

// An object that wants prefinalize() to be called.
struct Prefinalizer {
  void* object;
  void (*call)(void* object);
};

class HeapImpl final : public HeapCore {
 public:
  static CageResult<HeapCore*> create(Space& space, const HeapOptions& options) noexcept;
  static void destroy(HeapCore* core) noexcept;
  static HeapImpl* of(const void* object) noexcept;  // whose page the address lies in; null if in none's

  // Allocation: heap_alloc.cc
  void* allocate_slowly(std::size_t size_class, Finalization finalization) noexcept;
  void* allocate_large(std::size_t cell_bytes, Finalization finalization) noexcept;
  void add_prefinalizer(const Prefinalizer& prefinalizer) noexcept { prefinalizers_.push(prefinalizer); }

  // Explicit: explicit.cc
  void free_object(std::uintptr_t object) noexcept;
  std::size_t room_of(std::uintptr_t object) noexcept;

  // Collection: collect.cc
  void collect(StackState stack) noexcept;
  void finish_sweeping() noexcept;
  void trim() noexcept;

  // Objects: pages.cc. The object whose cell has this address in it, if a heap's object lies there; 0 otherwise.
  std::uintptr_t object_around(std::uintptr_t address) noexcept;
  // The same, for what may only be an object's start, or lie within one that has mixins.
  std::uintptr_t object_at(std::uintptr_t address) noexcept;
  // Calls each(object, cell_bytes) for all objects, living or not found dead yet.
  template <class Each>
  void for_each_object(Each&& each);

  HeapUse use() const noexcept;
  Space& space() noexcept { return space_; }
  RootList& roots(RootKind kind) noexcept { return roots_[static_cast<std::size_t>(kind)]; }
  CrossRootList& cross_roots(RootKind kind) noexcept { return cross_roots_[static_cast<std::size_t>(kind)]; }
  const void* stack_end() const noexcept { return stack_end_; }
  const HeapOptions& options() const noexcept { return options_; }

  std::uint32_t no_collection_scopes = 0;
  std::uint32_t disallow_scopes = 0;

 private:
  friend class Marker;

  HeapImpl(Space& space, const HeapOptions& options) noexcept;
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
  template <class Each>
  void for_each_page(Each&& each);

  // pages.cc
  std::uint32_t cell_at(const Page& page, std::uintptr_t address) noexcept;
  bool has_object(const Page& page, std::uint32_t cell) noexcept;
  std::uintptr_t object_of(const Page& page, std::uint32_t cell) noexcept {
    return space_.address_of(space_.unit_of(page)) + cell::kFirstObject + std::size_t{cell} * page.cell_bytes;
  }
  static std::size_t bytes_of_cells(const Page& page) noexcept {
    return page.kind == Page::Kind::Large ? page.run_bytes : page.cell_bytes;
  }
  std::uintptr_t find(std::uintptr_t address, bool is_start_only) noexcept;
  bool next_stretch_of(Page& page, Stretch& stretch) noexcept;

  // heap_alloc.cc
  bool next_stretch(std::size_t size_class, Finalization finalization) noexcept;
  bool add_page(std::size_t size_class, Finalization finalization, CageError& error) noexcept;
  CageResult<std::uint32_t> take_pages(std::size_t bytes, Page::Kind kind) noexcept;
  void collect_for_allocation() noexcept;
  template <class Attempt>
  void* with_all_means(std::size_t bytes, Attempt&& attempt) noexcept;
  void drop_page(std::uint32_t unit) noexcept;
  void forget_prefinalizer(std::uintptr_t object) noexcept;

  void drop_roots() noexcept;

  // collect.cc
  void retire_stretches() noexcept;
  void sweep_words(Page& page) noexcept;
  void sweep_with_destructors(Page& page) noexcept;
  void sweep_list(PageList& list, bool only_needed) noexcept;
  void sweep_large() noexcept;
  void run_prefinalizers(bool all) noexcept;
  void set_limit() noexcept;
  void count_live() noexcept;

  Space& space_;
  HeapOptions options_;
  const void* stack_end_ = nullptr;
  PageList lists_[2][cell::kClasses];
  FreeCells free_cells_[2][cell::kClasses];
  PageList large_;
  std::uint32_t pooled_ = 0;  // empty pages of one unit
  RootList roots_[2];
  CrossRootList cross_roots_[2];
  Rows<Prefinalizer> prefinalizers_;
  Rows<std::uint32_t> mark_stack_;

  bool is_busy_ = false;  // finalizers, prefinalizers or call-backs run: nothing is allocated or collected
  std::size_t page_bytes_ = 0;
  std::size_t pooled_bytes_ = 0;
  std::size_t live_bytes_ = 0;
  std::size_t live_objects_ = 0;
  std::size_t allocated_bytes_ = 0;
  std::size_t limit_bytes_ = 0;
  std::size_t collections_ = 0;
  std::size_t last_pause_ns_ = 0;
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
void HeapImpl::for_each_object(Each&& each) {
  for_each_page([&](Page& page) {
    for (std::uint32_t cell = 0; cell < page.cells; ++cell) {
      if (has_object(page, cell)) each(object_of(page, cell), bytes_of_cells(page));
    }
  });
}

}  // namespace tare::gc
