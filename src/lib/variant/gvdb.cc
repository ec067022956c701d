// Follows gvdb's places, each checked against the file's size.
#include "tare/variant/gvdb.h"

#include <algorithm>
#include <string>

#include "tare/variant/format.h"

namespace tare::inline TARE_ABI::variant {
namespace {

// The file: "GVariant" as two numbers, version, options, where the root table lies (begin, end).
constexpr std::size_t kRootAt = 16;
constexpr std::size_t kFileHeader = 24;
constexpr std::string_view kLittleMagic = "GVariant";
constexpr std::string_view kBigMagic = "raVGtnai";  // the same numbers with their bytes turned round
// A table: numbers of the filter's words (its shift in the 5 highest bits) and of buckets; the filter, the buckets, the
// items.
constexpr std::size_t kTableHeader = 8;
constexpr std::uint32_t kFilterWordsMask = (1U << 27) - 1;
// An item: hash, parent, where the key lies and its size, a letter for the kind, a gap, where the content lies.
constexpr std::size_t kItem = 24;
constexpr std::size_t kParentAt = 4;
constexpr std::size_t kKeyAt = 8;
constexpr std::size_t kKeySizeAt = 12;
constexpr std::size_t kKindAt = 14;
constexpr std::size_t kContentAt = 16;
constexpr std::uint32_t kNoParent = 0xFFFF'FFFF;
// Parts of a key and its bytes: else a damaged file has long keys for each of its items.
constexpr std::uint32_t kMostParts = 128;
constexpr std::size_t kLongestKey = 0xFFFF;

std::uint32_t load(const char* at, bool is_swapped) {
  return format_details::load<std::uint32_t>(at, is_swapped != format_details::kIsBigEndian);
}

// The bytes between the two places at `at`; a null data() if they aren't in the file.
std::string_view range(std::string_view file, const char* at, bool is_swapped) {
  const std::uint32_t begin = load(at, is_swapped);
  const std::uint32_t end = load(at + 4, is_swapped);
  if (begin > end || end > file.size()) return {};
  return file.substr(begin, end - begin);
}

std::uint32_t hash_of(std::string_view key) {
  std::uint32_t hash = 5381;
  for (const char c : key) hash = hash * 33 + static_cast<std::uint32_t>(static_cast<signed char>(c));
  return hash;
}

}  // namespace

std::optional<Gvdb> Gvdb::parse(std::string_view file) noexcept {
  if (file.size() < kFileHeader) return std::nullopt;
  const bool is_swapped = file.starts_with(kBigMagic);
  if (!is_swapped && !file.starts_with(kLittleMagic)) return std::nullopt;
  if (load(file.data() + 8, is_swapped) != 0) return std::nullopt;  // the only version there is
  Gvdb result;
  result.order_ = is_swapped ? std::endian::big : std::endian::little;
  result.root_ = GvdbTable(file, range(file, file.data() + kRootAt, is_swapped), is_swapped);
  return result;
}

GvdbTable::GvdbTable(std::string_view file, std::string_view table, bool is_swapped) noexcept
    : file_(file.data()), file_size_(file.size()), is_swapped_(is_swapped) {
  if (table.size() < kTableHeader) return;
  const std::uint32_t filter = load(table.data(), is_swapped);
  const std::size_t filter_words = filter & kFilterWordsMask;
  const std::size_t buckets = load(table.data() + 4, is_swapped);
  const std::size_t items_at = kTableHeader + 4 * (filter_words + buckets);
  if (items_at > table.size() || (table.size() - items_at) % kItem != 0) return;
  filter_ = table.data() + kTableHeader;
  buckets_ = filter_ + 4 * filter_words;
  items_ = table.data() + items_at;
  filter_words_ = static_cast<std::uint32_t>(filter_words);
  filter_shift_ = filter >> 27;
  buckets_size_ = static_cast<std::uint32_t>(buckets);
  items_size_ = static_cast<std::uint32_t>((table.size() - items_at) / kItem);
}

std::optional<GvdbItem> GvdbTable::find(std::string_view key) const noexcept {
  if (items_size_ == 0 || buckets_size_ == 0) return std::nullopt;
  const std::uint32_t hash = hash_of(key);
  if (filter_words_ > 0) {
    const std::uint32_t word = load(filter_ + std::size_t{4} * (hash / 32 % filter_words_), is_swapped_);
    const std::uint32_t mask = 1U << (hash & 31) | 1U << (hash >> filter_shift_ & 31);
    if ((word & mask) != mask) return std::nullopt;
  }
  const std::uint32_t bucket = hash % buckets_size_;
  const auto bucket_begin = [&](std::uint32_t i) {
    return i < buckets_size_ ? load(buckets_ + std::size_t{4} * i, is_swapped_) : items_size_;
  };
  const std::uint32_t end = std::min(bucket_begin(bucket + 1), items_size_);
  for (std::uint32_t i = bucket_begin(bucket); i < end; ++i) {
    if (load(items_ + kItem * i, is_swapped_) != hash) continue;
    // backwards through the parts of the key
    std::string_view left = key;
    std::uint32_t part = i;
    for (std::uint32_t parts = 0; parts < kMostParts; ++parts) {
      const GvdbItem item(*this, part);
      if (!left.ends_with(item.name())) break;
      left.remove_suffix(item.name().size());
      const auto parent = item.parent();
      if (!parent.has_value()) {
        if (left.empty()) return GvdbItem(*this, i);
        break;
      }
      if (*parent >= items_size_) break;
      part = *parent;
    }
  }
  return std::nullopt;
}

GvdbItem::GvdbItem(const GvdbTable& table, std::uint32_t index) noexcept
    : file_(table.file_),
      file_size_(table.file_size_),
      items_(table.items_),
      items_size_(table.items_size_),
      item_(table.items_ + kItem * index),
      is_swapped_(table.is_swapped_) {}

std::string_view GvdbItem::name() const noexcept {
  const std::size_t begin = load(item_ + kKeyAt, is_swapped_);
  const std::size_t size =
      format_details::load<std::uint16_t>(item_ + kKeySizeAt, is_swapped_ != format_details::kIsBigEndian);
  if (begin > file_size_ || size > file_size_ - begin) return {};
  return {file_ + begin, size};
}

std::optional<std::uint32_t> GvdbItem::parent() const noexcept {
  const std::uint32_t parent = load(item_ + kParentAt, is_swapped_);
  if (parent == kNoParent) return std::nullopt;
  return parent;
}

bool GvdbItem::append_key(std::string& to) const {
  std::size_t size = 0;
  GvdbItem part = *this;
  std::uint32_t parts = 1;
  for (;; ++parts) {
    size += part.name().size();
    const auto parent = part.parent();
    if (!parent.has_value()) break;
    if (*parent >= items_size_ || parts == kMostParts || size > kLongestKey) return false;
    part.item_ = items_ + kItem * *parent;
  }
  std::size_t end = to.size() + size;
  to.resize(end);
  part = *this;
  for (; parts > 0; --parts) {
    const std::string_view name = part.name();
    end -= name.size();
    name.copy(to.data() + end, name.size());
    if (parts > 1) part.item_ = items_ + kItem * *part.parent();
  }
  return true;
}

std::string_view GvdbItem::content() const noexcept {
  return range({file_, file_size_}, item_ + kContentAt, is_swapped_);
}

GvdbItem::Kind GvdbItem::kind() const noexcept {
  if (content().data() == nullptr) return Kind::Broken;
  switch (item_[kKindAt]) {
    case 'v':
      return Kind::Value;
    case 'H':
      return Kind::Table;
    case 'L':
      return Kind::Folder;
    default:
      return Kind::Unknown;
  }
}

View GvdbItem::value() const noexcept {
  if (kind() != Kind::Value) return {};
  return View("v", content(), is_swapped_ ? std::endian::big : std::endian::little).inside();
}

GvdbTable GvdbItem::table() const noexcept {
  if (kind() != Kind::Table) return {};
  return {{file_, file_size_}, content(), is_swapped_};
}

std::uint32_t GvdbItem::child_count() const noexcept {
  return kind() == Kind::Folder ? static_cast<std::uint32_t>(content().size() / 4) : 0;
}

std::optional<std::uint32_t> GvdbItem::child(std::uint32_t index) const noexcept {
  if (index >= child_count()) return std::nullopt;
  const std::uint32_t item = load(content().data() + std::size_t{4} * index, is_swapped_);
  if (item >= items_size_) return std::nullopt;
  return item;
}

}  // namespace tare::inline TARE_ABI::variant
