// Coroutines of Boost that allocate and throw, on stacks from malloc, several on each of several threads.
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace context = boost::context;

long depth_of(int left) {
  const std::string text(100 + left, 'x');
  if (left > 0) return depth_of(left - 1) + static_cast<long>(text.size());
  throw std::runtime_error(text);
}

void work(long& sum) {
  std::vector<context::fiber> fibers;
  for (int i = 0; i < 20; ++i) {
    fibers.emplace_back(std::allocator_arg, context::fixedsize_stack(64 << 10), [&sum, i](context::fiber&& caller) {
      for (int round = 0; round < 50; ++round) {
        try {
          depth_of(i);
        } catch (const std::exception& error) {
          sum += error.what()[0];
        }
        caller = std::move(caller).resume();
      }
      return std::move(caller);
    });
  }
  while (!fibers.empty()) {
    for (context::fiber& fiber : fibers) fiber = std::move(fiber).resume();
    if (!fibers.front()) fibers.clear();
  }
}

}  // namespace

int main() {
  long sums[3] = {};
  std::vector<std::thread> threads;
  for (long& sum : sums) threads.emplace_back(work, std::ref(sum));
  for (std::thread& thread : threads) thread.join();
  std::printf("%ld\n", sums[0] + sums[1] + sums[2]);
}
