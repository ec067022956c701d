// One function for each thing that is done with compressed and counted pointers, for pointer_code_test to disassemble.
#include "tare/ref_ptr.h"

// Not an unnamed namespace: the compiler would see that nobody binds the cage, and the base would be 0.
namespace pointer_code {

struct SomeCage {
  static constexpr std::size_t kGranuleBytes = 8;
};

struct LowCage {
  static constexpr std::size_t kGranuleBytes = 1;
  static constexpr std::uintptr_t kBase = 0;
};

struct Base {
  int kind;
};
struct Node : Base {
  tare::CompressedPtr<Node, SomeCage> next;
  int value;
};
struct Counted : tare::RefCounted<Counted> {};
using NodePtr = tare::CompressedPtr<Node, SomeCage>;
using BasePtr = tare::CompressedPtr<Base, SomeCage>;

}  // namespace pointer_code

using namespace pointer_code;

extern "C" {

Node* code_get(const NodePtr* p) { return p->get(); }
int code_access(const NodePtr* p) { return (*p)->value; }
int code_access_twice(const NodePtr* p) { return (*p)->next->value; }
void code_store(NodePtr* p, Node* raw) { *p = raw; }
void code_copy(NodePtr* to, const NodePtr* from) { *to = *from; }
bool code_compare(const NodePtr* a, const NodePtr* b) { return *a == *b; }
bool code_compare_raw(const NodePtr* a, Node* b) { return *a == b; }
bool code_is_null(const NodePtr* p) { return !*p; }
bool code_is_sentinel(const NodePtr* p) { return *p == tare::kSentinelPtr; }
std::size_t code_hash(const NodePtr* p) { return std::hash<NodePtr>()(*p); }
void code_to_base(BasePtr* to, const NodePtr* from) { *to = *from; }
void code_to_derived(NodePtr* to, const BasePtr* from) { *to = tare::static_pointer_cast<Node>(*from); }
void code_take(tare::RefPtr<Counted>* to, Counted* object) { new (to) tare::RefPtr<Counted>(object, tare::kShare); }
void code_move(tare::RefPtr<Counted>* to, tare::RefPtr<Counted>* from) {
  new (to) tare::RefPtr<Counted>(static_cast<tare::RefPtr<Counted>&&>(*from));
}
char* code_get_low(const tare::CompressedPtr<char, LowCage>* p) { return p->get(); }
}
