// A program with counted pointers and nothing else of the library.
#include "tare/ref_counted.h"
#include "tare/ref_ptr.h"

namespace {

struct Node : tare::RefCounted<Node> {
  int value = 7;
};

}  // namespace

int main() {
  const tare::RefPtr<Node> node = tare::make_ref<Node>();
  const tare::RefPtr<Node> other = node;
  return other->value == 7 ? 0 : 1;
}
