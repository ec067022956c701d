// tare/gc/heap.h: Heap, where collected objects of one thread live.
//
//   tare::CageResult<tare::gc::Heap> made = tare::gc::Heap::create();
//   if (!made) return report(tare::describe(made.error()));
//   tare::gc::Heap heap = std::move(made.value());
//   tare::gc::Persistent<Document> document = tare::gc::make<Document>(heap, url);     // tare/gc/make.h
//   run(*document);
//   heap.collect(tare::gc::StackState::HoldsNone);         // in the event loop, where no pointer is on the stack
//
// An object lives while a Persistent keeps it, by itself or by the Members on a way to it, or while the stack may hold
// a pointer to it. Collections begin by themselves after the amount of allocation in HeapOptions; those scan the stack,
// as an allocation may happen anywhere. A likely pointer there keeps its object; src/lib/gc/roots/stack_scan.h
// describes the cost and the rules. A program that collects by hand in its event loop, before the limit is reached,
// never pays for it.
//
// A heap that can't be marked within HeapOptions::pause_goal_ns is marked by steps while the program runs, at a rate
// that follows its allocation. Only the last step scans the stack. With Marking::Concurrent another thread does most of
// it. An event loop may take steps by itself, collect_some().
//
// In a group with WriteBarrier::Generational (tare/gc/barrier.h) the objects made since the last collection can be
// collected alone, in time proportional to their survivors and not to the whole heap: collect_young(). Automatic
// collections are of that kind then, and of the whole heap when their survivors have grown by growth_percent.
//
// All heaps of a group (by default DefaultGroup) lie in one cage, which the first of them reserves and which stays. If
// the wanted size can't be reserved, a half is tried, a quarter, and so on down to 64 MiB; under RLIMIT_AS no more than
// half of the limit. When the cage or the heap's budget is used up and collecting doesn't help, make() returns null and
// the program goes on.
//
// Thread-safety: a heap belongs to the thread that made it: objects, Members, Persistents, collections, destruction.
// Other threads have heaps of their own in the same cage, and collect when they like. CrossThreadPersistent
// (tare/gc/cross_thread_persistent.h) is for the rest.
//
// Source of the ideas: Oilpan (Member, Persistent, per-thread heaps); marks beside the cage and sweeping by words as in
// Go's and in Immix-like collectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "tare/cage.h"
#include "tare/gc/barrier.h"
#include "tare/gc/decoding.h"
#include "tare/internal/export.h"
#include "tare/internal/gc/cell.h"
#include "tare/internal/gc/heap_core.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {
class ReportSink;
}

namespace tare::inline TARE_ABI::gc {

enum class StackState : std::uint8_t {
  MayHoldPointers,  // scan it
  HoldsNone,        // no pointer to a collected object is in any frame of this thread that will use it again
};

enum class Collections : std::uint8_t {
  Automatic,  // when the limit is reached, in make(); and by hand
  ByHand,     // in collect() only
};

enum class Marking : std::uint8_t {
  AtOnce,
  Incremental,  // by steps of the heap's thread
  Concurrent,   // mostly by another thread, which calls trace(): see tare/gc/visitor.h for its restrictions
};

// The argument of near_limit.
struct NearLimit {
  std::size_t wanted_bytes = 0;  // the pages that couldn't be allocated
  std::size_t page_bytes = 0;    // the heap's pages
  std::size_t budget_bytes = 0;
  bool is_cage_exhausted = false;  // then a larger budget doesn't help, but dropping objects does
};

struct HeapOptions {
  Collections collections = Collections::Automatic;

  // The most pages that the heap may have. Beyond, make() returns null.
  std::size_t budget_bytes = SIZE_MAX;

  // An automatic collection begins after this amount of allocation since the last: growth_percent of the bytes alive
  // after it, and at least least_growth_bytes. A higher value costs less CPU and more memory: at 100 % a heap has up to
  // twice its live bytes.
  std::size_t growth_percent = 100;
  std::size_t least_growth_bytes = std::size_t{4} << 20;

  // In a group with WriteBarrier::Generational: after so much was allocated the young are collected, at once. The two
  // above then decide when the whole heap is collected, by the bytes that have become old since.
  std::size_t young_bytes = std::size_t{2} << 20;

  // How automatic collections and collect_some() mark. A group without WriteBarrier (tare/gc/barrier.h) marks at once.
  Marking marking = Marking::Incremental;

  // How long the heap's thread may be kept from its work by a step, and by a collection that is done at once for being
  // that short. A goal: the program's own trace(), destructors and a deep stack can't be divided. 0: the shortest
  // possible steps, and always by steps.
  std::size_t pause_goal_ns = 1'000'000;

  // Called when neither the cage nor the budget has room and a collection didn't help; may drop objects and returns the
  // budget from now on. make() tries once more after it. Not to allocate in.
  std::size_t (*near_limit)(void* context, const NearLimit& limit) = nullptr;
  void* near_limit_context = nullptr;

  // Each collection is verified: all targets of objects and Persistents must be marked, and be objects of this heap; so
  // must the targets of uncleared WeakMembers. Ends the program with both types' names if not. Takes as long as
  // marking. Libraries built with assertions always do.
  bool verifies = false;
};

// All in bytes unless noted. A page is 64 KiB or 256, or an object's own.
struct HeapUse {
  std::size_t page_bytes = 0;         // in use, without pooled ones
  std::size_t pooled_bytes = 0;       // empty pages that are kept for the next allocations
  std::size_t discarded_bytes = 0;    // of page_bytes, released to the kernel by trim() and not needed since
  std::size_t live_bytes = 0;         // cells that the last collection left; unswept ones count as alive
  std::size_t live_objects = 0;       //
  std::size_t allocated_bytes = 0;    // since then
  std::size_t limit_bytes = 0;        // of allocated_bytes, for the next automatic collection
  std::size_t collections = 0;        // since the heap was made
  std::size_t young_collections = 0;  // those of them that were of young objects alone
  std::size_t last_pause_ns = 0;      // of the last one, or of its last step; without lazy sweeping
  std::size_t last_stack_roots = 0;   // objects that the scan of the stack found
  // All times that the heap's thread was kept from its work, steps and whole collections alike.
  std::size_t pauses = 0;
  std::size_t paused_ns = 0;
  std::size_t longest_pause_ns = 0;
  bool is_marking = false;
  std::size_t remembered_objects = 0;  // old ones that a young one was stored into since the last collection
  std::size_t remembered_parts = 0;    // of others that are large; one may count more than once
};

// Objects of one type, for statistics and reports.
struct TypeUse {
  std::string_view name;
  std::size_t objects = 0;
  std::size_t cell_bytes = 0;
};

// The interface of heaps of all groups.
class TARE_API HeapBase {
 public:
  HeapBase() noexcept = default;
  HeapBase(HeapBase&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  HeapBase& operator=(HeapBase&& other) noexcept {
    std::swap(core_, other.core_);
    return *this;
  }
  // Prefinalizers and destructors of all objects run, Persistents become null, pages go back to the cage.
  ~HeapBase();

  // Frees dead objects now and at once; marking under way is discarded. Nothing in a NoCollectionScope. Destructors may
  // run later, see finish_sweeping().
  void collect(StackState stack) noexcept;

  // A step of a collection, which is begun if none is under way: marks for about so long, and ends the collection if
  // nothing is left to mark. Objects that died after it began may stay until the next. True if it ended. For
  // event loops that have time to spare; automatic collections take their own steps beside it.
  bool collect_some(std::size_t budget_ns, StackState stack) noexcept;

  // Collects, and then moves arrays of HeapVector, HeapDeque and HeapHashMap out of pages that have few of them into
  // others, which empties those. For a heap that has shrunk, in an event loop. Returns the number of freed bytes in
  // pages; trim() releases the kept ones to the kernel.
  //
  // References to elements, iterators and spans of containers in objects are no longer good, unless `stack` may hold
  // pointers and they lie there: an array stays where it is as long as a word of the stack, a root, an object in
  // construction or a second Member may point to it. Arrays whose elements have destructors, arrays above 32 KiB, and
  // all other objects stay: pointers to objects, and hashes of them, don't change. Takes as long as a collection all at
  // once, and as long again.
  std::size_t compact(StackState stack) noexcept;

  // Runs the pending destructors of objects that the last collection found dead. Otherwise they do as pages are reused,
  // and before the next collection.
  void finish_sweeping() noexcept;

  // Releases unneeded memory to the kernel: kept empty pages, and free cells of pages in use. Destructors that are due
  // run before. Pending destructors run first. For a program that will be idle: memory that it takes again costs a
  // fault for each 4 KiB.
  void trim() noexcept;

  // Whether finish_sweeping() would find a destructor to run.
  bool is_sweeping() const noexcept;
  // True in a destructor, prefinalizer or call-back of the heap: make() returns null there, and collections do nothing.
  bool is_busy() const noexcept;

  HeapUse use() const noexcept;
  bool owns(const void* address) const noexcept;  // true if the address lies in a page of this heap

  // Calls each(TypeUse) for all types that have objects, dead ones included that weren't found yet. Walks the heap:
  // about 5 ns an object.
  template <class Each>
  void for_each_type(Each&& each) const {
    walk_types([](void* context, const TypeUse& type) { (*static_cast<Each*>(context))(type); }, &each);
  }

  // Under paths of types: "TYPE/cells", then "free-cells" and "pooled". From a call-back of a ReporterRegistry.
  void report(ReportSink& sink) const;

  // The cage that the heap shares with all of its group: how much of it is used, and the longest run that is free.
  // Reserved and unused addresses appear in no figure of the system, and heaps run out of them.
  CageUse cage_use() const noexcept;
  // Its metadata and tables as memory; beside, "used", "reserved", "largest-free" and, in percent, "occupancy" (used of
  // reserved) and "fragmentation" (the part of the free bytes that isn't in the longest run). Once for each group:
  //   registry.add("explicit/gc-cage", [&](ReportSink& sink) { heap.report_cage(sink); });
  void report_cage(ReportSink& sink) const;

  HeapCore& core() const noexcept { return *core_; }  // for make() and its kin

 protected:
  friend class Space;
  explicit HeapBase(HeapCore* core) noexcept : core_(core) {}

  struct GroupTraits {
    std::size_t slot;
    WriteBarrier barrier;
    CageOptions cage;
    bool is_low;
    DecodingShape (*shape)(std::uintptr_t cage_begin);
    std::uintptr_t (*base)(const DecodingShape& shape);
  };
  static CageResult<HeapCore*> create_core(const GroupTraits& group, const HeapOptions& options) noexcept;
  bool collect_young_objects(StackState stack) noexcept;

 private:
  void walk_types(void (*each)(void* context, const TypeUse& type), void* context) const;

  HeapCore* core_ = nullptr;
};

template <class Group>
class HeapOf : public HeapBase {
 public:
  HeapOf() noexcept = default;  // none: may be assigned to and destroyed

  // Errors: those of Cage::reserve for the group's first heap, Exhausted or NoMemory later. SlotTaken, if another group
  // has a heap, and the slot, with another Decoding or WriteBarrier.
  static CageResult<HeapOf> create(const HeapOptions& options = {}) noexcept {
    using Decoding = typename Group::Decoding;
    HeapOptions possible = options;
    // Code that finds objects through the heap's thread uses that.
    if constexpr (requires { Decoding::enter_thread(); }) {
      if (options.marking == Marking::Concurrent) possible.marking = Marking::Incremental;
    }
    if (kWriteBarrierOf<Group> == WriteBarrier::None) possible.marking = Marking::AtOnce;
    CageResult<HeapCore*> core = create_core({.slot = Decoding::kCageSlot,
                                              .barrier = kWriteBarrierOf<Group>,
                                              .cage = Decoding::cage_options(Group::kCageBytes),
                                              .is_low = Decoding::kIsLow,
                                              .shape = [](std::uintptr_t begin) { return Decoding::shape(begin); },
                                              .base = [](const DecodingShape& shape) { return Decoding::base(shape); }},
                                             possible);
    if (!core) return core.error();
    if constexpr (requires { Decoding::enter_thread(); }) Decoding::enter_thread();
    return HeapOf(core.value());
  }

  // Frees dead objects among those made since the last collection of any kind; survivors are old from then on. Of old
  // objects, only those that young ones were stored into are traced: their weak members, ephemerons and weak call-backs
  // are handled, and those of others needn't be. False, and nothing happens, while the whole heap is being marked by
  // steps. Objects freed by hand (tare/gc/explicit.h) must not be referenced by dead objects, either: an old one isn't
  // known to be dead.
  bool collect_young(StackState stack) noexcept
    requires(kWriteBarrierOf<Group> == WriteBarrier::Generational)
  {
    return collect_young_objects(stack);
  }

 private:
  explicit HeapOf(HeapCore* core) noexcept : HeapBase(core) {}
};

using Heap = HeapOf<DefaultGroup>;

// While one lives the heap doesn't collect: allocations take pages instead, collect() does nothing.
class TARE_API NoCollectionScope {
 public:
  explicit NoCollectionScope(const HeapBase& heap) noexcept;
  ~NoCollectionScope();
  NoCollectionScope(const NoCollectionScope&) = delete;
  NoCollectionScope& operator=(const NoCollectionScope&) = delete;

 private:
  HeapCore& core_;
};

// While one lives a collection, or an allocation that could begin one, is a mistake: it ends the program with a
// message. For code that holds pointers in unscanned places.
class TARE_API DisallowCollectionScope {
 public:
  explicit DisallowCollectionScope(const HeapBase& heap) noexcept;
  ~DisallowCollectionScope();
  DisallowCollectionScope(const DisallowCollectionScope&) = delete;
  DisallowCollectionScope& operator=(const DisallowCollectionScope&) = delete;

 private:
  HeapCore& core_;
};

}  // namespace tare::inline TARE_ABI::gc
