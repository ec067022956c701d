// Functions that allocate, in the ways that tell or hide what.
#include <cstdlib>

namespace zoo {
struct Node {
  Node* next;
  int keys[5];
};
struct Leaf {
  char text[100];
};
using Alias = struct {
  long a, b, c;
};
}  // namespace zoo

extern "C" {
zoo::Node* global = nullptr;

void by_variable() {
  auto* const node = static_cast<zoo::Node*>(std::malloc(sizeof(zoo::Node)));
  global = node;
  std::abort();
}

zoo::Leaf* by_return() { return static_cast<zoo::Leaf*>(std::calloc(1, sizeof(zoo::Leaf))); }

void by_typedef() {
  volatile zoo::Alias* alias = static_cast<zoo::Alias*>(std::malloc(sizeof(zoo::Alias)));
  alias->a = 1;
  std::abort();
}

[[gnu::always_inline]] static inline zoo::Leaf* make_leaf() {
  auto* const leaf = static_cast<zoo::Leaf*>(std::malloc(sizeof(zoo::Leaf)));
  leaf->text[0] = 'a';
  return leaf;
}

zoo::Node* by_inlined() {
  zoo::Node* const node = global->next;
  node->next = reinterpret_cast<zoo::Node*>(make_leaf());
  return node;
}

void* of_nothing() { return std::malloc(16); }
}
