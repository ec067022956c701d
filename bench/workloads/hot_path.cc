// Makes N rounds of one kind of heap call, for counting a hook's instructions: hot_path KIND DEPTH ROUNDS. KIND is
// malloc, calloc, realloc or new; DEPTH the frames above the call, -1 for one of sixteen depths in turn.
#include <cstdlib>
#include <cstring>

namespace {

volatile std::size_t size_bytes = 64;

__attribute__((noinline)) void round(char kind) {
  switch (kind) {
    case 'm': {
      void* volatile block = std::malloc(size_bytes);
      std::free(block);
      break;
    }
    case 'c': {
      void* volatile block = std::calloc(1, size_bytes);
      std::free(block);
      break;
    }
    case 'r': {
      void* volatile block = std::malloc(size_bytes);
      block = std::realloc(block, size_bytes + 8);
      std::free(block);
      break;
    }
    case 'n': {
      char* volatile block = new char[size_bytes];
      delete[] block;
      break;
    }
  }
}

__attribute__((noinline)) void deeper(int depth, char kind) {
  if (depth == 0) {
    round(kind);
  } else {
    deeper(depth - 1, kind);
  }
  asm volatile("");
}

}  // namespace

int main(int, char** arguments) {
  const int depth = std::atoi(arguments[2]);
  const long rounds = std::atol(arguments[3]);
  for (long i = 0; i < rounds; ++i) {
    deeper(depth < 0 ? static_cast<int>(i & 15) : depth, arguments[1][0]);
  }
}
