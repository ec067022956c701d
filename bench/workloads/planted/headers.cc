// Nodes that are allocated one by one and live as long as each other. lens: headers; record: plain; share: 3 %
#include "ballast.h"

struct Node {
  Node* next;
  std::uint64_t key, value;
};

int main() {
  constexpr std::size_t kNodes = 160'000;
  planted::Ballast ballast(32 << 20);
#ifdef FIXED
  Node* all = static_cast<Node*>(std::malloc(kNodes * sizeof(Node)));
#endif
  Node* list = nullptr;
  for (std::size_t i = 0; i < kNodes; ++i) {
#ifdef FIXED
    Node* node = all + i;
#else
    Node* node = static_cast<Node*>(std::malloc(sizeof(Node)));
#endif
    *node = {list, i, planted::random_word() | 1};
    list = node;
  }
  planted::sink = ballast.use(10);
#ifdef FIXED
  std::free(all);
#else
  while (list != nullptr) {
    Node* next = list->next;
    std::free(list);
    list = next;
  }
#endif
  planted::truth(kNodes * 8);
}
