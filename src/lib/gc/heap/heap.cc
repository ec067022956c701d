#include "tare/gc/heap.h"

#include <new>

#include "lib/gc/heap/heap_impl.h"
#include "lib/gc/roots/stack_scan.h"
#include "lib/gc/threads/locks.h"
#include "lib/gc/threads/stop.h"

namespace tare::inline TARE_ABI::gc {

namespace {

HeapImpl& impl(HeapCore& core) noexcept { return static_cast<HeapImpl&>(core); }

}  // namespace

HeapImpl::HeapImpl(Space& space, WriteBarrier barrier, const HeapOptions& options) noexcept
    : space_(space),
      options_(options),
      stacks_(stack_end_of_thread()),
      is_generational_(barrier == WriteBarrier::Generational) {
  set_limit();
}

CageResult<HeapCore*> HeapImpl::create(Space& space, WriteBarrier barrier, const HeapOptions& options) noexcept {
  auto* heap = new (std::nothrow) HeapImpl(space, barrier, options);
  if (heap == nullptr) return CageError::NoMemory;
  return heap;
}

// All objects die. Persistents that their destructors make become null, too.
void HeapImpl::destroy(HeapCore* core) noexcept {
  auto* heap = static_cast<HeapImpl*>(core);
  heap->abort_marking();
  heap->finish_sweeping();
  heap->make_all_young();
  heap->tell_types();
  heap->retire_stretches();
  if (heap->pool_.has_objects()) heap->tell_dead();
  heap->drop_roots();
  heap->run_prefinalizers(true);
  heap->is_busy_ = true;
  heap->pool_limit_bytes_ = 0;  // nothing goes into the pool
  heap->for_each_page([&](Page& page) {
    page.live_cells = 0;
    heap->sweep_page(page);
  });
  for (auto& of_kind : heap->lists_) {
    for (PageList& pages : of_kind) heap->drop_empty(pages.first);
  }
  heap->drop_empty(heap->large_.first);
  heap->release_all_pooled();
  heap->drop_roots();
  delete heap;
}

void HeapImpl::drop_roots() noexcept {
  for (RootList& roots : roots_) roots.clear();
  const Lock lock(locks().cross_roots);
  for (CrossRootList& roots : cross_roots_) roots.clear();
}

HeapUse HeapImpl::use() const noexcept {
  return {.page_bytes = page_bytes_,
          .pooled_bytes = pooled_bytes_,
          .discarded_bytes = discarded_bytes_,
          .live_bytes = live_bytes_,
          .live_objects = live_objects_,
          .allocated_bytes = allocated_bytes_,
          .limit_bytes = is_generational_ ? std::min(options_.young_bytes, limit_bytes_) : limit_bytes_,
          .collections = collections_,
          .young_collections = young_collections_,
          .last_pause_ns = pauses_.last_ns,
          .last_stack_roots = last_stack_roots_,
          .pauses = pauses_.count,
          .paused_ns = pauses_.sum_ns,
          .longest_pause_ns = pauses_.longest_ns,
          .is_marking = is_marking(),
          .remembered_objects = remembered_.size(),
          .remembered_parts = parts_.size()};
}

// Pages before a list's current one are swept.
bool HeapImpl::is_sweeping() const noexcept {
  for (const PageList& pages : lists_[static_cast<std::size_t>(Finalization::Destructor)]) {
    for (std::uint32_t unit = pages.current; unit != 0; unit = space_.page(unit).next) {
      if (space_.page(unit).needs_sweep) return true;
    }
  }
  return false;
}

CageResult<HeapCore*> HeapBase::create_core(const GroupTraits& group, const HeapOptions& options) noexcept {
  const CageResult<Space*> space = Space::of_group(group);
  if (!space) return space.error();
  return HeapImpl::create(*space.value(), group.barrier, options);
}

HeapBase::~HeapBase() {
  if (core_ != nullptr) HeapImpl::destroy(core_);
}

void HeapBase::collect(StackState stack) noexcept { impl(*core_).collect(stack); }
bool HeapBase::collect_some(std::size_t budget_ns, StackState stack) noexcept {
  return impl(*core_).collect_some(budget_ns, stack);
}
bool HeapBase::collect_young_objects(StackState stack) noexcept { return impl(*core_).collect_young(stack); }
std::size_t HeapBase::compact(StackState stack) noexcept { return impl(*core_).compact(stack); }
void HeapBase::finish_sweeping() noexcept { impl(*core_).finish_sweeping(); }
void HeapBase::trim() noexcept { impl(*core_).trim(); }
bool HeapBase::is_sweeping() const noexcept { return impl(*core_).is_sweeping(); }
bool HeapBase::is_busy() const noexcept { return impl(*core_).is_busy(); }
HeapUse HeapBase::use() const noexcept { return impl(*core_).use(); }

bool HeapBase::owns(const void* address) const noexcept {
  Space& space = impl(*core_).space();
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return space.contains(number) &&
         space.page(space.unit_of(number)).heap.load(std::memory_order_relaxed) == &impl(*core_);
}

NoCollectionScope::NoCollectionScope(const HeapBase& heap) noexcept : core_(heap.core()) {
  ++impl(core_).no_collection_scopes;
}
NoCollectionScope::~NoCollectionScope() { --impl(core_).no_collection_scopes; }

DisallowCollectionScope::DisallowCollectionScope(const HeapBase& heap) noexcept : core_(heap.core()) {
  ++impl(core_).disallow_scopes;
}
DisallowCollectionScope::~DisallowCollectionScope() { --impl(core_).disallow_scopes; }

}  // namespace tare::inline TARE_ABI::gc
