// SPDX-License-Identifier: Apache-2.0
// The names that were given so far, as hashes of 32 bits: a table of 8 to 16 bytes a name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tare::trace {

class SeenNames {
 public:
  // False: this name was inserted before, or another one with its hash. Of a million names, one in 4,096 is.
  bool insert(const std::string& name) {
    if (2 * (count_ + 1) > places_.size()) grow();
    const auto hash = static_cast<std::uint32_t>(std::hash<std::string>{}(name));
    const bool is_new = put(hash != kEmpty ? hash : 1);
    count_ += is_new;
    return is_new;
  }
  std::size_t count() const { return count_; }

 private:
  static constexpr std::uint32_t kEmpty = 0;

  bool put(std::uint32_t hash) {
    std::size_t place = hash & (places_.size() - 1);
    while (places_[place] != kEmpty) {
      if (places_[place] == hash) return false;
      place = (place + 1) & (places_.size() - 1);
    }
    places_[place] = hash;
    return true;
  }
  void grow() {
    std::vector<std::uint32_t> before(places_.empty() ? 64 : 2 * places_.size(), kEmpty);
    before.swap(places_);
    for (const std::uint32_t hash : before) {
      if (hash != kEmpty) put(hash);
    }
  }

  std::vector<std::uint32_t> places_;  // a power of two, at most half full
  std::size_t count_ = 0;
};

}  // namespace tare::trace
