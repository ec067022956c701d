// Uses the types of fixture_types.h, and one of a function's own.
#include "fixture_types.h"

namespace fixture {

Reused::Reused() = default;
Virtual::~Virtual() = default;

template <typename T>
long size_of(T*) {
  return sizeof(T);
}

}  // namespace fixture

int main(int argc, char**) {
  struct Local {
    char a;
    long b;
  } local{static_cast<char>(argc), 1};
  fixture::Holes holes{};
  fixture::Bits bits{};
  fixture::InTail in_tail;
  fixture::NoAddress no_address;
  fixture::Line line{};
  fixture::Packed packed{};
  fixture::Virtual polymorphic;
  fixture::Derived derived;
  fixture::Furthest furthest;
  fixture::Either either{};
  fixture::Named named{};
  fixture::Anonymous anonymous{};
  fixture::Pointers pointers{};
  fixture::NarrowPadding narrow_padding{};
  fixture::Functions functions{};
  fixture::Flexible flexible{};
  fixture::SameClass same_class{};
  fixture::Arrays arrays{};
  fixture::Outer outer{};
  fixture::Coloured coloured{};
  fixture::Template<short, 5> instance{};
  fixture::All all{&holes,     &bits,     &in_tail,    &no_address, &line,      &packed,   &polymorphic,
                   &derived,   &furthest, &either,     &named,      &anonymous, &pointers, &narrow_padding,
                   &functions, &flexible, &same_class, &arrays,     &outer,     &coloured, &instance};
  return static_cast<int>(fixture::size_of(&all) + fixture::size_of(&local) + fixture::size_of(all.line)) == 1;
}
