// Compact strings only: names and paths of code objects are such.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/managed/python_text.h"

#include "recorder/managed/hash.h"
#include "recorder/unwind/load.h"

namespace tare::recorder {
namespace {

constexpr std::uint64_t kLengthOffset = 16, kStateOffset = 32;
constexpr std::uint64_t kMostCharacters = 1 << 20;

struct Characters {
  std::uint64_t at = 0;
  std::uint64_t count = 0;
  std::uint32_t width = 0;  // 1, 2 or 4 bytes; 0: no such string

  std::uint32_t operator[](std::uint64_t i) const {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(at + i * width);
    std::uint32_t character = bytes[0];
    if (width > 1) character |= static_cast<std::uint32_t>(bytes[1]) << 8;
    if (width > 2) character |= static_cast<std::uint32_t>(bytes[2]) << 16;
    return character;
  }
};

Characters characters_of(const PythonRuntime& runtime, std::uint64_t object) {
  if (object == 0 || load(object + kTypeOffset) != runtime.text_type) return {};
  const std::uint64_t count = load(object + kLengthOffset);
  if (count > kMostCharacters) return {};
  // Bit fields: 2 bits of interning, 3 of kind, then compact and ASCII.
  const std::uint64_t state = load(object + kStateOffset);
  const auto width = static_cast<std::uint32_t>(state >> 2 & 7);
  const bool is_compact = (state >> 5 & 1) != 0;
  const bool is_ascii = (state >> 6 & 1) != 0;
  if (!is_compact || (width != 1 && width != 2 && width != 4)) return {};
  return {object + (is_ascii ? runtime.layout.text_header : runtime.layout.wide_text_header), count, width};
}

int encode(std::uint32_t character, char* out) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  const auto tail = [&](int shift) { return byte(0x80 | (character >> shift & 0x3f)); };
  if (character >= 0xdc80 && character <= 0xdcff) return out[0] = byte(character & 0xff), 1;
  if (character < 0x80) return out[0] = byte(character), 1;
  if (character < 0x800) return out[0] = byte(0xc0 | character >> 6), out[1] = tail(0), 2;
  if (character < 0x10000) return out[0] = byte(0xe0 | character >> 12), out[1] = tail(6), out[2] = tail(0), 3;
  return out[0] = byte(0xf0 | (character >> 18 & 7)), out[1] = tail(12), out[2] = tail(6), out[3] = tail(0), 4;
}

}  // namespace

std::uint32_t copy_python_text(const PythonRuntime& runtime, std::uint64_t object, char* out) {
  constexpr std::uint32_t kLongest = 4;
  const Characters characters = characters_of(runtime, object);
  std::uint32_t bytes = 0;
  for (std::uint64_t i = 0; i < characters.count && bytes + kLongest <= kMostPythonText; ++i) {
    bytes += static_cast<std::uint32_t>(encode(characters[i], out + bytes));
  }
  return bytes;
}

std::uint64_t print_of_python_text(const PythonRuntime& runtime, std::uint64_t object) {
  constexpr std::uint64_t kWord = sizeof(std::uint64_t);
  const Characters characters = characters_of(runtime, object);
  const std::uint64_t bytes = characters.count * characters.width;
  const std::uint64_t kind = characters.count << 3 | characters.width;
  if (bytes == 0) return mixed(0, kind);
  const std::uint64_t first = load(characters.at);  // an object's bytes are a multiple of 8
  if (bytes < kWord) return mixed(first << 8 * (kWord - bytes), kind);
  const std::uint64_t end = characters.at + bytes;
  const std::uint64_t before_last = bytes < 2 * kWord ? 0 : load(end - 2 * kWord);
  return mixed(mixed(first, before_last), mixed(load(end - kWord), kind));
}

}  // namespace tare::recorder
