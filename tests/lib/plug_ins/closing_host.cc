// closing_host A.so B.so: a program that collects objects of plug-ins which it has closed. It exports its library.
#include <dlfcn.h>

#include <cstdio>

#include "shared_node.h"

namespace gc = tare::gc;

namespace {

struct AnyObject : gc::GarbageCollected<AnyObject> {
  void trace(gc::Visitor&) const {}
};

bool collects_what_is_left(const char* path, const char* function) {
  auto made = gc::Heap::create();
  if (!made) return false;
  gc::Heap heap = std::move(made.value());
  void* plug_in = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plug_in == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  const auto make = reinterpret_cast<void* (*)(void*)>(dlsym(plug_in, function));
  gc::Persistent<AnyObject> object = static_cast<AnyObject*>(make(&heap));
  if (!object || dlclose(plug_in) != 0) return false;
  heap.collect(gc::StackState::HoldsNone);
  if (heap.use().live_objects != 2) return false;
  object = nullptr;
  heap.collect(gc::StackState::HoldsNone);
  heap.finish_sweeping();
  return heap.use().live_objects == 0;
}

}  // namespace

int main(int count, char** paths) {
  if (count != 3) return 2;
  return collects_what_is_left(paths[1], "make_in_heap_a") && collects_what_is_left(paths[2], "make_in_heap_b") ? 0 : 1;
}
