// A document of a million nodes of five links, as each collector's objects.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#if defined(TARE_BENCH_CPPGC)
#include "by_cppgc.h"
#elif defined(TARE_BENCH_BOEHM) || defined(TARE_BENCH_NATIVE) || defined(TARE_BENCH_SHARED_PTR)
#include "by_others.h"
#else
#include "by_tare.h"
#endif

namespace tare::bench {

struct Element : Collector::Base<Element> {
  explicit Element(std::uint32_t n) : number(n) {}
  TARE_BENCH_TRACE(parent, first, next, previous, document)

  Collector::BackLink<Element> parent;
  Collector::Link<Element> first;
  Collector::Link<Element> next;
  Collector::BackLink<Element> previous;
  Collector::BackLink<Element> document;
  std::uint32_t number;
  std::uint32_t state = 0;
};

using MadeElement = Collector::Made<Element>;

// A page's shape: three of four elements hang below the latest ones, the rest somewhere above.
[[gnu::noinline]] inline Collector::Root<Element> build(std::uint32_t count) {
  std::mt19937 random(7);
  Collector::Root<Element> document = Collector::make<Element>(0u);
  std::vector<Collector::Root<Element>> open;  // the way down to the latest
  open.emplace_back(document);
  for (std::uint32_t i = 1; i < count; ++i) {
    while (open.size() > 1 && (open.size() > 40 || random() % 3 == 0)) open.pop_back();
    MadeElement element = Collector::make<Element>(i);
    Element* parent = &*open.back();
    element->parent = MadeElement(open.back());
    element->document = MadeElement(document);
    if (parent->first) {
      element->next = parent->first;
      parent->first->previous = element;
    }
    parent->first = element;
    if (random() % 2 == 0) open.emplace_back(element);
  }
  return document;
}

template <class Node>
const Node* raw(const std::shared_ptr<Node>& pointer) {
  return pointer.get();
}
template <class Pointer>
auto raw(const Pointer& pointer) {
  if constexpr (requires { pointer.get(); }) {
    return pointer.get();
  } else {
    return pointer.Get();
  }
}

[[gnu::noinline]] inline std::uint64_t walk(const Element* element) {
  std::uint64_t sum = element->number;
  for (const Element* child = raw(element->first); child != nullptr; child = raw(child->next)) sum += walk(child);
  return sum;
}

// Siblings are freed in a loop: a chain of a million destructors would be as many frames.
template <class Link>
void drop([[maybe_unused]] Link& first) {
  if constexpr (Collector::kFrees) {
    Link next = first;
    first = Link();
    while (next) {
      Link element = next;
      next = element->next;
      element->next = Link();
      drop(element->first);
      if constexpr (std::is_same_v<Collector::Made<Element>, Element*>) delete &*element;
    }
  }
}

}  // namespace tare::bench
