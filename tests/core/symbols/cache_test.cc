// The symbol cache: keeps what it is given, survives damage and concurrent writers.
#include "core/symbols/symbol_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "support.h"

namespace tare::core {
namespace {

using testing::TemporaryFolder;

ResolvedFrames sample(std::uint64_t first, std::size_t count) {
  ResolvedFrames frames;
  for (std::uint64_t i = 0; i < count; ++i) {
    frames[first + i * 7] = {{"_Z5innerv", "inner()", "", "/src/a.cc", 12u, FrameKind::Inlined},
                             {"_Z5outerv", "outer()", ".cold", "/src/b.cc", std::nullopt, FrameKind::Physical}};
  }
  frames[first + 3] = {Frame{}};
  return frames;
}

TEST(SymbolCache, KeepsEverything) {
  const ResolvedFrames frames = sample(0x1000, 100);
  EXPECT_EQ(decode_symbol_cache(encode_symbol_cache("files", frames), "files"), frames);
  EXPECT_EQ(decode_symbol_cache(encode_symbol_cache("files", {}), "files"), ResolvedFrames{});
}

TEST(SymbolCache, OtherFilesMeanNoCache) {
  EXPECT_EQ(decode_symbol_cache(encode_symbol_cache("files", sample(1, 3)), "other files"), std::nullopt);
}

TEST(SymbolCache, DamageMeansNoCache) {
  const std::string good = encode_symbol_cache("files", sample(0x1000, 20));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(decode_symbol_cache(good.substr(0, size), "files"), std::nullopt) << size;
  }
  EXPECT_EQ(decode_symbol_cache(good + "x", "files"), std::nullopt);
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bad = good;
    bad[random() % bad.size()] ^= static_cast<char>(1 << (random() % 8));
    EXPECT_EQ(decode_symbol_cache(bad, "files"), std::nullopt) << i;
  }
}

TEST(SymbolCache, ATextOfAllFramesMeansNoCache) {
  // 64 KiB, referred to four times by each of 1,000 frames: 82 KB of file, 256 MiB of names.
  ResolvedFrames frames;
  const std::string text(64 << 10, 'x');
  frames[1].assign(1000, {text, text, text, text, 1u, FrameKind::Inlined});
  const std::string bytes = encode_symbol_cache("files", frames);
  ASSERT_LT(bytes.size(), 100u << 10);
  EXPECT_EQ(decode_symbol_cache(bytes, "files"), std::nullopt);
}

TEST(SymbolCache, AddsToWhatIsThere) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "deep" / "er" / "x.symbols";
  save_symbol_cache(file, "files", sample(0, 10));
  save_symbol_cache(file, "files", sample(100'000, 10));
  const auto loaded = load_symbol_cache(file, "files");
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->size(), sample(0, 10).size() * 2);
  save_symbol_cache(file, "newer files", sample(0, 1));
  EXPECT_EQ(load_symbol_cache(file, "newer files"), sample(0, 1));
}

TEST(SymbolCache, ConcurrentWritersLeaveAValidFile) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "x.symbols";
  constexpr int kWriters = 6;
  for (int writer = 0; writer < kWriters; ++writer) {
    if (::fork() == 0) {
      for (int i = 0; i < 30; ++i)
        save_symbol_cache(file, "files", sample(static_cast<std::uint64_t>(writer) * 1'000'000, 50));
      ::_exit(0);
    }
  }
  int checked = 0;
  for (int left = kWriters; left > 0;) {
    if (std::filesystem::exists(file)) {
      EXPECT_TRUE(load_symbol_cache(file, "files"));
      ++checked;
    }
    if (::waitpid(-1, nullptr, WNOHANG) > 0) --left;
  }
  EXPECT_GT(checked, 0);
  const auto entries =
      std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator());
  EXPECT_EQ(entries, 1) << "a temporary file was left behind";
}

TEST(SymbolCache, UnwritableFolderIsNoError) {
  save_symbol_cache("/proc/nowhere/x.symbols", "files", sample(0, 1));
  EXPECT_EQ(load_symbol_cache("/proc/nowhere/x.symbols", "files"), std::nullopt);
}

}  // namespace
}  // namespace tare::core
