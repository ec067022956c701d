// Models of size classes against the seed's table and against the real allocators installed here.
#include "tare/size_classes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "sizes_to_ask.h"

namespace tare {
namespace {

static_assert(size_class(size_models::jemalloc, 4135).usable_bytes == 5120, "usable at compile time");
static_assert(find_size_model("jemalloc-2011") == &kSizeModels[3]);

std::size_t usable(const SizeModel& model, std::size_t n) { return size_class(model, n).usable_bytes; }

TEST(SizeClasses, TheTableOf2011) {
  const SizeModel& model = size_models::jemalloc_2011;
  const std::vector<std::tuple<std::size_t, std::size_t, std::string_view>> expected = {
      {0, 2, "small"},
      {1, 2, "small"},
      {3, 4, "small"},
      {5, 8, "small"},
      {9, 16, "small"},
      {15, 16, "small"},
      {18, 32, "small"},
      {24, 32, "small"},
      {40, 48, "small"},
      {56, 64, "small"},
      {72, 80, "small"},
      {104, 112, "small"},
      {136, 144, "small"},
      {512, 512, "small"},
      {513, 1024, "small"},
      {680, 1024, "small"},
      {1025, 2048, "small"},
      {1032, 2048, "small"},
      {1056, 2048, "small"},
      {2048, 2048, "small"},
      {2049, 4096, "large"},
      {2087, 4096, "large"},
      {4095, 4096, "large"},
      {4135, 8192, "large"},
      {32776, 36864, "large"},
      {1044480, 1044480, "large"},
      {1044481, 1048576, "huge"},
      {1048578, 2097152, "huge"},
  };
  for (const auto& [requested, got, name] : expected) {
    EXPECT_EQ(usable(model, requested), got) << requested;
    EXPECT_EQ(size_class(model, requested).name, name) << requested;
  }
}

TEST(SizeClasses, ClownshoesAreNamedAndOthersAreNot) {
  const SizeModel& model = size_models::jemalloc_2011;
  for (std::size_t n : {1025, 1032, 1056, 2087, 4135, 1048578, 520, 550}) EXPECT_TRUE(is_clownshoe(model, n)) << n;
  for (std::size_t n : {0, 1, 8, 18, 24, 40, 56, 72, 104, 136, 512, 680, 1024, 4095, 4096, 32776, 1048576}) {
    EXPECT_FALSE(is_clownshoe(model, n)) << n;
  }
  EXPECT_TRUE(is_clownshoe(size_models::jemalloc, 1032));   // 1280: 19 % slop
  EXPECT_FALSE(is_clownshoe(size_models::jemalloc, 1200));  // 1280
  for (std::size_t n = 0; n < 100'000; ++n) ASSERT_FALSE(is_clownshoe(size_models::glibc, n)) << n;
}

TEST(SizeClasses, NamesAreDistinctAndFound) {
  for (const SizeModel& model : kSizeModels) {
    EXPECT_EQ(find_size_model(model.name), &model) << model.name;
    EXPECT_FALSE(model.meaning.empty());
  }
  EXPECT_EQ(find_size_model("dlmalloc"), nullptr);
}

class EveryModel : public testing::TestWithParam<SizeModel> {};

TEST_P(EveryModel, IsMonotonicAndConsistent) {
  const SizeModel& model = GetParam();
  std::size_t last_capacity = 0;
  std::size_t last_size = 0;
  for_each_size_to_ask([&](std::size_t n) {
    const SizeClass got = size_class(model, n);
    ASSERT_GE(got.usable_bytes, n);
    ASSERT_GE(got.capacity_bytes, n);
    ASSERT_GE(got.slot_bytes, got.capacity_bytes + got.header_bytes);
    ASSERT_GE(got.slot_bytes, got.usable_bytes + got.header_bytes);
    ASSERT_FALSE(got.name.empty());
    const std::size_t good = good_size(model, n);
    ASSERT_EQ(good_size(model, good), good) << "a good size is its own";
    ASSERT_EQ(size_class(model, good).slot_bytes, got.slot_bytes);
    ASSERT_GT(good_size(model, good + 1), good);
    if (n >= last_size) {
      ASSERT_GE(got.capacity_bytes, last_capacity) << n;
    }
    last_capacity = got.capacity_bytes;
    last_size = n;
  });
}

TEST_P(EveryModel, ClassBelowIsTheGreatestSmallerOne) {
  const SizeModel& model = GetParam();
  std::size_t below = 0;
  for (std::size_t n = 1; n < 20'000; ++n) {
    if (good_size(model, n) > good_size(model, n - 1)) below = n - 1;
    ASSERT_EQ(class_below(model, n), below) << n;
  }
}

TEST_P(EveryModel, HugeRequestsDoNotOverflow) {
  for (std::size_t n : {kLargestRequest - 1, kLargestRequest, kLargestRequest + 1, ~std::size_t{0}}) {
    EXPECT_GE(size_class(GetParam(), n).slot_bytes, n);
    is_clownshoe(GetParam(), n);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, testing::ValuesIn(kSizeModels), [](const auto& model) {
  std::string name(model.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

struct RealAllocator {
  const SizeModel* model;
  const char* library;  // null: what the program is linked with
};

class RealAllocators : public testing::TestWithParam<RealAllocator> {};

TEST_P(RealAllocators, GiveWhatTheModelSays) {
  const auto& [model, library] = GetParam();
  if (library && !std::filesystem::exists(library)) GTEST_SKIP() << library << " isn't installed";
  const std::string command = (library ? "LD_PRELOAD=" + std::string(library) + " " : std::string()) + USABLE_SIZES;
  FILE* output = ::popen(command.c_str(), "r");
  ASSERT_NE(output, nullptr);
  std::size_t requested = 0;
  std::size_t got = 0;
  int lines = 0;
  int wrong = 0;
  while (std::fscanf(output, "%zu %zu", &requested, &got) == 2) {
    ++lines;
    if (got == usable(*model, requested)) continue;
    if (++wrong <= 10) ADD_FAILURE() << requested << " is " << got << ", the model says " << usable(*model, requested);
  }
  EXPECT_EQ(::pclose(output), 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(lines, 65'536);
}

INSTANTIATE_TEST_SUITE_P(
    Installed, RealAllocators,
    testing::Values(RealAllocator{&size_models::glibc, nullptr},
                    RealAllocator{&size_models::jemalloc, "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"},
                    RealAllocator{&size_models::mimalloc2, "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0"},
                    RealAllocator{&size_models::gperftools, "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"}),
    [](const auto& allocator) { return std::string(allocator.param.model->name); });

}  // namespace
}  // namespace tare
