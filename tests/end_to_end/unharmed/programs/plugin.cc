// A plug-in whose constructor waits for a thread that allocates, as initializers with std::async do.
#include <cstdio>
#include <future>
#include <memory>
#include <thread>

namespace {
#ifdef WAITS_FOR_ASYNC
const int loaded = std::async(std::launch::async, [] { return *std::make_unique<int>(3); }).get();
#else
int loaded = 0;
struct Starter {
  Starter() {
    std::thread([] { loaded = *std::unique_ptr<int>(new int(4)); }).join();
  }
} starter;
#endif
}  // namespace

extern "C" void work() {
  delete new int(loaded);
  std::printf("loaded %d\n", loaded);
}
