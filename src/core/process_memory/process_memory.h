// Another process's memory, by process_vm_readv: needs no stop, and what isn't mapped is no error.
#pragma once

#include <sys/types.h>

#include <span>
#include <utility>
#include <vector>

#include "core/process_memory/memory_map.h"
#include "core/process_memory/memory_source.h"
#include "core/process_memory/page_map.h"

namespace tare::core {

class ProcessMemory : public MemorySource {
 public:
  // `map`: what it has mapped now; must outlive the object. Pages of its own that nobody has touched are zeros, and are
  // neither read nor thereby touched: of a large buffer that waits for its contents nothing is brought into memory.
  ProcessMemory(pid_t pid, std::span<const MappedRange> map);

  // From now on a read ends where one of these begins. Ascending.
  void leave_out(std::vector<AddressRange> ranges) { left_out_ = std::move(ranges); }

  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override;
  // Bytes on whole pages of the range that aren't there: nobody has touched them, or they are swapped out. 0 where that
  // can't be known, and of memory with a file behind it.
  std::uint64_t absent_bytes(const AddressRange& range);

 private:
  std::size_t read_all(std::uint64_t address, std::span<std::uint8_t> out) const;
  // How many of the bytes from `address` on come before what is left out.
  std::size_t bytes_before_left_out(std::uint64_t address, std::size_t bytes) const;
  bool is_private_memory(const AddressRange& range);

  pid_t pid_;
  std::span<const MappedRange> map_;
  std::size_t last_ = 0;  // in map_: reads ask in ascending order, mostly
  std::vector<AddressRange> left_out_;
  PageMap page_map_;
};

}  // namespace tare::core
