// gvdb files, put together here byte by byte, in both byte orders, whole and damaged. Real ones: tests/end_to_end.
#include "tare/variant/gvdb.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tare/variant/writer.h"

namespace tare::variant {
namespace {

struct Entry {
  std::string name;
  std::uint32_t parent;
  char kind;
  std::string content;
  std::string key;  // whole, for the hash
};

class FileWriter {
 public:
  explicit FileWriter(std::endian order) : order_(order) {}

  std::string write(const std::vector<Entry>& entries) {
    file_ = order_ == std::endian::little ? "GVariant" : "raVGtnai";
    put(0);
    put(0);
    const std::size_t table_size = 8 + 4 + 4 + 24 * entries.size();
    put(24);
    put(24 + table_size);
    put(5U << 27 | 1);
    put(1);  // one bucket
    put(0xFFFF'FFFF);
    put(0);
    std::string tail;
    for (const Entry& entry : entries) {
      std::uint32_t hash = 5381;
      for (const char c : entry.key) hash = hash * 33 + static_cast<std::uint32_t>(c);
      put(hash);
      put(entry.parent);
      put(24 + table_size + tail.size());
      tail += entry.name;
      number<std::uint16_t>(static_cast<std::uint16_t>(entry.name.size()));
      file_ += entry.kind;
      file_ += '\0';
      while ((24 + table_size + tail.size()) % 8 != 0) tail += '\0';
      put(24 + table_size + tail.size());
      tail += entry.content;
      put(24 + table_size + tail.size());
    }
    return file_ + tail;
  }
  template <typename Number>
  void number(Number value) {
    char bytes[sizeof value];
    format_details::store(bytes, value, order_ != std::endian::native);
    file_.append(bytes, sizeof bytes);
  }
  void put(std::size_t value) { number(static_cast<std::uint32_t>(value)); }
  std::string take() { return std::move(file_); }

 private:
  std::endian order_;
  std::string file_;
};

std::string variant_of(std::uint32_t value, std::endian order) {
  Output out;
  if (order == std::endian::big)
    return std::string(Writer<"v", GVariantFormat<std::endian::big>>::write(out, value).bytes());
  return std::string(Writer<"v", GVariantFormat<std::endian::little>>::write(out, value).bytes());
}

std::string sample(std::endian order) {
  FileWriter list(order);
  list.put(1);
  list.put(2);
  return FileWriter(order).write({{"/a/", 0xFFFF'FFFF, 'L', list.take(), "/a/"},
                                  {"one", 0, 'v', variant_of(1, order), "/a/one"},
                                  {"two", 0, 'v', variant_of(2, order), "/a/two"}});
}

TEST(Gvdb, FindsAndListsKeys) {
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    const std::string bytes = sample(order);
    const auto file = Gvdb::parse(bytes);
    ASSERT_TRUE(file.has_value());
    EXPECT_EQ(file->byte_order(), order);
    const GvdbTable& root = file->root();
    ASSERT_EQ(root.size(), 3u);
    EXPECT_EQ(root.find("/a/two")->value().as_uint32(), 2u);
    EXPECT_FALSE(root.find("/a/tw").has_value());
    EXPECT_FALSE(root.find("two").has_value());
    EXPECT_FALSE(root.find("").has_value());
    std::string key = "key: ";
    ASSERT_TRUE(root[1].append_key(key));
    EXPECT_EQ(key, "key: /a/one");
    const auto folder = root.find("/a/");
    ASSERT_EQ(folder->kind(), GvdbItem::Kind::Folder);
    ASSERT_EQ(folder->child_count(), 2u);
    EXPECT_EQ(root[*folder->child(1)].name(), "two");
    EXPECT_FALSE(folder->child(2).has_value());
    EXPECT_TRUE(folder->table().empty());
  }
}

TEST(Gvdb, ParentsInACircleHaveNoKey) {
  const std::string bytes =
      FileWriter(std::endian::little)
          .write({{"a", 1, 'v', "", "a"}, {"b", 0, 'v', "", "b"}, {"", 2, 'v', "", ""}, {"c", 9, 'v', "", "c"}});
  const auto file = Gvdb::parse(bytes);
  ASSERT_TRUE(file.has_value());
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::string key;
    EXPECT_FALSE(file->root()[i].append_key(key));
    EXPECT_EQ(key, "");
  }
  for (const char* key : {"a", "b", "", "c"}) EXPECT_FALSE(file->root().find(key).has_value());
}

// All is read of files with each byte changed and of all beginnings; the sanitizers watch.
void read_all(const GvdbTable& table, int levels) {
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    const GvdbItem item = table[i];
    std::string key;
    if (item.append_key(key)) static_cast<void>(table.find(key));
    static_cast<void>(item.value().hash());
    for (std::uint32_t child = 0; child < item.child_count(); ++child) static_cast<void>(item.child(child));
    if (levels > 0) read_all(item.table(), levels - 1);
  }
}

TEST(Gvdb, DamagedFilesAreReadWithinTheirBytes) {
  const std::string whole = sample(std::endian::little);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::unique_ptr<char[]> memory(new char[size]);
    whole.copy(memory.get(), size);
    if (const auto file = Gvdb::parse({memory.get(), size})) read_all(file->root(), 2);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char byte : {'\0', '\1', '\x7f', '\xff', 'H', 'L', 'v'}) {
      std::string bytes = whole;
      bytes[at] = byte;
      if (const auto file = Gvdb::parse(bytes)) read_all(file->root(), 2);
    }
  }
  EXPECT_FALSE(Gvdb::parse("GVariant").has_value());
  EXPECT_FALSE(Gvdb::parse(std::string(100, 'x')).has_value());
}

}  // namespace
}  // namespace tare::variant
