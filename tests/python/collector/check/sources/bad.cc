// What tare gc check finds: each line that it names says by which rule. Never compiled into anything.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "tare/gc/cross_thread_persistent.h"
#include "tare/gc/heap_deque.h"
#include "tare/gc/heap_hash_table.h"
#include "tare/gc/heap_vector.h"
#include "tare/gc/trace_std.h"

using tare::gc::GarbageCollected;
using tare::gc::GarbageCollectedMixin;
using tare::gc::HeapDeque;
using tare::gc::HeapHashMap;
using tare::gc::HeapVector;
using tare::gc::Member;
using tare::gc::Persistent;
using tare::gc::RootedVector;
using tare::gc::UncompressedMember;
using tare::gc::Visitor;
using tare::gc::WeakMember;

class Forgetful : public GarbageCollected<Forgetful> {
 public:
  void trace(Visitor& visitor) const { visitor.trace(kept_); }

 private:
  Member<Forgetful> kept_;
  Member<Forgetful> forgotten_;                      // expect: untraced-member
  WeakMember<Forgetful> weak_;                       // expect: untraced-member
  UncompressedMember<Forgetful> fast_;               // expect: untraced-member
  HeapVector<Member<Forgetful>> many_;               // expect: untraced-member
  HeapDeque<Member<Forgetful>> queue_;               // expect: untraced-member
  std::optional<Member<Forgetful>> one_;             // expect: untraced-member
  Member<Forgetful> pair_[2];                        // expect: untraced-member
  HeapHashMap<WeakMember<Forgetful>, int> numbers_;  // expect: untraced-member
};

class Silent : public GarbageCollected<Silent> {
 public:
  int value = 0;

 private:
  Member<Silent> next_;  // expect: no-trace
};

class Base : public GarbageCollected<Base> {
 public:
  void trace(Visitor& visitor) const { visitor.trace(link_); }

 private:
  Member<Base> link_;
};
class InheritsTrace : public Base {
  Member<Base> more_;  // expect: no-trace
};
class ForgetsBase : public Base {
 public:
  void trace(Visitor& visitor) const { visitor.trace(more_); }  // expect: untraced-base

 private:
  Member<Base> more_;
};

struct Listener : GarbageCollectedMixin {
  virtual void hear() = 0;
  void trace(Visitor& visitor) const { visitor.trace(source); }
  Member<Base> source;
};
class Button final : public GarbageCollected<Button>, public Listener {
 public:
  void hear() override {}
  void trace(Visitor& visitor) const { visitor.trace(label_); }  // expect: untraced-base

 private:
  Member<Base> label_;
};

struct Span {
  Member<Base> begin;  // expect: no-trace
  Member<Base> end;
};
struct Style {
  void trace(Visitor& visitor) const { visitor.trace(font); }
  Member<Base> font;
};
class Paragraph : public GarbageCollected<Paragraph> {
 public:
  void trace(Visitor&) const {}

 private:
  Style style_;  // expect: untraced-member
  Span span_;    // expect: untraced-member
};

class Hider : public GarbageCollected<Hider> {
 public:
  void trace(Visitor&) const {}

 private:
  std::vector<Member<Base>> list_;                   // expect: hidden-member
  std::map<int, WeakMember<Base>> by_number_;        // expect: hidden-member
  std::unique_ptr<Style> style_;                     // expect: hidden-member
  std::vector<std::optional<Member<Base>>> nested_;  // expect: hidden-member
  std::function<void(Member<Base>)> call_back_;      // a parameter is no field
};
struct Outside {
  std::vector<Member<Base>> list;  // expect: hidden-member
};

class Pointing : public GarbageCollected<Pointing> {
 public:
  explicit Pointing(Base& base) : reference_(base) {}
  void trace(Visitor&) const {}

 private:
  Base* raw_ = nullptr;             // expect: raw-pointer
  const Base* constant_ = nullptr;  // expect: raw-pointer
  Base& reference_;                 // expect: raw-pointer
  Listener* mixin_ = nullptr;       // expect: raw-pointer
  std::vector<Base*> raws_;         // expect: raw-pointer
  std::unique_ptr<Base> owned_;     // expect: raw-pointer
};

class Rooting : public GarbageCollected<Rooting> {
  Persistent<Base> root_;                        // expect: root-in-object
  RootedVector<Member<Base>> roots_;             // expect: root-in-object
  tare::gc::CrossThreadPersistent<Base> cross_;  // expect: root-in-object
};

class Touching : public GarbageCollected<Touching> {
 public:
  ~Touching() {
    if (next_) next_->count = 0;  // expect: finalizer-touches
  }
  void trace(Visitor& visitor) const { visitor.trace(next_); }
  int count = 0;

 private:
  Member<Touching> next_;
};

template <class T>
class List : public GarbageCollected<List<T>> {
 public:
  void trace(Visitor& visitor) const { visitor.trace(first_); }

 private:
  Member<T> first_;
  Member<T> last_;  // expect: untraced-member
};
template class List<Base>;

Member<Base> global;                      // expect: hidden-member
static HeapVector<Member<Base>> globals;  // expect: hidden-member
std::vector<Member<Base>> everywhere;     // expect: hidden-member
void remember(Base* base) {
  static Member<Base> last;  // expect: hidden-member
  last = base;
}
