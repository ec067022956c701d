// Every form of operator new and delete, with a size of its own; and with no argument, one that fails.
#include <cstdio>
#include <new>

namespace {
constexpr std::align_val_t kAlign{64};
}

int main(int count, char**) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  ::operator delete(::operator new(2001));
  ::operator delete[](::operator new[](2002));
  ::operator delete(::operator new(2003, std::nothrow), std::nothrow);
  ::operator delete[](::operator new[](2004, std::nothrow), std::nothrow);
  ::operator delete(::operator new(2005, kAlign), kAlign);
  ::operator delete[](::operator new[](2006, kAlign), kAlign);
  ::operator delete(::operator new(2007, kAlign, std::nothrow), kAlign, std::nothrow);
  ::operator delete[](::operator new[](2008, kAlign, std::nothrow), kAlign, std::nothrow);
  ::operator delete(::operator new(2009), 2009);
  ::operator delete[](::operator new[](2010), 2010);
  ::operator delete(::operator new(2011, kAlign), 2011, kAlign);
  ::operator delete[](::operator new[](2012, kAlign), 2012, kAlign);
  int caught = 0;
  for (int i = 0; i < 3 && count == 1; ++i) {
    try {
      ::operator delete(::operator new(static_cast<std::size_t>(-1) / 4));
    } catch (const std::bad_alloc&) {
      ++caught;
    }
  }
  ::operator delete(::operator new(2013));
  std::printf("caught %d\n", caught);
  return 0;
}
