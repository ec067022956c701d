// Memory made by hand: blocks and words at addresses of the test's choosing.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "core/analysis/live_block.h"
#include "core/process_memory/memory_source.h"

namespace tare::test {

class FakeHeap : public core::MemorySource {
 public:
  // A block of so many bytes, all zero; the next malloc chunk begins 16 bytes behind its end.
  std::uint64_t block(std::uint64_t bytes) {
    const std::uint64_t address = next_;
    next_ = (address + bytes + 31) / 16 * 16;
    add(address, bytes);
    return address;
  }
  void add(std::uint64_t address, std::uint64_t bytes) {
    region(address, bytes);
    core::LiveBlock one;
    one.address = address;
    one.requested_bytes = bytes;
    one.usable_bytes = (bytes + 7) / 8 * 8;
    one.birth = ++births_;
    blocks_.push_back(one);
  }
  void region(std::uint64_t address, std::uint64_t bytes) { regions_[address].resize(bytes); }
  void forget_memory(std::uint64_t address) { regions_.erase(address); }
  void word(std::uint64_t address, std::uint64_t value) { put(address, &value, sizeof(value)); }
  void text(std::uint64_t address, std::string_view text) { put(address, text.data(), text.size()); }

  const std::vector<core::LiveBlock>& blocks() const { return blocks_; }

  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override {
    std::size_t done = 0;
    while (done < out.size()) {
      auto region = regions_.upper_bound(address + done);
      // What lies between two regions is heap too, if the next begins within a page.
      if (region != regions_.begin()) {
        const auto& [start, bytes] = *std::prev(region);
        if (address + done < start + bytes.size()) {
          out[done] = bytes[address + done - start];
          ++done;
          continue;
        }
      }
      if (region == regions_.end() || region->first - (address + done) > 4096) break;
      out[done++] = 0;
    }
    return done;
  }

 private:
  void put(std::uint64_t address, const void* data, std::size_t bytes) {
    auto region = std::prev(regions_.upper_bound(address));
    std::memcpy(region->second.data() + (address - region->first), data, bytes);
  }

  std::map<std::uint64_t, std::vector<std::uint8_t>> regions_;
  std::vector<core::LiveBlock> blocks_;
  std::uint64_t next_ = 0x555500001010;
  std::uint32_t births_ = 0;
};

}  // namespace tare::test
