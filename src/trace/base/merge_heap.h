// Which of several streams of events comes next: a heap of their first stamps, ties by stream number, so that order is
// the same each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tare::trace {

struct MergeKey {
  std::uint64_t stamp = ~std::uint64_t{0};
  std::uint32_t stream = ~0u;
  friend bool operator<(const MergeKey& a, const MergeKey& b) {
    return a.stamp != b.stamp ? a.stamp < b.stamp : a.stream < b.stream;
  }
};

class MergeHeap {
 public:
  void push(MergeKey key) {
    std::size_t at = keys_.size();
    keys_.push_back(key);
    while (at > 0 && key < keys_[(at - 1) / 2]) {
      keys_[at] = keys_[(at - 1) / 2];
      at = (at - 1) / 2;
    }
    keys_[at] = key;
  }
  bool empty() const { return keys_.empty(); }
  const MergeKey& top() const { return keys_.front(); }
  // The key after top's; the greatest possible where there's none.
  MergeKey second() const {
    if (keys_.size() < 2) return {};
    return keys_.size() < 3 || keys_[1] < keys_[2] ? keys_[1] : keys_[2];
  }
  void replace_top(MergeKey key) {
    std::size_t at = 0;
    const std::size_t size = keys_.size();
    while (true) {
      std::size_t child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && keys_[child + 1] < keys_[child]) ++child;
      if (!(keys_[child] < key)) break;
      keys_[at] = keys_[child];
      at = child;
    }
    keys_[at] = key;
  }
  void pop() {
    const MergeKey last = keys_.back();
    keys_.pop_back();
    if (!keys_.empty()) replace_top(last);
  }
  void clear() { keys_.clear(); }

 private:
  std::vector<MergeKey> keys_;
};

}  // namespace tare::trace
