// A std::vector<int> grown by reserve(size() + 1): malloc, copy and free of one more element each time.
#include <cstdio>
#include <vector>

int main() {
  std::vector<int> numbers;
  for (int i = 0; i < 20000; ++i) {
    numbers.reserve(numbers.size() + 1);
    numbers.push_back(i);
  }
  std::printf("%d\n", numbers.back());
  return 0;
}
