// Where a written value goes: growth of output.h's block.
#include "tare/variant/output.h"

#include <algorithm>
#include <cstring>

#include "tare/good_size.h"

namespace tare::inline TARE_ABI::variant {

const char* describe(WriteError error) noexcept {
  switch (error) {
    case WriteError::None:
      return "no error";
    case WriteError::OutOfMemory:
      return "malloc failed";
    case WriteError::BufferFull:
      return "the buffer is too small for the value";
    case WriteError::NotText:
      return "a text isn't UTF-8, or has a zero inside";
    case WriteError::NotObjectPath:
      return "a text isn't an object path";
    case WriteError::NotSignature:
      return "a text isn't a signature";
    case WriteError::WrongType:
      return "a value doesn't have the type that its place wants";
    case WriteError::Incomplete:
      return "the value isn't complete";
    case WriteError::TooDeep:
      return "the value has more levels than its encoding allows";
    case WriteError::TooLarge:
      return "the value is larger than its encoding allows";
    case WriteError::NotInDBus:
      return "D-Bus doesn't have such a type";
    case WriteError::BadHeader:
      return "a message's header has an invalid text, or lacks a field";
    case WriteError::Unsteady:
      return "a function that adds elements added others when asked again";
  }
  return "unknown error";
}

bool Output::grow(std::size_t capacity) noexcept {
  if (is_callers_ || capacity > kLargestRequest) return false;
  // bytes that will be overwritten needn't be copied
  void* block = size_ == 0 ? std::malloc(capacity) : std::realloc(data_, capacity);
  if (block == nullptr) return false;
  if (size_ == 0) std::free(data_);
  data_ = static_cast<char*>(block);
  capacity_ = capacity;
  return true;
}

bool Output::reserve_amortized(std::size_t capacity) noexcept {
  if (capacity <= capacity_) return true;
  const std::size_t doubled = capacity_ > kLargestRequest / 2 ? capacity : 2 * capacity_;
  constexpr std::size_t kFirst = 4096;  // nearly all messages are smaller: no growth, and release() gives the rest back
  const std::size_t wanted = std::max({capacity, doubled, kFirst});
  return grow(good_size(wanted)) || (wanted > capacity && grow(capacity));
}

Block Output::release() noexcept {
  if (!is_callers_) {
    if (size_ != 0 && good_size(size_) < good_size(capacity_)) {
      void* shrunk = std::realloc(data_, size_);
      if (shrunk != nullptr) data_ = static_cast<char*>(shrunk);
    }
    capacity_ = 0;
    return Block(std::exchange(data_, nullptr), std::exchange(size_, 0));
  }
  const std::size_t size = std::exchange(size_, 0);
  if (size == 0) return {};
  void* block = std::malloc(size);
  if (block == nullptr) return Block(WriteError::OutOfMemory);
  std::memcpy(block, data_, size);
  return {static_cast<char*>(block), size};
}

}  // namespace tare::inline TARE_ABI::variant
