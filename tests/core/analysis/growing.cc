// Grows containers the way programs do, one function each, so that a test can tell their chains apart.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

volatile std::size_t sink;

[[gnu::noinline]] void grow_vector() {
  std::vector<int> numbers;
  for (int i = 0; i < 100'000; ++i) numbers.push_back(i);
  sink = numbers.capacity();
}

[[gnu::noinline]] void grow_string() {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text.push_back('x');
  sink = text.capacity();
}

[[gnu::noinline]] void grow_vector_of_strings() {
  std::vector<std::string> lines;
  for (int i = 0; i < 1000; ++i) lines.emplace_back(40, 'x');
  sink = lines.capacity();
}

[[gnu::noinline]] void grow_byte_by_byte() {
  char* buffer = static_cast<char*>(std::malloc(1));
  for (std::size_t size = 2; size <= 1 << 20; ++size) {
    buffer = static_cast<char*>(std::realloc(buffer, size));
    buffer[size - 1] = 1;
  }
  sink = static_cast<unsigned char>(buffer[0]);
  std::free(buffer);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "vector") grow_vector();
  if (what == "string") grow_string();
  if (what == "strings") grow_vector_of_strings();
  if (what == "bytes") grow_byte_by_byte();
}
