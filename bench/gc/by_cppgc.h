// The bench's objects in the heap of cppgc (Oilpan), as Debian's libnode-dev has it.
#pragma once

#include <cppgc/allocation.h>
#include <cppgc/default-platform.h>
#include <cppgc/garbage-collected.h>
#include <cppgc/heap-statistics.h>
#include <cppgc/heap.h>
#include <cppgc/member.h>
#include <cppgc/persistent.h>
#include <cppgc/visitor.h>
#include <libplatform/libplatform.h>
#include <v8-initialization.h>

#include <memory>
#include <utility>

#include "collecting.h"

namespace tare::bench {

struct Collector {
  static constexpr const char* kSubject = "cppgc";
  static constexpr bool kCollects = true;
  static constexpr bool kFrees = false;

  template <class T>
  using Link = cppgc::Member<T>;
  template <class T>
  using BackLink = Link<T>;
  template <class T>
  using Root = cppgc::Persistent<T>;
  template <class T>
  using Made = T*;
  template <class T>
  using Base = cppgc::GarbageCollected<T>;

  static inline std::shared_ptr<cppgc::DefaultPlatform> platform;
  static inline std::unique_ptr<cppgc::Heap> heap;

  static void begin(Collecting collecting) {
    if (!platform) {
      // As part of node the collector asks V8's platform whether to write traces.
      static const std::unique_ptr<v8::Platform> for_traces = v8::platform::NewDefaultPlatform(1);
      v8::V8::InitializePlatform(for_traces.get());
      platform = std::make_shared<cppgc::DefaultPlatform>();
      cppgc::InitializeProcess(platform->GetPageAllocator());
    }
    cppgc::Heap::HeapOptions options = cppgc::Heap::HeapOptions::Default();
    if (collecting == Collecting::ByHand) {
      options.resource_constraints.initial_heap_size_bytes = std::size_t{2000} << 20;
      options.marking_support = cppgc::Heap::MarkingType::kAtomic;
      options.sweeping_support = cppgc::Heap::SweepingType::kAtomic;
    }
    heap = cppgc::Heap::Create(platform, std::move(options));
  }
  static void end() { heap.reset(); }
  template <class T, class... Arguments>
  static T* make(Arguments&&... arguments) {
    return cppgc::MakeGarbageCollected<T>(heap->GetAllocationHandle(), std::forward<Arguments>(arguments)...);
  }
  static void collect() {
    heap->ForceGarbageCollectionSlow("bench", "bench", cppgc::EmbedderStackState::kNoHeapPointers);
  }
  static void collect_with_stack() {
    heap->ForceGarbageCollectionSlow("bench", "bench", cppgc::EmbedderStackState::kMayContainHeapPointers);
  }
  static double live_objects() { return -1; }  // its statistics aren't for outsiders
  static double used_bytes() { return -1; }
  template <class T>
  static void free_tree(const T&) {}
};

#define TARE_BENCH_TRACE(...)                                                     \
  void Trace(cppgc::Visitor* visitor) const {                                     \
    const auto all = [&](const auto&... links) { (visitor->Trace(links), ...); }; \
    all(__VA_ARGS__);                                                             \
  }

}  // namespace tare::bench
