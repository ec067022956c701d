// Scripted spools: see spool_script.h.
#include "support/spool_script.h"

#include <algorithm>
#include <map>

namespace tare::test {

using trace::MapApi;
using trace::Op;

std::vector<ExpectedCall> play(const SpoolScript& script, SpoolBuilder& spool) {
  std::mt19937_64 random(script.seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };

  const std::uint32_t module = spool.add_module("/usr/bin/example", 0x400000, 0x800000);
  std::vector<std::uint32_t> rows;
  std::vector<std::uint64_t> row_addresses;
  for (std::uint32_t i = 0; i < script.stacks * 2 + script.depth; ++i) {
    row_addresses.push_back(0x400000 + i * 37);
    rows.push_back(spool.add_row(row_addresses.back(), module));
  }
  // Stacks share their outer frames, as those of a program do.
  std::vector<std::vector<std::uint32_t>> stacks(script.stacks);
  for (auto& stack : stacks) {
    const std::uint64_t depth = 1 + below(script.depth);
    for (std::uint64_t frame = depth; frame-- > 0;) {
      stack.push_back(rows[frame < depth / 2 ? frame : script.depth + below(script.stacks * 2)]);
    }
    std::reverse(stack.begin(), stack.end());
    if (stack.size() > 3) std::reverse(stack.begin(), stack.end());
  }
  std::vector<std::uint64_t> sizes(script.stacks);
  for (auto& size : sizes) size = 1 + below(300);

  struct Block {
    std::uint64_t address, usable;
  };
  std::vector<Block> live;
  std::map<std::uint64_t, std::vector<std::uint64_t>> free_blocks;  // by usable size, last freed first
  std::uint64_t top = 0x5555'0000'0000;
  const auto take = [&](std::uint64_t usable) {
    auto& list = free_blocks[usable];
    if (!list.empty()) {
      const std::uint64_t address = list.back();
      list.pop_back();
      return address;
    }
    top += usable + 8;
    return top - usable - 8;
  };

  std::vector<ExpectedCall> calls;
  std::uint64_t stamp = 1'000'000;
  for (std::uint64_t i = 0; i < script.calls; ++i) {
    stamp += 1 + below(script.stamp_step * 2);
    const std::uint32_t thread = static_cast<std::uint32_t>(below(script.threads));
    const std::uint64_t site = below(script.stacks);
    const std::uint64_t dice = below(100);
    ExpectedCall call{stamp, thread, Op::Alloc, 0, 0, 0, 0, {}};
    for (const std::uint32_t row : stacks[site]) call.addresses.push_back(row_addresses[row]);
    if (script.maps && dice == 0) {
      call.op = Op::Map;
      call.address = 0x7f00'0000'0000 + below(1000) * 4096;
      call.requested_bytes = call.usable_bytes = 4096 * (1 + below(10));
      spool.map(thread, stamp, MapApi::Mmap, call.address, call.requested_bytes, 0, 0, stacks[site]);
    } else if (dice < 45 && !live.empty()) {
      const std::size_t which = live.size() - 1 - below(std::min<std::size_t>(live.size(), 40));
      call.op = Op::Free;
      call.address = live[which].address;
      call.addresses.clear();
      spool.free(thread, stamp, call.address);
      free_blocks[live[which].usable].push_back(call.address);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      const bool realloc = dice < 50 && !live.empty();
      call.requested_bytes = dice < 90 ? sizes[site] : 1 + below(5000);
      call.usable_bytes = (call.requested_bytes + 8 + 15) / 16 * 16 + 8;
      std::size_t which = 0;
      if (realloc) {
        which = below(live.size());
        call.op = Op::Realloc;
        call.old_address = live[which].address;
        free_blocks[live[which].usable].push_back(call.old_address);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
      }
      call.address = take(call.usable_bytes);
      live.push_back({call.address, call.usable_bytes});
      const AllocCall alloc{call.address,
                            call.requested_bytes,
                            call.usable_bytes,
                            stacks[site],
                            realloc ? trace::AllocApi::Realloc : trace::AllocApi::Malloc,
                            0,
                            1};
      if (realloc) {
        spool.realloc(thread, stamp, stamp + 20, call.old_address, alloc);
        stamp += 20;
      } else {
        spool.alloc(thread, stamp, alloc);
      }
    }
    calls.push_back(std::move(call));
  }
  spool.end(stamp);
  return calls;
}

}  // namespace tare::test
