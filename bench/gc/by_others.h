// The bench's objects by new and delete, by shared_ptr, and in the Boehm collector's heap.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "collecting.h"

#ifdef TARE_BENCH_BOEHM
#include <gc/gc.h>
#endif

namespace tare::bench {

struct NoBase {};

template <class T>
class Plain {
 public:
  Plain() = default;
  Plain(T* raw) : raw_(raw) {}  // NOLINT(google-explicit-constructor)
  T* get() const { return raw_; }
  T* operator->() const { return raw_; }
  operator T*() const { return raw_; }  // NOLINT(google-explicit-constructor)

 private:
  T* raw_ = nullptr;
};

#if defined(TARE_BENCH_SHARED_PTR)
// A link back, which owns nothing; read as a strong one is.
template <class T>
class Weak {
 public:
  Weak() = default;
  Weak(const std::shared_ptr<T>& object) : weak_(object) {}  // NOLINT(google-explicit-constructor)
  std::shared_ptr<T> get() const { return weak_.lock(); }

 private:
  std::weak_ptr<T> weak_;
};

struct Collector {
  static constexpr const char* kSubject = "shared-ptr";
  static constexpr bool kCollects = false;
  static constexpr bool kFrees = true;
  template <class T>
  using Link = std::shared_ptr<T>;
  template <class T>
  using BackLink = Weak<T>;
  template <class T>
  using Root = std::shared_ptr<T>;
  template <class T>
  using Made = std::shared_ptr<T>;
  template <class T>
  using Base = NoBase;
  static void begin(Collecting) {}
  static void end() {}
  template <class T, class... Arguments>
  static std::shared_ptr<T> make(Arguments&&... arguments) {
    return std::make_shared<T>(std::forward<Arguments>(arguments)...);
  }
  static void collect() {}
  static void collect_with_stack() {}
  static double live_objects() { return -1; }
  static double used_bytes() { return -1; }
  template <class T>
  static void free_tree(const T&) {}
};
#else
struct Collector {
#ifdef TARE_BENCH_BOEHM
  static constexpr const char* kSubject = "boehm";
  static constexpr bool kCollects = true;
  static constexpr bool kFrees = false;
#else
  static constexpr const char* kSubject = "native";
  static constexpr bool kCollects = false;
  static constexpr bool kFrees = true;
#endif
  template <class T>
  using Link = Plain<T>;
  template <class T>
  using BackLink = Plain<T>;
  template <class T>
  using Root = Plain<T>;
  template <class T>
  using Made = T*;
  template <class T>
  using Base = NoBase;

#ifdef TARE_BENCH_BOEHM
  static void begin(Collecting collecting) {
    GC_INIT();
    if (collecting == Collecting::ByHand) GC_disable();
    if (collecting == Collecting::BesideTheProgram) GC_enable_incremental();
  }
  static void end() {}
  template <class T, class... Arguments>
  static T* make(Arguments&&... arguments) {
    return ::new (GC_MALLOC(sizeof(T))) T(std::forward<Arguments>(arguments)...);
  }
  static void collect() {
    GC_enable();
    GC_gcollect();
    GC_disable();
  }
  static void collect_with_stack() { collect(); }
  static double live_objects() { return -1; }
  static double used_bytes() { return static_cast<double>(GC_get_heap_size() - GC_get_free_bytes()); }
  template <class T>
  static void free_tree(const T&) {}
#else
  static void begin(Collecting) {}
  static void end() {}
  template <class T, class... Arguments>
  static T* make(Arguments&&... arguments) {
    return new T(std::forward<Arguments>(arguments)...);
  }
  static void collect() {}
  static void collect_with_stack() {}
  static double live_objects() { return -1; }
  static double used_bytes() { return -1; }
  template <class T>
  static void free_tree(T* tree) {
    if (tree == nullptr) return;
    free_tree(tree->left.get());
    free_tree(tree->right.get());
    delete tree;
  }
#endif
};
#endif

#define TARE_BENCH_TRACE(...)

}  // namespace tare::bench
