// A heap's reports to the recorder: its pages as a pool's memory, and their used parts.
//
// By default a page is one block of the pool, with the stack that first needed it: two events a page. If the
// environment has TARE_GC_RECORD=objects, each object is a block with a stack of its own, which costs as much as
// recording a malloc. Cells are handed out one by one then, so that the inline path isn't longer for other programs.
// Without a recorder each of these is a comparison, a page at a time.
//
// The contents of pages are reported by type, as amounts without reports: first "tare::gc::Heap/POOL/pages" with their
// bytes, then for each type "tare::gc::Heap/POOL/objects/TYPE" and "tare::gc::Heap/POOL/cells/TYPE" with the bytes of
// its cells (python/tare/types/collected_types.py reads them).
#pragma once

#include <cstddef>
#include <string_view>

#include "tare/gc/heap.h"
#include "tare/reporter.h"

namespace tare::inline TARE_ABI::gc {

class HeapPool {
 public:
  HeapPool() noexcept;
  ~HeapPool() { tare_pool_destroy(pool_); }  // with its blocks and memory
  HeapPool(const HeapPool&) = delete;
  HeapPool& operator=(const HeapPool&) = delete;

  bool is_recorded() const noexcept { return pool_ != 0; }
  bool has_objects() const noexcept { return has_objects_; }
  void tell_pages(std::size_t bytes) const noexcept { report("pages", "", bytes); }
  void tell_type(const TypeUse& type) const noexcept;

  // A page from the cage, and back to it; between, it may be used and not used several times.
  void grow(const void* page, std::size_t bytes) const noexcept { tare_pool_grow(pool_, page, bytes); }
  void shrink(const void* page) const noexcept { tare_pool_shrink(pool_, page); }
  void use_page(const void* page, std::size_t bytes) const noexcept {
    if (!has_objects_) tare_pool_alloc(pool_, page, bytes);
  }
  void leave_page(const void* page) const noexcept {
    if (!has_objects_) tare_pool_free(pool_, page);
  }

  void made(const void* object, std::size_t bytes) const noexcept {
    if (has_objects_) tare_pool_alloc(pool_, object, bytes);
  }
  void died(const void* object) const noexcept {
    if (has_objects_) tare_pool_free(pool_, object);
  }

 private:
  void report(const char* what, std::string_view name, std::size_t amount) const noexcept;

  tare_pool pool_;
  bool has_objects_ = false;
};

}  // namespace tare::inline TARE_ABI::gc
