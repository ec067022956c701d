// tare/variant/output.h: where a written value goes: memory of the caller's, or a heap block that is kept and used
// again.
//
//   tare::variant::Output out;                        // grows on the heap, keeps its block for the next value
//   char memory[512];
//   tare::variant::Output fixed(memory);              // never more than these
//
//   if (auto written = Writer<"(si)">::write(out, "key", 5)) send(written.bytes());
//   else log(written.error());
//
//   tare::variant::Block block = out.release();       // malloc's block, the caller's to free
//
// A written value is valid until the next value is written to the same Output, or the Output ends. Values begin at a
// multiple of 16 in a heap block; in the caller's memory they begin at its start, which is right for reading here,
// while other readers may need 8.
//
// One thread at a time. Nothing throws: see WriteError. Sizes are bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

// Why a value wasn't written. The first reason is kept.
enum class WriteError : std::uint8_t {
  None,
  OutOfMemory,    // malloc failed
  BufferFull,     // the caller's memory is too small
  NotText,        // a text isn't UTF-8, or has a zero inside
  NotObjectPath,  // a text for type o isn't one
  NotSignature,   // a text for type g isn't one
  WrongType,      // a value was added where the type string has another type, or none
  Incomplete,     // the value ended before its type did
  TooDeep,        // more levels than the encoding allows
  TooLarge,       // more bytes than the encoding allows: D-Bus has limits
  NotInDBus,      // a type that D-Bus doesn't have: maybe, (), an entry outside an array
  BadHeader,      // a D-Bus message's header has an invalid text, or lacks a field that its type requires
  Unsteady        // a function that adds elements added others in the second pass
};

// One sentence in English, static storage: "a text isn't UTF-8".
TARE_API const char* describe(WriteError error) noexcept;

// A value's bytes, or why there are none.
class Written {
 public:
  constexpr Written(WriteError error) noexcept : error_(error) {}  // NOLINT(google-explicit-constructor)
  constexpr Written(const char* data, std::size_t size) noexcept : data_(data), size_(size) {}

  constexpr explicit operator bool() const noexcept { return error_ == WriteError::None; }
  constexpr WriteError error() const noexcept { return error_; }
  constexpr std::string_view bytes() const noexcept { return {data_, size_}; }
  constexpr const char* data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  WriteError error_ = WriteError::None;
};

// A value in a block of malloc's, which ends with this. tare::Bytes::adopt_malloced takes the result of release().
class Block {
 public:
  Block() noexcept = default;
  explicit Block(WriteError error) noexcept : error_(error) {}
  Block(char* data, std::size_t size) noexcept : data_(data), size_(size) {}
  Block(Block&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), error_(other.error_) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(error_, other.error_);
    return *this;
  }
  ~Block() { std::free(data_); }

  explicit operator bool() const noexcept { return error_ == WriteError::None; }
  WriteError error() const noexcept { return error_; }
  std::string_view bytes() const noexcept { return {data_, size_}; }
  char* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  [[nodiscard]] char* release() && noexcept { return std::exchange(data_, nullptr); }

 private:
  char* data_ = nullptr;  // null for a value of 0 bytes
  std::size_t size_ = 0;
  WriteError error_ = WriteError::None;
};

class TARE_API Output {
 public:
  Output() noexcept = default;
  explicit Output(std::span<char> memory) noexcept
      : data_(memory.data()), capacity_(memory.size()), is_callers_(true) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    if (!is_callers_) std::free(data_);
  }

  // The last written value.
  std::string_view bytes() const noexcept { return {data_, size_}; }
  char* data() noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }

  void clear() noexcept { size_ = 0; }
  bool is_callers_memory() const noexcept { return is_callers_; }

  // Room for `capacity` bytes in all, of which the first size() are kept. False if there's no memory: why_not() has the
  // reason. Exactly the request is allocated: a known size needs no growth.
  bool reserve(std::size_t capacity) noexcept { return capacity <= capacity_ || grow(capacity); }
  // The same at amortized constant cost, for sizes that aren't known in advance.
  bool reserve_amortized(std::size_t capacity) noexcept;
  WriteError why_not() const noexcept { return is_callers_ ? WriteError::BufferFull : WriteError::OutOfMemory; }

  // Makes the first `size` <= capacity() bytes the written ones: for callers that fill data() themselves.
  void set_size(std::size_t size) noexcept { size_ = size; }

  // The heap block with the written bytes, shrunk to them. From the caller's memory it is copied. An error if malloc
  // fails. The Output is empty afterwards.
  [[nodiscard]] Block release() noexcept;

  // For a Reporter: the bytes of the heap block. `size_of` is a tare::SizeOf or any function of a block's address.
  template <typename SizeOf>
  std::size_t size_of_excluding_this(SizeOf&& size_of) const {
    return is_callers_ || data_ == nullptr ? 0 : size_of(static_cast<const void*>(data_));
  }

 private:
  bool grow(std::size_t capacity) noexcept;

  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  bool is_callers_ = false;
};

}  // namespace tare::inline TARE_ABI::variant
