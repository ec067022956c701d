// The standard's containers in an arena.
#include "tare/arena_resource.h"

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace tare {
namespace {

TEST(ArenaResource, ContainersAgreeWithTheirsOnTheHeap) {
  Arena arena;
  ArenaResource resource(arena);
  const Arena::Mark mark = arena.mark();
  {
    std::pmr::map<int, std::pmr::string> inside(&resource);
    std::map<int, std::string> outside;
    std::pmr::unordered_map<std::pmr::string, int> words(&resource);
    std::pmr::list<int> numbers(&resource);
    std::mt19937 random(1);
    for (int step = 0; step < 5000; ++step) {
      const int key = static_cast<int>(random() % 300);
      const std::string text(random() % 60, static_cast<char>('a' + key % 26));
      if (random() % 4 == 0) {
        ASSERT_EQ(inside.erase(key), outside.erase(key));
      } else {
        inside[key] = text;
        outside[key] = text;
      }
      ++words[std::pmr::string(text, &resource)];
      numbers.push_back(key);
    }
    ASSERT_EQ(inside.size(), outside.size());
    for (const auto& [key, text] : outside) ASSERT_EQ(std::string_view(inside[key]), text);
    EXPECT_EQ(numbers.size(), 5000u);
    EXPECT_GT(arena.use().used_bytes, 100'000u);
    EXPECT_TRUE(inside.get_allocator().resource()->is_equal(resource));
  }
  arena.rewind(mark);
  EXPECT_EQ(arena.use().committed_bytes, 0u);
}

TEST(ArenaResource, SaysWhenThereIsNoMemory) {
  Arena arena(ArenaOptions{.source = {.allocate = [](void*, std::size_t) noexcept -> void* { return nullptr; },
                                      .free = [](void*, void*, std::size_t) noexcept {},
                                      .good_size = [](void*, std::size_t bytes) noexcept { return bytes; },
                                      .context = nullptr}});
  ArenaResource resource(arena);
  EXPECT_THROW((void)resource.allocate(100), std::bad_alloc);
}

}  // namespace
}  // namespace tare
