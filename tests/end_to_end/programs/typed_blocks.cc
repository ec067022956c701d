// Blocks of types whose fields are in a wasteful order, allocated in the ways that tell the type more or less well.
#include <cstdlib>
#include <list>
#include <vector>

struct Gapped {  // 40 bytes, 24 in order
  bool first;
  double second;
  bool third;
  double fourth;
  bool fifth;
};
struct Listed {  // likewise
  bool begin;
  double length;
  bool middle;
  double height;
  bool end;
};
struct Many {  // 24 bytes, 16 in order
  char kind;
  double weight;
  int count;
};
struct Alone {  // 208 bytes, 200 in order
  int begin;
  char* text;
  long numbers[23];
  int end;
};

static std::vector<Gapped*> kept;
static std::list<Listed> listed;
static std::vector<Many> many;
static void* hidden[3000];

__attribute__((noinline)) static void keep_one() {
  auto* gapped = new Gapped();
  kept.push_back(gapped);
}

__attribute__((noinline)) static void hide_one(int place) { hidden[place] = std::malloc(sizeof(Alone)); }

int main() {
  kept.reserve(10000);
  for (int i = 0; i < 10000; ++i) keep_one();
  for (int i = 0; i < 5000; ++i) listed.emplace_back();
  many.resize(20000);
  for (int i = 0; i < 3000; ++i) hide_one(i);
  std::_Exit(static_cast<Alone*>(hidden[0]) == nullptr ? 1 : 0);
}
