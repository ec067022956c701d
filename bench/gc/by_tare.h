// The bench's objects in tare's heaps, in the group that the program is compiled for.
#pragma once

#include <cstdint>
#include <utility>

#include "collecting.h"
#include "tare/gc/make.h"
#include "tare/gc/persistent.h"
#include "tare/gc/visitor.h"
#include "tare/internal/gc/decoding_variants.h"

#define TARE_BENCH_MARKS_ON_DEMAND 1

namespace tare::bench {

struct BenchGroup {
#if defined(TARE_BENCH_TARE_SEED)
  using Decoding = gc::SeedDecoding<1>;
  static constexpr const char* kSubject = "tare-seed";
#elif defined(TARE_BENCH_TARE_SEED16)
  using Decoding = gc::SeedDecoding<1, 3>;
  static constexpr const char* kSubject = "tare-seed16";
#elif defined(TARE_BENCH_TARE_LOW)
  using Decoding = gc::LowDecoding<1>;
  static constexpr const char* kSubject = "tare-low";
#elif defined(TARE_BENCH_TARE_THREAD_BASE)
  using Decoding = gc::ThreadBaseDecoding<1>;
  static constexpr const char* kSubject = "tare-thread-base";
#elif defined(TARE_BENCH_TARE_SHIFTLESS)
  using Decoding = gc::ShiftlessDecoding<1>;
  static constexpr const char* kSubject = "tare-shiftless";
#elif defined(TARE_BENCH_TARE_NO_BARRIER)
  using Decoding = gc::SplitDecoding<1>;
  static constexpr gc::WriteBarrier kWriteBarrier = gc::WriteBarrier::None;
  static constexpr const char* kSubject = "tare-no-barrier";
#elif defined(TARE_BENCH_TARE_GENERATIONAL)
  using Decoding = gc::SplitDecoding<1>;
  static constexpr gc::WriteBarrier kWriteBarrier = gc::WriteBarrier::Generational;
  static constexpr const char* kSubject = "tare-generational";
#else
  using Decoding = gc::SplitDecoding<1>;
  static constexpr const char* kSubject = "tare";
#endif
  static constexpr std::size_t kCageBytes = std::size_t{4} << 30;
};

struct Collector {
  static constexpr const char* kSubject = BenchGroup::kSubject;
  static constexpr bool kCollects = true;
  static constexpr bool kFrees = false;
  using Heap = gc::HeapOf<BenchGroup>;

  template <class T>
  using Link = gc::Member<T, BenchGroup>;
  template <class T>
  using BackLink = Link<T>;
  template <class T>
  using Root = gc::Persistent<T>;
  template <class T>
  using Made = T*;
  template <class T>
  using Base = gc::GarbageCollected<T, BenchGroup>;

  static Heap& heap() {
    static Heap only;
    return only;
  }
  [[gnu::noinline]] static void begin(Collecting collecting) {
    gc::HeapOptions options;
    const bool is_by_hand = collecting == Collecting::ByHand || collecting == Collecting::ByHandBesideTheProgram;
    const bool is_beside =
        collecting == Collecting::BesideTheProgram || collecting == Collecting::ByHandBesideTheProgram;
    if (is_by_hand) options.collections = gc::Collections::ByHand;
    if (is_beside) options.marking = gc::Marking::Concurrent;
    if (collecting == Collecting::AutomaticAtOnce) options.marking = gc::Marking::AtOnce;
    heap() = std::move(Heap::create(options).value());
  }
  static void end() { heap() = Heap(); }
  template <class T, class... Arguments>
  static T* make(Arguments&&... arguments) {
    return gc::make<T>(heap(), std::forward<Arguments>(arguments)...);
  }
  static void collect() { heap().collect(gc::StackState::HoldsNone); }
  static void begin_marking() {
    while (!heap().use().is_marking) heap().collect_some(0, gc::StackState::HoldsNone);
  }
  static void collect_with_stack() { heap().collect(gc::StackState::MayHoldPointers); }
  static double live_objects() { return static_cast<double>(heap().use().live_objects); }
  static double used_bytes() { return static_cast<double>(heap().use().page_bytes); }
  template <class T>
  static void free_tree(const T&) {}
};

#define TARE_BENCH_TRACE(...)                                                    \
  void trace(::tare::gc::Visitor& visitor) const {                               \
    const auto all = [&](const auto&... links) { (visitor.trace(links), ...); }; \
    all(__VA_ARGS__);                                                            \
  }

}  // namespace tare::bench
