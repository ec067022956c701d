// Another process's memory, by process_vm_readv: the process needn't be stopped, and unmapped memory is no error.
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
  // `map`: its present mappings; must outlive the object. Untouched private pages are zeros. They are neither read nor
  // thereby touched, so a large unused buffer isn't brought into memory.
  ProcessMemory(pid_t pid, std::span<const MappedRange> map);

  // From now on a read ends where one of these begins. Ascending.
  void leave_out(std::vector<AddressRange> ranges) { left_out_ = std::move(ranges); }

  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override;
  // Bytes in whole pages of the range that aren't resident: untouched or swapped out. 0 if that is unknown, and for
  // memory with a file behind it.
  std::uint64_t absent_bytes(const AddressRange& range);

 private:
  std::size_t read_in_mapping(std::uint64_t address, std::span<std::uint8_t> out);
  std::size_t read_all(std::uint64_t address, std::span<std::uint8_t> out) const;
  // The number of bytes from `address` on that precede the next excluded range.
  std::size_t bytes_before_left_out(std::uint64_t address, std::size_t bytes) const;
  // The first mapping that ends above `address`: the address lies in it, or in no mapping. nullptr: there is none.
  const MappedRange* mapping_from(std::uint64_t address);
  bool is_private_memory(const AddressRange& range);

  pid_t pid_;
  std::span<const MappedRange> map_;
  std::size_t last_ = 0;  // in map_: reads mostly come in ascending order
  std::vector<AddressRange> left_out_;
  PageMap page_map_;
};

}  // namespace tare::core
