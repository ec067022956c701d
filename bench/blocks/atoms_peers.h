// The tables that the atoms bench compares, behind one shape: intern() makes or finds and gives a Key; dropping the Key
// lets go; gc() frees what nobody holds.
#pragma once

#include <absl/container/flat_hash_set.h>
#include <llvm/ADT/StringMap.h>

#include <atomic>
#include <boost/flyweight.hpp>
#include <boost/flyweight/no_tracking.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tare/atom_table.h"

namespace atoms_bench {

struct Tare {
  static constexpr const char* kName = "tare";
  using Key = tare::Atom;
  // Nothing is swept while releases are timed; gc() is timed by itself.
  tare::AtomTable table{{.unused_threshold = 0xFFFFFFFF}};
  Key intern(std::string_view text) { return table.intern(text); }
  bool has(std::string_view text) { return table.find_handle(text) != 0; }
  void gc() { table.gc(); }
};

// Tables that never let go: their keys are plain pointers, and gc() is erasing everything.
struct StdSet {
  static constexpr const char* kName = "std::unordered_set";
  using Key = const std::string*;
  std::unordered_set<std::string> set;
  Key intern(std::string_view text) { return &*set.emplace(text).first; }
  bool has(std::string_view text) { return set.find(std::string(text)) != set.end(); }
  void gc() { set.clear(); }
};

struct AbslSet {
  static constexpr const char* kName = "absl::flat_hash_set";
  using Key = const std::string*;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return absl::Hash<std::string_view>()(text); }
    std::size_t operator()(const std::unique_ptr<std::string>& text) const { return (*this)(std::string_view(*text)); }
  };
  struct Equal {
    using is_transparent = void;
    static std::string_view view(std::string_view text) { return text; }
    static std::string_view view(const std::unique_ptr<std::string>& text) { return *text; }
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return view(a) == view(b);
    }
  };
  absl::flat_hash_set<std::unique_ptr<std::string>, Hash, Equal> set;  // atoms must stay where they are
  Key intern(std::string_view text) {
    return set.lazy_emplace(text, [&](const auto& make) { make(std::make_unique<std::string>(text)); })->get();
  }
  bool has(std::string_view text) { return set.contains(text); }
  void gc() { set.clear(); }
};

struct LlvmMap {
  static constexpr const char* kName = "llvm::StringMap";
  using Key = const llvm::StringMapEntryBase*;
  llvm::StringMap<std::nullopt_t> map;
  Key intern(std::string_view text) { return &*map.try_emplace({text.data(), text.size()}, std::nullopt).first; }
  bool has(std::string_view text) { return map.find({text.data(), text.size()}) != map.end(); }
  void gc() { map.clear(); }
};

// The same for threads that share it: each search and each let-go takes the lock, and keys are counted.
struct LockedLlvmMap {
  static constexpr const char* kName = "llvm::StringMap, locked";
  using Map = llvm::StringMap<std::atomic<std::uint32_t>>;
  class Key {
   public:
    explicit Key(Map::value_type* entry) : entry_(entry) {}
    Key(Key&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
    Key& operator=(Key&& other) noexcept {
      std::swap(entry_, other.entry_);
      return *this;
    }
    ~Key() {
      if (entry_ != nullptr) entry_->second.fetch_sub(1, std::memory_order_acq_rel);
    }

   private:
    Map::value_type* entry_;
  };
  std::mutex mutex;
  Map map;
  Key intern(std::string_view text) {
    const std::lock_guard<std::mutex> lock(mutex);
    auto* entry = &*map.try_emplace({text.data(), text.size()}, 0).first;
    entry->second.fetch_add(1, std::memory_order_relaxed);
    return Key(entry);
  }
  void gc() {
    const std::lock_guard<std::mutex> lock(mutex);
    for (auto at = map.begin(); at != map.end();) {
      const auto next = std::next(at);
      if (at->second.load(std::memory_order_acquire) == 0) map.erase(at);
      at = next;
    }
  }
};

struct Flyweight {
  static constexpr const char* kName = "boost::flyweight";
  using Key = boost::flyweight<std::string>;  // counted, and freed at once; the table is the process'
  Key intern(std::string_view text) { return Key(text.begin(), text.end()); }
  void gc() {}
};

// A model of Firefox's atoms of 2025: 24 bytes that point to a shared buffer of UTF-16, in 512 tables with a
// readers-writer lock each, hashed a character at a time; unused atoms are counted in one place and freed by gc().
struct FirefoxModel {
  static constexpr const char* kName = "firefox-model";
  struct Buffer {
    std::atomic<std::uint32_t> references;
    std::uint32_t size;
  };
  struct Block {
    std::uint32_t length;
    std::uint32_t hash;
    std::atomic<std::uint64_t> references;
    Buffer* buffer;
    const char16_t* text() const { return reinterpret_cast<const char16_t*>(buffer + 1); }
  };
  static_assert(sizeof(Block) == 24);
  struct Table {
    std::shared_mutex mutex;
    std::vector<Block*> blocks;
    std::vector<std::uint32_t> hashes;
    std::size_t count = 0;
  };
  static inline std::atomic<std::uint64_t> unused{0};

  class Key {
   public:
    Key() = default;
    explicit Key(Block* block) : block_(block) {}
    Key(Key&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    Key& operator=(Key&& other) noexcept {
      std::swap(block_, other.block_);
      return *this;
    }
    ~Key() {
      if (block_ != nullptr && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        unused.fetch_add(1, std::memory_order_relaxed);
      }
    }

   private:
    Block* block_ = nullptr;
  };

  std::unique_ptr<Table[]> tables{new Table[512]};

  static Block* search(const Table& table, std::string_view text, std::uint32_t hash, std::size_t& at) {
    const std::size_t mask = table.blocks.size() - 1;
    for (at = hash >> 9 & mask; table.blocks[at] != nullptr; at = (at + 1) & mask) {
      Block* block = table.blocks[at];
      if (table.hashes[at] != hash || block->length != text.size()) continue;
      if (std::equal(text.begin(), text.end(), block->text())) return block;
    }
    return nullptr;
  }
  static Key held(Block* block) {
    if (block->references.fetch_add(1, std::memory_order_relaxed) == 0) unused.fetch_sub(1, std::memory_order_relaxed);
    return Key(block);
  }
  static void grow(Table& table) {
    const std::vector<Block*> old = std::move(table.blocks);
    const std::vector<std::uint32_t> hashes = std::move(table.hashes);
    table.blocks.assign(old.empty() ? 8 : old.size() * 2, nullptr);
    table.hashes.assign(table.blocks.size(), 0);
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (old[i] != nullptr) put(table, old[i], hashes[i]);
    }
  }
  static void put(Table& table, Block* block, std::uint32_t hash) {
    const std::size_t mask = table.blocks.size() - 1;
    std::size_t at = hash >> 9 & mask;
    while (table.blocks[at] != nullptr) at = (at + 1) & mask;
    table.blocks[at] = block;
    table.hashes[at] = hash;
  }

  Key intern(std::string_view text) {
    std::uint32_t hash = 0;
    for (const char c : text) hash = 0x9E3779B9U * ((hash << 5 | hash >> 27) ^ static_cast<unsigned char>(c));
    Table& table = tables[hash % 512];
    std::size_t at = 0;
    {
      const std::shared_lock<std::shared_mutex> lock(table.mutex);
      if (!table.blocks.empty()) {
        if (Block* block = search(table, text, hash, at)) return held(block);
      }
    }
    const std::lock_guard<std::shared_mutex> lock(table.mutex);
    if ((table.count + 1) * 4 > table.blocks.size() * 3) grow(table);
    if (Block* block = search(table, text, hash, at)) return held(block);
    auto* buffer = static_cast<Buffer*>(std::malloc(sizeof(Buffer) + 2 * (text.size() + 1)));
    new (buffer) Buffer{1, static_cast<std::uint32_t>(2 * (text.size() + 1))};
    auto* characters = reinterpret_cast<char16_t*>(buffer + 1);
    *std::copy(text.begin(), text.end(), characters) = 0;
    auto* block = static_cast<Block*>(std::malloc(sizeof(Block)));
    new (block) Block{static_cast<std::uint32_t>(text.size()), hash, 1, buffer};
    table.blocks[at] = block;
    table.hashes[at] = hash;
    ++table.count;
    return Key(block);
  }

  void gc() {
    for (std::size_t i = 0; i < 512; ++i) {
      Table& table = tables[i];
      const std::lock_guard<std::shared_mutex> lock(table.mutex);
      const std::vector<Block*> old = std::move(table.blocks);
      const std::vector<std::uint32_t> hashes = std::move(table.hashes);
      table.blocks.assign(old.size(), nullptr);
      table.hashes.assign(old.size(), 0);
      table.count = 0;
      for (std::size_t j = 0; j < old.size(); ++j) {
        if (old[j] == nullptr) continue;
        if (old[j]->references.load(std::memory_order_acquire) != 0) {
          put(table, old[j], hashes[j]);
          ++table.count;
          continue;
        }
        unused.fetch_sub(1, std::memory_order_relaxed);
        std::free(old[j]->buffer);
        std::free(old[j]);
      }
    }
  }
  ~FirefoxModel() { gc(); }
};

}  // namespace atoms_bench
