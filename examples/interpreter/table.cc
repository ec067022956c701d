#include "table.h"

#include <bit>

namespace script {

namespace {

constexpr std::size_t kMostWithoutIndex = 8;

}  // namespace

std::uint32_t Table::place_of(const Value& key) const {
  if (index_.empty()) {
    for (std::uint32_t place = 0; place < entries_.size(); ++place) {
      if (entries_[place].key == key) return place;
    }
    return kNowhere;
  }
  const std::size_t mask = index_.size() - 1;
  for (std::size_t i = key.hash() & mask;; i = (i + 1) & mask) {
    if (index_[i] == 0) return kNowhere;
    if (entries_[index_[i] - 1].key == key) return index_[i] - 1;
  }
}

Value* Table::find(const Value& key) {
  const std::uint32_t place = key.is_nil() ? kNowhere : place_of(key);
  return place == kNowhere ? nullptr : &entries_[place].value;
}

bool Table::set(tare::gc::Heap& heap, Value key, Value value) {
  if (Value* known = find(key)) {
    *known = value;
    return true;
  }
  const bool is_full =
      index_.empty() ? entries_.size() >= kMostWithoutIndex : (entries_.size() + 1) * 3 > index_.size() * 2;
  if (is_full && !rebuild(heap)) return false;
  if (!entries_.push_back(heap, Entry{key, std::move(value)})) return false;
  if (!index_.empty()) {
    const std::size_t mask = index_.size() - 1;
    std::size_t i = key.hash() & mask;
    while (index_[i] != 0) i = (i + 1) & mask;
    index_[i] = static_cast<std::uint32_t>(entries_.size());
  }
  return true;
}

bool Table::erase(const Value& key) {
  const std::uint32_t place = key.is_nil() ? kNowhere : place_of(key);
  if (place == kNowhere) return false;
  entries_[place] = Entry{};
  ++erased_;
  return true;
}

// Without the erased ones, and with room for as many again.
bool Table::rebuild(tare::gc::Heap& heap) {
  tare::gc::HeapVector<Entry> kept;
  if (!kept.reserve(heap, size() + 1)) return false;
  for (const Entry& entry : entries_) {
    if (!entry.key.is_nil() && !kept.push_back(heap, entry)) return false;
  }
  tare::gc::HeapVector<std::uint32_t> index;
  if (kept.size() >= kMostWithoutIndex) {
    if (!index.resize(heap, std::bit_ceil(kept.size() * 3))) return false;
    const std::size_t mask = index.size() - 1;
    for (std::uint32_t place = 0; place < kept.size(); ++place) {
      std::size_t i = kept[place].key.hash() & mask;
      while (index[i] != 0) i = (i + 1) & mask;
      index[i] = place + 1;
    }
  }
  entries_.swap(kept);
  index_.swap(index);
  erased_ = 0;
  kept.clear(heap);
  index.clear(heap);
  return true;
}

}  // namespace script
