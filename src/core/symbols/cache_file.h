// Files of the caches: replaced whole, read whole or not at all. A file that can't be read or written counts as absent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/symbols/byte_reader.h"

namespace tare::core {

// $XDG_CACHE_HOME/tare/`kind`, else ~/.cache/tare/`kind`; empty if neither variable is set.
std::filesystem::path default_cache_dir(std::string_view kind);

// Regular files of at most 256 MiB.
std::optional<std::string> read_cache_file(const std::filesystem::path& path);

// Makes the folder, too. Concurrent writers replace each other's file, never a part of it.
void replace_cache_file(const std::filesystem::path& path, std::string_view bytes);

// `magic`, a checksum and `body`, as one file; and `body` again, or nothing where the file is damaged or another's.
std::string seal_cache(std::string_view magic, std::string_view body);
std::optional<std::string_view> unseal_cache(std::string_view magic, std::string_view file);

// LEB128, and texts by length.
void put(std::string& out, std::uint64_t value);
void put(std::string& out, std::string_view text);

// Texts by number, each once.
class StringNumbers {
 public:
  std::uint64_t number(const std::string& text) {
    const auto [known, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return known->second;
  }
  const std::vector<std::string_view>& texts() const { return texts_; }  // views of what number() was given

 private:
  std::unordered_map<std::string_view, std::uint64_t> numbers_;
  std::vector<std::string_view> texts_;
};

// All of them by number, as a list; and the list again, or nothing where it can't be one.
void put_texts(std::string& out, const std::vector<std::string_view>& texts);
std::optional<std::vector<std::string>> take_texts(ByteReader& reader);

}  // namespace tare::core
