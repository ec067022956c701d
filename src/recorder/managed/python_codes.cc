// Tables from code objects to their names in the string pool, and from lines to rows.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/managed/python_codes.h"

#include <cstring>

#include "recorder/base/syscall.h"
#include "recorder/managed/hash.h"
#include "recorder/managed/line_table.h"
#include "recorder/managed/python_text.h"
#include "recorder/unwind/load.h"
#include "recorder/unwind/modules.h"
#include "recorder/unwind/own_memory.h"
#include "recorder/unwind/row_cache.h"
#include "recorder/unwind/spin_lock.h"

namespace tare::recorder {
namespace {

constexpr std::uint64_t kFirstSlots = 256;
constexpr std::uint64_t kMostSlots = 1 << 20;
constexpr std::uint64_t kBytesSizeOffset = 16, kBytesOffset = 32, kUnitBytes = 2;

constexpr std::uint32_t low_half(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

// An open-addressing table of two keys and a value, used under the lock only.
class Table {
 public:
  struct Slot {
    std::uint64_t key;  // 0: empty
    std::uint64_t print;
    std::uint64_t value;
  };

  // Null: no memory, or full.
  Slot* find(std::uint64_t key, std::uint64_t print) {
    if ((slots_ == nullptr || 2 * used_ > count_) && !grow()) return nullptr;
    return &slots_[place(slots_, count_, key, print)];
  }
  void put(Slot* slot, std::uint64_t key, std::uint64_t print, std::uint64_t value) {
    *slot = {key, print, value};
    ++used_;
  }

 private:
  static std::uint64_t place(const Slot* slots, std::uint64_t count, std::uint64_t key, std::uint64_t print) {
    std::uint64_t at = mixed(key, print) & (count - 1);
    while (slots[at].key != 0 && (slots[at].key != key || slots[at].print != print)) at = (at + 1) & (count - 1);
    return at;
  }
  bool grow() {
    const std::uint64_t wanted = slots_ == nullptr ? kFirstSlots : 2 * count_;
    auto* const larger = wanted > kMostSlots ? nullptr : static_cast<Slot*>(reserve_zeroed(wanted * sizeof(Slot)));
    if (larger == nullptr) return slots_ != nullptr && used_ + 1 < count_;
    for (std::uint64_t i = 0; i < count_; ++i) {
      if (slots_[i].key != 0) larger[place(larger, wanted, slots_[i].key, slots_[i].print)] = slots_[i];
    }
    if (slots_ != nullptr) give_back(slots_, count_ * sizeof(Slot));
    slots_ = larger;
    count_ = wanted;
    return true;
  }

  Slot* slots_ = nullptr;
  std::uint64_t count_ = 0;
  std::uint64_t used_ = 0;
};

struct Codes {
  SpinLock lock;
  Table names;  // code and print: where its names are in the pool, plus 1
  Table files;  // a hash of a path: its place in the pool as a StringRef
  Table rows;   // a row's bits: its number
  trace::ModuleId module = trace::kNoModule;
  char text[kMostPythonText + 16] = {};  // scratch
};
constinit Codes g_codes;

// The line table's bytes; null: it isn't an object of bytes.
const std::uint8_t* lines_of(const PythonRuntime& runtime, std::uint64_t code, std::uint64_t& bytes) {
  const std::uint64_t object = load(code + runtime.layout.code_lines);
  if (object == 0 || load(object + kTypeOffset) != runtime.bytes_type) return nullptr;
  bytes = load(object + kBytesSizeOffset);
  return bytes <= kMostLineTableBytes ? reinterpret_cast<const std::uint8_t*>(object + kBytesOffset) : nullptr;
}

std::uint64_t first_and_last_words(const std::uint8_t* bytes, std::uint64_t count) {
  if (bytes == nullptr) return 0;
  const auto at = reinterpret_cast<std::uint64_t>(bytes);
  if (count < 8) {
    std::uint64_t word = 0;
    for (std::uint64_t i = 0; i < count; ++i) word |= std::uint64_t{bytes[i]} << 8 * i;
    return mixed(word, count);
  }
  return mixed(mixed(load(at), load(at + count - 8)), count);
}

bool publish_file(const PythonRuntime& runtime, std::uint64_t code, trace::StringRef& place) {
  const std::uint32_t bytes = copy_python_text(runtime, load(code + runtime.layout.code_file), g_codes.text);
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::uint32_t i = 0; i < bytes; ++i) {
    hash = (hash ^ static_cast<unsigned char>(g_codes.text[i])) * 0x100000001b3;
  }
  Table::Slot* const slot = g_codes.files.find(hash | 1, bytes);
  if (slot != nullptr && slot->key != 0) {
    place = {low_half(slot->value), low_half(slot->value >> 32)};
    return true;
  }
  if (!publish_string(g_codes.text, bytes, place)) return false;
  if (slot != nullptr) {
    g_codes.files.put(slot, hash | 1, bytes, std::uint64_t{place.offset} | std::uint64_t{place.length} << 32);
  }
  return true;
}

bool publish_names(const PythonRuntime& runtime, std::uint64_t code, std::uint32_t& offset) {
  trace::StringRef file{};
  if (!publish_file(runtime, code, file)) return false;
  constexpr std::uint32_t kHead = 12;
  const std::uint32_t name_bytes =
      copy_python_text(runtime, load(code + runtime.layout.code_name), g_codes.text + kHead);
  std::memcpy(g_codes.text, &file.offset, 4);
  std::memcpy(g_codes.text + 4, &file.length, 4);
  std::memcpy(g_codes.text + 8, &name_bytes, 4);
  trace::StringRef place{};
  if (!publish_string(g_codes.text, kHead + name_bytes, place)) return false;
  offset = place.offset;
  return true;
}

std::uint32_t line_at(const PythonRuntime& runtime, std::uint64_t code, std::uint64_t instruction) {
  std::int64_t at = static_cast<std::int32_t>(instruction);
  if (runtime.layout.instruction_is_address) {
    at = static_cast<std::int64_t>(instruction - (code + runtime.layout.code_instructions));
  } else if (runtime.layout.counts_code_units) {
    at *= static_cast<std::int64_t>(kUnitBytes);
  }
  const auto first_line = static_cast<std::int32_t>(load(code + runtime.layout.code_first_line));
  std::uint64_t bytes = 0;
  const std::uint8_t* const lines = lines_of(runtime, code, bytes);
  if (lines == nullptr) return 0;
  return line_of(line_format(runtime.minor), lines, bytes, first_line, at);
}

std::uint32_t row_under_lock(const PythonRuntime& runtime, std::uint64_t code, std::uint64_t instruction,
                             std::uint64_t print) {
  if (g_codes.module == trace::kNoModule) g_codes.module = publish_made_module(trace::kPythonModule);
  if (g_codes.module == trace::kNoModule) return 0;
  Table::Slot* const names = g_codes.names.find(code, print);
  if (names == nullptr) return 0;
  if (names->key == 0) {
    std::uint32_t offset = 0;
    if (!publish_names(runtime, code, offset)) return 0;
    g_codes.names.put(names, code, print, offset);
  }
  constexpr std::uint32_t kMostLine = (1u << trace::kPythonLineBits) - 1;
  const std::uint32_t line = line_at(runtime, code, instruction);
  const std::uint64_t bits = (names->value << trace::kPythonLineBits | (line <= kMostLine ? line : 0)) |
                             std::uint64_t{trace::index(g_codes.module)} << 48;
  Table::Slot* const row = g_codes.rows.find(bits, 0);
  if (row == nullptr) return 0;
  if (row->key == 0) {
    std::uint32_t number = 0;
    if (!g_rows.publish_made(bits, number)) return 0;
    g_codes.rows.put(row, bits, 0, number);
  }
  return low_half(row->value);
}

}  // namespace

std::uint64_t print_of_code(const PythonRuntime& runtime, std::uint64_t code) {
  const PythonLayout& layout = runtime.layout;
  if (layout.code_version != 0) {
    const std::uint32_t version = low_half(load(code + layout.code_version));
    if (version != 0) return version;
  }
  std::uint64_t bytes = 0;
  const std::uint8_t* const lines = lines_of(runtime, code, bytes);
  const std::uint64_t places = mixed(load(code + layout.code_file), load(code + layout.code_name));
  const std::uint64_t texts = mixed(print_of_python_text(runtime, load(code + layout.code_file)),
                                    print_of_python_text(runtime, load(code + layout.code_name)));
  const std::uint64_t table = mixed(first_and_last_words(lines, bytes), low_half(load(code + layout.code_first_line)));
  return mixed(mixed(places, texts), table) | std::uint64_t{1} << 63;
}

std::uint32_t row_of_code(const PythonRuntime& runtime, std::uint64_t code, std::uint64_t instruction,
                          std::uint64_t print) {
  if (load(code + kTypeOffset) != runtime.code_type) return 0;
  const sys::SignalsBlocked blocked;  // a handler that leaves by longjmp must not leave the lock taken
  if (!g_codes.lock.try_lock()) return 0;
  const std::uint32_t row = row_under_lock(runtime, code, instruction, print);
  g_codes.lock.unlock();
  return row;
}

void reset_python_codes() { g_codes.lock.reset(); }

}  // namespace tare::recorder
