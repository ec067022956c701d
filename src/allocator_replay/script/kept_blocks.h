// Blocks that a thread keeps for reuse in place of freeing them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tare::core {

class KeptBlocks {
 public:
  static constexpr std::size_t kMost = 8;  // of a thread and group, as the remedy of *recreated* proposes

  struct Block {
    std::uint64_t room;
    std::uint32_t slot;
  };

  // The smallest that has room, unless it has more than twice as much and 16 bytes: small blocks that live long would
  // hold buffers of temporary ones.
  std::optional<Block> take(std::uint32_t group, std::uint32_t thread, std::uint64_t bytes) {
    const auto found = kept_.find({thread, group});
    if (found == kept_.end()) return std::nullopt;
    std::vector<Block>& blocks = found->second;
    auto best = blocks.end();
    for (auto block = blocks.begin(); block != blocks.end(); ++block) {
      if (block->room >= bytes && block->room <= 2 * bytes + 16 && (best == blocks.end() || block->room < best->room))
        best = block;
    }
    if (best == blocks.end()) return std::nullopt;
    const Block taken = *best;
    blocks.erase(best);
    return taken;
  }

  // Gives the one to free if there are too many: the one that was kept first. (If the smallest went, large blocks would
  // fill the places, and the many small ones of a site would find none.)
  std::optional<Block> keep(std::uint32_t group, std::uint32_t thread, Block block) {
    std::vector<Block>& blocks = kept_[{thread, group}];
    blocks.push_back(block);
    if (blocks.size() <= kMost) return std::nullopt;
    const Block out = blocks.front();
    blocks.erase(blocks.begin());
    return out;
  }

  // All of a thread that ends.
  std::vector<Block> take_all(std::uint32_t thread) {
    std::vector<Block> all;
    const auto first = kept_.lower_bound({thread, 0});
    auto last = first;
    for (; last != kept_.end() && last->first.first == thread; ++last)
      all.insert(all.end(), last->second.begin(), last->second.end());
    kept_.erase(first, last);
    return all;
  }

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Block>> kept_;  // by thread and group
};

}  // namespace tare::core
