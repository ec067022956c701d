// Good sizes against the allocators installed here, and the arithmetic around them.
#include "tare/good_size.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace tare {
namespace {

struct Allocator {
  const char* name;
  const char* library;  // null: what the program is linked with
  const char* source;
};

struct Answer {
  std::string source;
  int different = -1;
  int unstable = -1;
  std::size_t first_different = 0;
};

Answer answer_under(const char* library, const char* program) {
  const std::string command = (library ? "LD_PRELOAD=" + std::string(library) + " " : std::string()) + program;
  Answer answer;
  std::array<char, 32> source{};
  FILE* output = ::popen(command.c_str(), "r");
  if (output == nullptr) return answer;
  if (std::fscanf(output, "%31s %d %d %zu", source.data(), &answer.different, &answer.unstable,
                  &answer.first_different) == 4) {
    answer.source = source.data();
  }
  EXPECT_EQ(::pclose(output), 0);
  return answer;
}

class GoodSizeUnder : public testing::TestWithParam<Allocator> {};

TEST_P(GoodSizeUnder, IsWhatTheAllocatorGives) {
  const Allocator& allocator = GetParam();
  if (allocator.library && !std::filesystem::exists(allocator.library)) GTEST_SKIP() << "not installed";
  for (const char* program : {GOOD_SIZES, GOOD_SIZES_NO_PIE}) {
    const Answer answer = answer_under(allocator.library, program);
    EXPECT_EQ(answer.source, allocator.source) << program;
    EXPECT_EQ(answer.different, 0) << program << ", first at " << answer.first_different;
    EXPECT_EQ(answer.unstable, 0) << program;
  }
}

#define TARE_LIBRARIES "/usr/lib/x86_64-linux-gnu/"
INSTANTIATE_TEST_SUITE_P(Installed, GoodSizeUnder,
                         testing::Values(Allocator{"glibc", nullptr, "glibc_formula"},
                                         Allocator{"jemalloc", TARE_LIBRARIES "libjemalloc.so.2", "nallocx"},
                                         Allocator{"mimalloc", TARE_LIBRARIES "libmimalloc.so.2.0", "mi_good_size"},
                                         Allocator{"tcmalloc", TARE_LIBRARIES "libtcmalloc_minimal.so.4", "nallocx"},
                                         Allocator{"unknown", FAKE_MALLOC, "measured"}),
                         [](const auto& allocator) { return std::string(allocator.param.name); });

// Scudo's malloc_usable_size says n, so that nothing can be compared: the table must be what is asked.
TEST(GoodSize, FallsBackToTheTableUnderScudo) {
  const char* library = "/usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.scudo_standalone-x86_64.so";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "not installed";
  const Answer answer = answer_under(library, GOOD_SIZES);
  EXPECT_EQ(answer.source, "scudo_table");
  EXPECT_GT(answer.different, 60'000);
  EXPECT_EQ(answer.unstable, 0);
}

TEST(GoodSize, CapacityIsWhatFitsBehindAHeader) {
  for (std::size_t header : {0, 8, 16, 24}) {
    for (std::size_t payload = 0; payload < 20'000; payload += 7) {
      const std::size_t capacity = capacity_for(payload, header);
      ASSERT_GE(capacity, payload);
      ASSERT_EQ(capacity + header, good_size(payload + header));
      ASSERT_GE(capacity_for_elements(payload, 12, header), payload);
      ASSERT_LE(capacity_for_elements(payload, 12, header) * 12 + header, good_size(payload * 12 + header));
    }
  }
}

TEST(GoodSize, WhatNoMallocServesComesBackAsItIs) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  for (std::size_t n : {kLargestRequest + 1, kMost / 2 + 1, kMost - 1, kMost}) {
    EXPECT_EQ(good_size(n), n);
    EXPECT_EQ(capacity_for(n, 16), n);
    EXPECT_EQ(capacity_for_elements(n, 16, 16), n);
  }
  EXPECT_GE(good_size(kLargestRequest), kLargestRequest);
  EXPECT_EQ(capacity_for(16, kMost), 16U);
  EXPECT_GE(good_size(0), 1U);
}

TEST(GoodSize, ThreadsThatAskFirstAgree) {
  std::vector<std::size_t> answers(8);
  std::vector<std::thread> threads;
  for (std::size_t& answer : answers) threads.emplace_back([&answer] { answer = good_size(5000); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t answer : answers) EXPECT_EQ(answer, good_size(5000));
}

}  // namespace
}  // namespace tare
