// Values of ephemerons by their keys, while a collection follows them: a hash table of chains that only grows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/gc/marking/rows.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

class ValuesByKey {
 public:
  bool empty() const noexcept { return entries_.empty(); }

  void add(std::uint32_t key, std::uint32_t value) noexcept {
    if (entries_.size() == first_.size()) grow();
    entries_.push({key, value, 0});
    link(entries_.size() - 1);
  }

  // Calls each(value) for all values of the key; it adds none.
  template <class Each>
  void for_each_of(std::uint32_t key, Each&& each) noexcept {
    if (empty()) return;
    for (std::uint32_t at = first_[place_of(key)]; at != 0; at = entries_[at - 1].next) {
      if (entries_[at - 1].key == key) each(entries_[at - 1].value);
    }
  }

 private:
  struct Entry {
    std::uint32_t key;
    std::uint32_t value;
    std::uint32_t next;  // 1 more than its place; 0: none
  };

  std::size_t place_of(std::uint32_t key) const noexcept {
    return static_cast<std::size_t>(key * std::uint64_t{0x9E3779B97F4A7C15} >> (64 - std::countr_zero(first_.size())));
  }
  void link(std::size_t entry) noexcept {
    std::uint32_t& first = first_[place_of(entries_[entry].key)];
    entries_[entry].next = first;
    first = static_cast<std::uint32_t>(entry + 1);
  }
  void grow() noexcept {
    const std::size_t places = std::max<std::size_t>(256, first_.size() * 2);
    while (first_.capacity() < places) first_.grow();
    first_.set_size(places);
    std::fill(first_.begin(), first_.end(), 0);
    for (std::size_t i = 0; i < entries_.size(); ++i) link(i);
  }

  Rows<std::uint32_t> first_;  // of each chain, as Entry::next; a power of two
  Rows<Entry> entries_;
};

}  // namespace tare::inline TARE_ABI::gc
