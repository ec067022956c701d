// Tables survive the cache unchanged; anything else in its place is ignored.
#include "core/columns/table_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>
#include <cmath>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>

#include "core/columns/table_codec.h"
#include "support/made_up_trace.h"
#include "support/temp_dir.h"

namespace tare::core {
namespace {

namespace fs = std::filesystem;

Tables some_tables() {
  MadeUpTrace made;
  for (std::uint64_t i = 0; i < 300; ++i) made.alloc(0x10010 + i * 64, made.shape(made.stack(0x2000 + i % 20), 10 + i));
  Tables tables = made.replay();
  TableBuilder odd("odd \"name\"");
  const auto wide = odd.column("wide", ColumnType::Int64);
  const auto holes = odd.column("holes", ColumnType::Int64);
  const auto text = odd.column("text", ColumnType::String);
  const auto real = odd.column("real", ColumnType::Double);
  for (int i = 0; i < 5; ++i) {
    odd.add(wide, i % 2 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max());
    if (i == 3) {
      odd.add_null(holes);
      odd.add_null(text);
      odd.add_null(real);
    } else {
      odd.add(holes, std::int64_t{i});
      odd.add(text, std::string_view(i ? "a\0b" : "", i ? 3 : 0));
      odd.add(real, i * -0.1);
    }
  }
  tables.put(odd.take());
  return tables;
}

TEST(TableCodec, ComesBackEqual) {
  const Tables tables = some_tables();
  const auto bytes = encode_tables(tables);
  const auto back = decode_tables(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, tables);
  EXPECT_EQ(decode_tables(encode_tables({})), Tables{});
}

TEST(TableCodec, WholeDoublesTakeWhatTheirRangeNeeds) {
  TableBuilder table("t");
  const auto whole = table.column("whole", ColumnType::Double);
  const auto minus_zero = table.column("minus_zero", ColumnType::Double);
  const auto large = table.column("large", ColumnType::Double);
  const auto half = table.column("half", ColumnType::Double);
  for (int i = 0; i < 100; ++i) {
    table.add(whole, -3.0 + i);
    table.add(minus_zero, i == 7 ? -0.0 : 1.0 * i);
    table.add(large, i == 7 ? 1e300 : 1.0 * i);
    table.add(half, i == 7 ? 0.5 : 1.0 * i);
  }
  Tables tables;
  tables.put(table.take());
  const auto bytes = encode_tables(tables);
  EXPECT_GT(bytes.size(), 3u * 800);
  EXPECT_LT(bytes.size(), 3u * 800 + 200);
  const auto back = decode_tables(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, tables);
  EXPECT_TRUE(std::signbit(back->tables[0]["minus_zero"].doubles[7]));
}

TEST(TableCodec, IntegersTakeWhatTheirRangeNeeds) {
  TableBuilder table("t");
  const auto id = table.column("id", ColumnType::Int64);
  const auto same = table.column("same", ColumnType::Int64);
  for (std::int64_t i = 0; i < 60'000; ++i) {
    table.add(id, i + (std::int64_t{1} << 40));
    table.add(same, std::int64_t{7});
  }
  Tables tables;
  tables.put(table.take());
  EXPECT_LT(encode_tables(tables).size(), 60'000u * 2 + 100);
}

TEST(TableCodec, CutOrChangedBytesNeverHurt) {
  const auto bytes = encode_tables(some_tables());
  for (std::size_t length = 0; length < bytes.size(); length += length < 2000 ? 1 : 97) {
    EXPECT_FALSE(decode_tables({bytes.data(), length})) << length;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    auto changed = bytes;
    for (int flips = 0; flips < 3; ++flips)
      changed[random() % changed.size()] ^= static_cast<std::uint8_t>(1u << random() % 8);
    decode_tables(changed);  // may be tables or not; must return
  }
}

class TableCacheTest : public testing::Test {
 protected:
  TableCacheTest() {
    ::setenv("XDG_CACHE_HOME", (folder_ / "user").c_str(), 1);
    write_trace("a trace of some length");
  }
  void write_trace(const std::string& text) { std::ofstream(trace_) << text; }
  fs::path beside() const { return folder_ / ".app.tare.cache" / ("tables-v" + std::to_string(kTablesVersion)); }

  test::TempDir temp_;
  fs::path folder_ = temp_.path();
  fs::path trace_ = folder_ / "app.tare";
  Tables tables_ = some_tables();
};

TEST_F(TableCacheTest, StoresBesideTheTrace) {
  const TableCache cache(trace_);
  EXPECT_FALSE(cache.load("tables"));
  ASSERT_TRUE(cache.store("tables", tables_));
  EXPECT_TRUE(fs::exists(beside()));
  EXPECT_EQ(std::distance(fs::directory_iterator(beside().parent_path()), fs::directory_iterator()), 1);
  const auto back = TableCache(trace_).load("tables");
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, tables_);
  EXPECT_FALSE(cache.load("frames"));
}

TEST_F(TableCacheTest, AnotherTraceUnderTheNameIsNotAnswered) {
  const TableCache cache(trace_);
  ASSERT_TRUE(cache.store("tables", tables_));
  struct stat before{};
  ::stat(trace_.c_str(), &before);
  write_trace("a trace of same length");
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ::utimensat(AT_FDCWD, trace_.c_str(), times, 0);  // same size, same time: the content tells
  EXPECT_FALSE(cache.load("tables"));
  write_trace("a trace of some length");
  ::utimensat(AT_FDCWD, trace_.c_str(), times, 0);
  EXPECT_TRUE(cache.load("tables"));
  write_trace("a trace of some length, grown");
  EXPECT_FALSE(cache.load("tables"));
}

TEST_F(TableCacheTest, EveryFlippedByteAndEveryCutIsNoticed) {
  const TableCache cache(trace_);
  ASSERT_TRUE(cache.store("tables", tables_));
  std::string good;
  {
    std::ifstream in(beside(), std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto put = [&](const std::string& text) {
    std::ofstream(beside(), std::ios::binary | std::ios::trunc) << text;
  };
  for (std::size_t at = 0; at < good.size(); at += at < 100 ? 1 : 211) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    put(bad);
    EXPECT_FALSE(cache.load("tables")) << at;
    put(good.substr(0, at));
    EXPECT_FALSE(cache.load("tables")) << at;
  }
  put("");
  EXPECT_FALSE(cache.load("tables"));
  put(good + "x");
  EXPECT_FALSE(cache.load("tables"));
  ASSERT_TRUE(cache.store("tables", tables_)) << "a bad cache is replaced";
  EXPECT_TRUE(cache.load("tables"));
}

TEST_F(TableCacheTest, FallsBackToTheUsersFolder) {
  std::ofstream(folder_ / ".app.tare.cache") << "a file where the folder should be: also stops root";
  const TableCache cache(trace_);
  ASSERT_TRUE(cache.store("tables", tables_));
  EXPECT_TRUE(cache.load("tables"));
  EXPECT_TRUE(fs::exists(folder_ / "user" / "tare"));
  fs::create_directories(folder_ / "other");
  fs::copy(trace_, folder_ / "other" / "app.tare");
  EXPECT_FALSE(TableCache(folder_ / "other" / "app.tare").load("tables")) << "same name, other folder";
}

TEST_F(TableCacheTest, RootLeavesNothingInAnotherUsersFolder) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chown(folder_.c_str(), 12345, 12345), 0);
  const TableCache cache(trace_);
  ASSERT_TRUE(cache.store("tables", tables_));
  EXPECT_FALSE(fs::exists(cache.folders()[0]));
  EXPECT_TRUE(fs::exists(cache.folders()[1]));
  EXPECT_TRUE(cache.load("tables"));
}

TEST_F(TableCacheTest, NowhereToWriteIsOneClearError) {
  std::ofstream(folder_ / ".app.tare.cache") << "x";
  std::ofstream(folder_ / "user") << "x";
  const TableCache cache(trace_);
  const Status status = cache.store("tables", tables_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::Io);
  EXPECT_NE(status.error().message.find("app.tare"), std::string::npos);
  EXPECT_FALSE(cache.load("tables"));
}

TEST_F(TableCacheTest, AMissingTraceHasNoCache) {
  const TableCache cache(folder_ / "none.tare");
  EXPECT_FALSE(cache.load("tables"));
  EXPECT_FALSE(cache.store("tables", tables_));
}

}  // namespace
}  // namespace tare::core
