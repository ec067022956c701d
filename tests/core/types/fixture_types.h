// Types of every kind that layouts know, for a program with debug information and for a test that asks the compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace fixture {

struct Holes {  // 7 bytes, 3 bytes, tail 7
  bool first;
  long second;
  char third;
  int fourth;
  char fifth;
};

struct Bits {
  unsigned a : 3;
  unsigned b : 7;
  char c;
  unsigned long d : 40;
  int e;
};

struct Reused {  // not a POD: 3 bytes at its end are others'
  Reused();
  long a;
  int b;
  char c;
};

struct InTail : Reused {
  char d;
  long e;
  char f;
};

struct Nothing {};

struct NoAddress {
  [[no_unique_address]] Nothing nothing;
  [[no_unique_address]] Reused reused;
  char in_tail;
};

struct alignas(64) Line {
  char a;
  long b;
  char c;
};

struct __attribute__((packed)) Packed {
  char a;
  long b;
  short c;
};

class Virtual {
 public:
  virtual ~Virtual();
  char a;
  long b;
  char c;
};

struct Derived : virtual Virtual {
  char d;
  long e;
  char f;
};

struct OverHoles : virtual Holes {
  char g;
};

struct Furthest : OverHoles {  // the virtual base is a base's
  char h;
};

union Either {
  char a[9];
  long b;
};

typedef struct {
  char a;
  void* b;
  char c;
} Named;

struct Anonymous {
  char a;
  union {
    long b;
    char c;
  };
  struct {
    char d;
    int e;
  } pair[3];
  char f;
};

struct Pointers {  // 24; 16 with 4-byte pointers, 12 in another order
  Holes* a;
  char b;
  char* c;
};

struct NarrowPadding {  // 4-byte pointers leave holes in the order as it is
  Holes* a;
  long b;
  Holes* c;
  long d;
};

struct Functions {
  void (*a)(int, char*);
  void (Functions::*b)();
  int Functions::* c;
};

struct Flexible {
  char a;
  int length;
  char data[];
};

struct SameClass {  // 40 bytes instead of 48, in the same block of glibc; and 4 bytes less are none
  char a;
  long b;
  char c;
  long d;
  int e;
  int f;
};

struct Arrays {  // bounds that are negative where they are read as signed
  char a[256];
  long b;
  char c[65536];
  char d[2][128];
};

struct Outer {
  struct Inner {
    char a;
    int b;
  };
  Inner inner;
  char c;
};

enum class Colour : short { Red };

struct Coloured {
  char a;
  Colour colour;
  Colour* other;
};

template <typename T, int N>
struct Template {
  T values[N];
  char c;
};

// Something of each, so that no compiler leaves types out.
struct All {
  Holes* holes;
  Bits* bits;
  InTail* in_tail;
  NoAddress* no_address;
  Line* line;
  Packed* packed;
  Virtual* polymorphic;
  Derived* derived;
  Furthest* furthest;
  Either* either;
  Named* named;
  Anonymous* anonymous;
  Pointers* pointers;
  NarrowPadding* narrow_padding;
  Functions* functions;
  Flexible* flexible;
  SameClass* same_class;
  Arrays* arrays;
  Outer* outer;
  Coloured* coloured;
  Template<short, 5>* instance;
};

}  // namespace fixture
