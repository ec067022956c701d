// One function that allocates blocks of two types and of none: stacks of one box with several types.
#include <cstdlib>
#include <vector>

struct Narrow {
  long number;
  char letter;
};
struct Broad {
  double sides[14];
};

static std::vector<Narrow*> narrow;
static std::vector<Broad*> broad;
static std::vector<void*> plain;

__attribute__((noinline)) static void keep_both() {
  Narrow* small = new Narrow();
  narrow.push_back(small);
  Broad* large = new Broad();
  broad.push_back(large);
  plain.push_back(std::malloc(1000));
}

int main() {
  narrow.reserve(3000);
  broad.reserve(3000);
  plain.reserve(3000);
  for (int i = 0; i < 3000; ++i) keep_both();
  for (int i = 0; i < 1000; ++i) delete narrow[i];
  for (int i = 0; i < 500; ++i) delete broad[i];
  std::_Exit(0);
}
