// One function for each thing that is done with a Member, for each scheme, for decoding_code_test to disassemble.
#include "tare/gc/member.h"
#include "tare/internal/gc/decoding_variants.h"

namespace code {

// Without a barrier, so that what is counted is the decoding's; the last two have one.
template <class SomeDecoding, tare::gc::WriteBarrier kBarrier = tare::gc::WriteBarrier::None>
struct GroupOf {
  using Decoding = SomeDecoding;
  static constexpr std::size_t kCageBytes = std::size_t{4} << 30;
  static constexpr tare::gc::WriteBarrier kWriteBarrier = kBarrier;
};
using Split = GroupOf<tare::gc::SplitDecoding<1>>;
using Seed = GroupOf<tare::gc::SeedDecoding<2>>;
using Seed16 = GroupOf<tare::gc::SeedDecoding<3, 3>>;
using Low = GroupOf<tare::gc::LowDecoding<4>>;
using ThreadBase = GroupOf<tare::gc::ThreadBaseDecoding<5>>;
using Shiftless = GroupOf<tare::gc::ShiftlessDecoding<6>>;
using Guarded = GroupOf<tare::gc::SplitDecoding<7>, tare::gc::WriteBarrier::Insertion>;
using Generational = GroupOf<tare::gc::SplitDecoding<8>, tare::gc::WriteBarrier::Generational>;

template <class Group>
struct Node {
  tare::gc::Member<Node, Group> next;
  int value;
};

}  // namespace code

using namespace code;

#define CODE_OF(Group)                                                                    \
  extern "C" {                                                                            \
  using Member##Group = tare::gc::Member<Node<Group>, Group>;                             \
  Node<Group>* get_##Group(Member##Group m) { return m.get(); }                           \
  void store_##Group(Member##Group* to, Node<Group>* raw) { *to = raw; }                  \
  int access_##Group(const Member##Group* m) { return (*m)->value; }                      \
  Node<Group>* step_##Group(Node<Group>* node) { return node->next.get(); }               \
  Node<Group>* step_known_##Group(Node<Group>* node) { return node->next.operator->(); }  \
  bool is_null_##Group(const Member##Group* m) { return *m == nullptr; }                  \
  bool equal_##Group(const Member##Group* a, const Member##Group* b) { return *a == *b; } \
  bool equal_raw_##Group(const Member##Group* a, Node<Group>* b) { return *a == b; }      \
  void copy_##Group(Member##Group* to, const Member##Group* from) { *to = *from; }        \
  void foo_##Group(Node<Group>*);                                                         \
  void bar_##Group(Node<Group>*);                                                         \
  /* the seed's example: the base is loaded once, though foo() might do anything */       \
  void baz_##Group(Member##Group m) {                                                     \
    foo_##Group(m.get());                                                                 \
    bar_##Group(m.get());                                                                 \
  }                                                                                       \
  }

CODE_OF(Split)
CODE_OF(Seed)
CODE_OF(Seed16)
CODE_OF(Low)
CODE_OF(ThreadBase)
CODE_OF(Shiftless)
CODE_OF(Guarded)
CODE_OF(Generational)
