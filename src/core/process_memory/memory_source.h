// Memory of another process, or of a test: bytes by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tare::core {

struct AddressRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;

  std::uint64_t bytes() const { return end - start; }
  bool operator==(const AddressRange&) const = default;
};

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // Copies the readable bytes from `address` on, and returns their number: it is smaller if the rest isn't mapped.
  virtual std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) = 0;
};

}  // namespace tare::core
