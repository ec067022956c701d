// Trees whose nodes are four pointers. lens: wide-pointers; record: --content; share: 20 %
#include "ballast.h"

#ifdef FIXED
using Link = std::uint32_t;  // an index of nodes
#else
struct Node;
using Link = Node*;
#endif

struct Node {
  Link left, right, parent, other;
  std::uint64_t key;
};

static Node* nodes[200'000];

int main() {
  constexpr std::size_t kNodes = 200'000;
  planted::Ballast ballast(2 << 20);
  for (std::size_t i = 0; i < kNodes; ++i) {
    nodes[i] = static_cast<Node*>(std::malloc(sizeof(Node)));
#ifdef FIXED
    const auto link = [](std::size_t to) { return static_cast<Link>(to); };
#else
    const auto link = [](std::size_t to) { return nodes[to]; };
#endif
    *nodes[i] = {link(i / 3), link(i / 5), link(i / 2), link(i / 7), planted::random_word() | 1};
  }
  planted::sink = ballast.use(10) + nodes[planted::random_word() % kNodes]->key;
  planted::truth(kNodes * 16);
}
