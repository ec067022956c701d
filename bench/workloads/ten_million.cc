// A program of 10 million calls with waste of several kinds: two threads serve requests, and the main thread keeps an
// index. Sites differ in sizes, lifetimes and numbers of live blocks, so that `tare prove` has findings of several
// lenses.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "random.h"

namespace {

constexpr std::uint64_t kCalls = 10'000'000;
constexpr std::uint64_t kCallsOfIndex = kCalls / 2;  // the threads share the rest

void* allocated(std::size_t bytes) {
  void* const block = std::malloc(bytes);
  if (block == nullptr) std::abort();
  return block;
}

// A line that grows by a constant: one realloc for each field.
struct Line {
  char* text = nullptr;
  std::size_t bytes = 0;

  [[gnu::noinline]] void append(std::size_t more) {
    text = static_cast<char*>(std::realloc(text, bytes + more));
    if (text == nullptr) std::abort();
    std::memset(text + bytes, 'f', more);
    bytes += more;
  }
};

struct Node {
  Node* next;
  std::uint64_t key;
};

// 25 calls: a buffer and a header for each request, a line of 10 fields, and 5 temporary nodes.
[[gnu::noinline]] std::uint64_t serve(Random& random) {
  auto* const buffer = static_cast<char*>(allocated(4096));
  std::memset(buffer, 'r', 200 + random.below(600));
  std::string header(24 + random.below(40), 'h');
  Line line;
  for (int field = 0; field < 10; ++field) line.append(24);
  Node* nodes = nullptr;
  for (int i = 0; i < 5; ++i) {
    auto* const node = static_cast<Node*>(allocated(sizeof(Node)));
    *node = {nodes, random.next()};
    nodes = node;
  }
  std::uint64_t sum = static_cast<unsigned char>(buffer[0]) + header.size() + line.bytes;
  while (nodes != nullptr) {
    Node* const next = nodes->next;
    sum += nodes->key;
    std::free(nodes);
    nodes = next;
  }
  std::free(line.text);
  std::free(buffer);
  return sum;
}
constexpr std::uint64_t kCallsOfRequest = 2 + 2 + 11 + 10;

void serve_all(std::uint64_t seed, std::uint64_t calls, std::uint64_t* sum) {
  Random random(seed);
  for (std::uint64_t done = 0; done < calls; done += kCallsOfRequest) *sum += serve(random);
}

// Entries are inserted and erased at random; about 120,000 are alive at the end.
class Index {
 public:
  void change(std::uint64_t key) {
    const auto found = entries_.find(key);
    if (found != entries_.end()) {
      entries_.erase(found);
      return;
    }
    std::vector<std::uint32_t> postings;
    postings.reserve(8);
    postings.push_back(static_cast<std::uint32_t>(key));
    entries_.emplace(key, Entry{std::string(20 + key % 60, 'k'), std::move(postings)});
  }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string text;
    std::vector<std::uint32_t> postings;
  };
  std::map<std::uint64_t, Entry> entries_;
};
constexpr std::uint64_t kCallsOfChange = 3;

}  // namespace

int main() {
  std::uint64_t sums[2] = {};
  std::thread threads[2];
  for (std::uint64_t i = 0; i < 2; ++i)
    threads[i] = std::thread(serve_all, i + 1, (kCalls - kCallsOfIndex) / 2, sums + i);
  Random random(3);
  Index index;
  for (std::uint64_t done = 0; done < kCallsOfIndex; done += kCallsOfChange) index.change(random.below(240'000));
  for (std::thread& thread : threads) thread.join();
  std::printf("%zu %llu\n", index.size(), static_cast<unsigned long long>(sums[0] + sums[1]));
}
