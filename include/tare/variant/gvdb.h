// tare/variant/gvdb.h: reads gvdb files, GLib's tables of keys and values: dconf's databases, gschemas.compiled.
//
//   auto file = tare::variant::Gvdb::parse(bytes);                  // a mapped file; nothing if it isn't one
//   if (auto item = file->root().find("/org/gnome/desktop/interface/clock-format"))
//     use(item->value().text());
//   for (std::uint32_t i = 0; i < file->root().size(); ++i) {       // all of them, in no order
//     std::string key;
//     if (file->root()[i].append_key(key)) print(key);
//   }
//
// The bytes stay the caller's and must outlive all that was read. They may be damaged: each place in the file is
// checked when it is followed, and a wrong one reads as empty. A file in the other byte order is read as well.
//
// find() costs a hash of the key and, mostly, one comparison; a filter in the file rejects most absent keys before.
// Nothing allocates but append_key(), nothing throws. Any thread may read.
//
// The format is that of GNOME's gvdb, which GLib and dconf write.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tare/internal/export.h"
#include "tare/variant/view.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

class GvdbTable;

// One key and its entry. Keys of files with folders are in parts: a key ends its parent's.
class TARE_API GvdbItem {
 public:
  enum class Kind : std::uint8_t {
    Value,
    Table,    // a table within the table: a schema with its keys
    Folder,   // a list of the items within: dconf's paths that end in /
    Unknown,  // of another version
    Broken    // lies outside the file
  };

  Kind kind() const noexcept;
  // The end of the key, which with a parent isn't all of it.
  std::string_view name() const noexcept;
  std::optional<std::uint32_t> parent() const noexcept;  // an item of the same table
  // Appends the whole key to `to`. False, and nothing is put, if a parent is wrong, there are more than 128 parts or 64
  // KiB.
  bool append_key(std::string& to) const;

  // Of a Value: the content of the file's variant. Else ().
  View value() const noexcept;
  // Of a Table. Else an empty one.
  GvdbTable table() const noexcept;
  // Of a Folder: how many items it has, and which, by their place in the table.
  std::uint32_t child_count() const noexcept;
  std::optional<std::uint32_t> child(std::uint32_t index) const noexcept;

 private:
  friend class GvdbTable;
  GvdbItem(const GvdbTable& table, std::uint32_t index) noexcept;
  std::string_view content() const noexcept;

  const char* file_ = nullptr;
  std::size_t file_size_ = 0;
  const char* items_ = nullptr;
  std::uint32_t items_size_ = 0;
  const char* item_ = nullptr;
  bool is_swapped_ = false;
};

class TARE_API GvdbTable {
 public:
  GvdbTable() noexcept = default;

  std::uint32_t size() const noexcept { return items_size_; }
  bool empty() const noexcept { return items_size_ == 0; }
  GvdbItem operator[](std::uint32_t index) const noexcept { return {*this, index}; }  // index < size()

  // The item with this whole key.
  std::optional<GvdbItem> find(std::string_view key) const noexcept;

 private:
  friend class Gvdb;
  friend class GvdbItem;
  GvdbTable(std::string_view file, std::string_view table, bool is_swapped) noexcept;

  const char* file_ = nullptr;
  std::size_t file_size_ = 0;
  const char* filter_ = nullptr;
  const char* buckets_ = nullptr;
  const char* items_ = nullptr;
  std::uint32_t filter_words_ = 0;
  std::uint32_t filter_shift_ = 0;
  std::uint32_t buckets_size_ = 0;
  std::uint32_t items_size_ = 0;
  bool is_swapped_ = false;
};

class TARE_API Gvdb {
 public:
  // Nothing if `file` doesn't begin as a gvdb file does.
  static std::optional<Gvdb> parse(std::string_view file) noexcept;

  const GvdbTable& root() const noexcept { return root_; }
  std::endian byte_order() const noexcept { return order_; }

 private:
  Gvdb() = default;

  GvdbTable root_;
  std::endian order_ = std::endian::little;
};

}  // namespace tare::inline TARE_ABI::variant
