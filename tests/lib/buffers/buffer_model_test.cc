// Buffer beside std::vector, over many random operations, some of which get no memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <random>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/support/failing_malloc.h"
#include "lib/support/sanitized.h"
#include "tare/buffer.h"
#include "tare/good_size_allocator.h"

namespace tare {
namespace {

using testing::FailingMalloc;

struct alignas(64) Aligned {
  std::uint64_t value = 0;
  Aligned() = default;
  explicit Aligned(std::uint64_t number) : value(number) {}
  bool operator==(const Aligned&) const = default;
};

std::string short_or_long(std::uint64_t number) {
  return number % 3 == 0 ? std::to_string(number)
                         : "a text of which no part lies in the object " + std::to_string(number);
}
template <typename T>
T make_element(std::uint64_t number) {
  if constexpr (std::is_same_v<T, std::string>) {
    return short_or_long(number);
  } else if constexpr (std::is_same_v<T, std::shared_ptr<int>>) {
    return std::make_shared<int>(static_cast<int>(number));
  } else {
    return T(number);
  }
}

template <typename T>
class BufferModel : public ::testing::Test {};
using Elements = ::testing::Types<std::uint64_t, std::string, Aligned, std::shared_ptr<int>>;
TYPED_TEST_SUITE(BufferModel, Elements);

TYPED_TEST(BufferModel, AgreesWithStdVector) {
  using T = TypeParam;
  constexpr int kOperations = kSanitized ? 20'000 : 2'000'000;
  std::mt19937_64 random(5);
  Buffer<T> buffer;
  std::vector<T> model;
  for (int i = 0; i < kOperations; ++i) {
    const std::uint64_t number = random();
    const T element = make_element<T>(number % 1000);
    const std::size_t at = model.empty() ? 0 : random() % (model.size() + 1);
    const std::size_t count = std::min<std::size_t>(model.size() - at, random() % 8);
    const std::vector<T> several(random() % 5, element);
    const auto index = static_cast<std::ptrdiff_t>(at);
    const bool may_fail = random() % 4 == 0;
    const auto attempt = [&](auto&& change) {
      if (!may_fail) return change();
      const FailingMalloc none;
      return change();
    };
    switch (random() % 14) {
      case 0:
      case 1:
        if (attempt([&] { return buffer.push_back(element); })) model.push_back(element);
        if (attempt([&] { return buffer.push_back(T(element)); })) model.push_back(element);
        break;
      case 2:
        if (attempt([&] { return buffer.insert(buffer.begin() + at, element); }) != nullptr)
          model.insert(model.begin() + index, element);
        break;
      case 3: {
        const std::span<const T> values(several);
        if (attempt([&] { return buffer.insert(buffer.begin() + at, values); }) != nullptr || several.empty()) {
          model.insert(model.begin() + index, several.begin(), several.end());
        }
        break;
      }
      case 4:
        buffer.erase(buffer.begin() + at, buffer.begin() + at + count);
        model.erase(model.begin() + index, model.begin() + index + static_cast<std::ptrdiff_t>(count));
        break;
      case 5:
        if (at < model.size()) {
          buffer.erase(buffer.begin() + at);
          model.erase(model.begin() + index);
        }
        break;
      case 6:
        if (model.size() > 1 && attempt([&] { return buffer.push_back(buffer.front()); }))
          model.push_back(model.front());  // its own
        break;
      case 7:
        if (model.size() > 2 && attempt([&] { return buffer.insert(buffer.begin() + 1, buffer.back()); }) != nullptr) {
          model.insert(model.begin() + 1, T(model.back()));
        }
        break;
      case 8:
        if (model.size() < 1000 && attempt([&] { return buffer.append_all(buffer.span().subspan(at, count)); })) {
          const std::vector<T> own(model.begin() + index, model.begin() + index + static_cast<std::ptrdiff_t>(count));
          model.insert(model.end(), own.begin(), own.end());
        }
        break;
      case 9:
        if (model.size() < 1000 && attempt([&] { return buffer.resize(at + count, element); }))
          model.resize(at + count, element);
        break;
      case 10: {
        const std::forward_list<T> list(several.begin(), several.end());
        if (attempt([&] { return buffer.append_range(list); })) model.insert(model.end(), list.begin(), list.end());
        break;
      }
      case 11: {
        Buffer<T> copy;
        if (copy.copy_from(buffer)) {
          EXPECT_TRUE(copy == buffer);
          buffer = std::move(copy);
        }
        break;
      }
      case 12:
        attempt([&] { return buffer.shrink_to_fit(); });
        break;
      default:
        EXPECT_EQ(erase_if(buffer, [&](const T& one) { return one == element; }),
                  std::erase_if(model, [&](const T& one) { return one == element; }));
        break;
    }
    ASSERT_EQ(buffer.size(), model.size());
    if (i % 16 == 0) {
      ASSERT_TRUE(std::ranges::equal(buffer, model)) << "after operation " << i;
    }
    if (model.size() > 2000) {
      buffer.clear();
      model.clear();
    }
  }
  EXPECT_TRUE(std::equal(buffer.rbegin(), buffer.rend(), model.rbegin(), model.rend()));
}

// Each malloc of a course fails once, at every place; the Buffer is as it was then.
TEST(BufferFaults, LeaveEverythingAsItWas) {
  const auto course = [](Buffer<std::uint64_t>& buffer, std::vector<std::uint64_t>& model, int failing_step) {
    for (int step = 0; step < 60; ++step) {
      const auto number = static_cast<std::uint64_t>(step);
      const auto grow = [&]() -> bool {
        switch (step % 4) {
          case 0:
            return buffer.push_back(number);
          case 1:
            return buffer.insert(buffer.begin(), {number, number + 1, number + 2}) != nullptr;
          case 2:
            return buffer.append_all({number, number});
          default:
            return buffer.append_range(std::views::iota(number, number + 5));
        }
      };
      bool is_done = false;
      if (step == failing_step) {
        const FailingMalloc none;
        is_done = grow();
      } else {
        is_done = grow();
        ASSERT_TRUE(is_done);
      }
      if (!is_done) {
        ASSERT_TRUE(std::ranges::equal(buffer, model));
        ASSERT_TRUE(grow());
      }
      if (step % 4 == 0) model.push_back(number);
      if (step % 4 == 1) model.insert(model.begin(), {number, number + 1, number + 2});
      if (step % 4 == 2) model.insert(model.end(), {number, number});
      if (step % 4 == 3) {
        for (std::uint64_t more = number; more < number + 5; ++more) model.push_back(more);
      }
      ASSERT_TRUE(std::ranges::equal(buffer, model));
    }
  };
  for (int step = 0; step < 60; ++step) {
    Buffer<std::uint64_t> buffer;
    std::vector<std::uint64_t> model;
    course(buffer, model, step);
    if (HasFatalFailure()) return;
  }
}

struct Tree {  // incomplete where its Buffer is declared
  Buffer<Tree> children;
  int value = 0;
};

TEST(Buffer, HoldsElementsOfATypeThatIsIncomplete) {
  Tree tree;
  for (int i = 0; i < 100; ++i) {
    Tree* child = tree.children.emplace_back();
    ASSERT_NE(child, nullptr);
    child->value = i;
    ASSERT_NE(child->children.emplace_back(), nullptr);
  }
  EXPECT_EQ(tree.children.back().value, 99);
  EXPECT_EQ(tree.children[50].children.size(), 1u);
}

TEST(Buffer, ComparesAsVectorsDo) {
  Buffer<int> a;
  Buffer<int> b;
  ASSERT_TRUE(a.append_all({1, 2, 3}) && b.append_all({1, 2, 4}));
  EXPECT_TRUE(a < b);
  EXPECT_FALSE(a == b);
  b.pop_back();
  EXPECT_TRUE(b < a);
  swap(a, b);
  EXPECT_EQ(a.size(), 2u);
}

TEST(Buffer, AlignsAsItsElementsDo) {
  Buffer<Aligned> buffer;
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_NE(buffer.emplace_back(i), nullptr);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
  }
}

TEST(GoodSizeAllocator, ServesContainers) {
  std::vector<int, GoodSizeAllocator<int>> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  EXPECT_EQ(numbers[999], 999);
  GoodSizeAllocator<char> allocator;
  const auto got = allocator.allocate_at_least(5000);
  EXPECT_EQ(got.count, good_size(5000));
  got.ptr[got.count - 1] = 'x';
  allocator.deallocate(got.ptr, got.count);
  EXPECT_TRUE(allocator == GoodSizeAllocator<int>());
}

}  // namespace
}  // namespace tare
