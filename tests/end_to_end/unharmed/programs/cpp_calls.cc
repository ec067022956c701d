// Containers, exceptions and threads of C++; linked with an allocator of its own or none.
#include <cstdio>
#include <future>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct alignas(128) Wide {
  char bytes[128];
};

long work(int seed) {
  std::map<std::string, std::vector<int>> table;
  for (int i = 0; i < 2000; ++i) table["key " + std::to_string((i * seed) % 97)].push_back(i);
  const std::unique_ptr<Wide[]> wide(new Wide[10]);
  try {
    throw std::runtime_error(std::string(1000, 'x'));
  } catch (const std::exception&) {
    table.erase("key 3");
  }
  delete new (std::nothrow) Wide;
  return static_cast<long>(table.size());
}

}  // namespace

int main() {
  std::vector<std::future<long>> results;
  for (int i = 1; i <= 6; ++i) results.push_back(std::async(std::launch::async, work, i));
  long sum = 0;
  for (auto& result : results) sum += result.get();
  std::printf("%ld\n", sum);
}
