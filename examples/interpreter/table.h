// Keys and values in the order in which they came: what records and maps have.
//
// Keys are values of any kind, so HeapHashMap, whose keys are Members, doesn't do. Entries lie in one HeapVector, and
// an index of 4-byte places beside it is searched by hash; both are collected with what has the table in it.
#pragma once

#include <cstdint>

#include "tare/gc/heap.h"
#include "tare/gc/heap_vector.h"
#include "value.h"

namespace script {

class Table {
 public:
  struct Entry {
    Value key;  // nil: was erased
    Value value;
    void trace(tare::gc::Visitor& visitor) const {
      visitor.trace(key);
      visitor.trace(value);
    }
  };

  std::size_t size() const { return entries_.size() - erased_; }

  // The key's value, or null. Good until the next set().
  Value* find(const Value& key);
  // False if there's no memory. `key` isn't nil.
  [[nodiscard]] bool set(tare::gc::Heap& heap, Value key, Value value);
  bool erase(const Value& key);  // whether it was there

  // Places of entries: from 0 up to end_place(), some of them erased.
  std::size_t end_place() const { return entries_.size(); }
  const Entry& at(std::size_t place) const { return entries_[place]; }

  void trace(tare::gc::Visitor& visitor) const {
    visitor.trace(entries_);
    visitor.trace(index_);
  }

 private:
  static constexpr std::uint32_t kNowhere = 0xffff'ffff;

  std::uint32_t place_of(const Value& key) const;  // kNowhere: none
  [[nodiscard]] bool rebuild(tare::gc::Heap& heap);

  tare::gc::HeapVector<Entry> entries_;
  tare::gc::HeapVector<std::uint32_t> index_;  // places + 1, 0: free; empty while a look at all entries is cheaper
  std::uint32_t erased_ = 0;
};

}  // namespace script
