// tare/ref_counted.h: objects with a reference count in 4 bytes of their own.
//
//   class Style : public tare::RefCounted<Style> {};          // held by one thread at a time
//   class Font : public tare::ThreadSafeRefCounted<Font> {};  // by many
//
//   tare::RefPtr<Style> style = tare::make_ref<Style>();      // see tare/ref_ptr.h
//
// An object is born with one reference, which its maker owns: make_ref and adopt_ref take it over. When the last one
// goes the object is deleted, or given to `static void destroy(Derived*)` if the class has one, for objects in a cage
// or an arena. Objects on the stack or in others are fine as long as they have no references when they die.
//
// A count that passes 2^31 stays there, and the object lives for ever: leaked references must not be able to free it
// early by overflow. Static objects are made so from the start, with kImmortal, and cost no atomic cache line traffic
// beyond that of counting.
//
// While a process has one thread, counts that threads may share are plain arithmetic too, as in shared_ptr: a copy
// takes 1 ns, where locked instructions take 10.
//
// Why intrusive: shared_ptr takes 16 bytes a pointer and 16 a control block; this takes 8 (or 4 in a cage) and 4.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "tare/internal/shared_header.h"
#include "tare/ref_ledger.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

struct ImmortalTag {};
inline constexpr ImmortalTag kImmortal{};

inline namespace TARE_REF_LEDGER_NAMESPACE {

namespace ref_counted_details {

inline constexpr std::uint32_t kImmortalCount = std::uint32_t{1} << 31;
inline constexpr std::uint32_t kSettledCount = kImmortalCount + (kImmortalCount >> 1);  // as far from either end

// The common part of both kinds of counts. Count: add() and drop(), the latter true for the last.
template <class Derived, class Count>
class Counted {
 public:
  // Adds a reference without a known holder, to be released by release_ref(). RefPtr is the safer way.
  void add_ref() const noexcept { add_ref_for(nullptr); }
  // Gives one up; the last one destroys the object.
  void release_ref() const noexcept { release_ref_for(nullptr); }

  // How many there are now, about: others may change it at any time. 2^31 and more for immortal objects.
  std::uint32_t references() const noexcept { return count_.value(); }
  // True if the caller's is the only reference, so that no other thread can see the object change.
  bool has_one_reference() const noexcept { return count_.value() == 1; }

  // The same for a holder: an address that identifies it in the ledger.
  void add_ref_for([[maybe_unused]] const void* holder) const noexcept {
    count_.add();
    if constexpr (kRefLedger) {
      RefLedger::add(this, holder);
      stay_on_stack();
    }
  }
  void release_ref_for([[maybe_unused]] const void* holder) const noexcept {
    if constexpr (kRefLedger) RefLedger::drop(this, holder);
    if (count_.drop()) destroy_this();
  }
  // Passes a reference on; null is an unknown holder.
  void pass_ref([[maybe_unused]] const void* from, [[maybe_unused]] const void* to) const noexcept {
    if constexpr (kRefLedger) {
      RefLedger::pass(this, from, to);
      stay_on_stack();
    }
  }

 protected:
  Counted() noexcept { enter(); }
  constexpr explicit Counted(ImmortalTag) noexcept : count_(kSettledCount) {}
  // A copy is an object of its own, referenced only by its maker.
  Counted(const Counted&) noexcept { enter(); }
  Counted& operator=(const Counted&) noexcept { return *this; }
  ~Counted() {
    assert(count_.value() <= 1 || count_.value() >= kImmortalCount);  // else a dangling reference is left
    if constexpr (kRefLedger) RefLedger::leave(this);
  }

 private:
  void enter() const noexcept {
    if constexpr (kRefLedger) RefLedger::enter(this, type_name_of<Derived>(), sizeof(Derived));
  }

  void destroy_this() const noexcept {
    auto* object = const_cast<Derived*>(static_cast<const Derived*>(this));
    if constexpr (requires { Derived::destroy(object); }) {
      Derived::destroy(object);
    } else {
      delete object;
    }
  }

  mutable Count count_;
};

class PlainCount {
 public:
  constexpr explicit PlainCount(std::uint32_t value = 1) noexcept : value_(value) {}
  void add() noexcept {
    assert(value_ != 0);  // else the object is being destroyed
    if (++value_ >= kImmortalCount) value_ = kSettledCount;
  }
  bool drop() noexcept {
    assert(value_ != 0);
    if (--value_ == 0) return true;
    if (value_ >= kImmortalCount - 1) value_ = kSettledCount;
    return false;
  }
  std::uint32_t value() const noexcept { return value_; }

 private:
  std::uint32_t value_;
};

class AtomicCount {
 public:
  constexpr explicit AtomicCount(std::uint32_t value = 1) noexcept : value_(value) {}

  // Relaxed: a thread that adds a reference has one, and with it sees the object.
  void add() noexcept {
    const std::uint32_t before = shared_details::exchange_add(value_, 1, std::memory_order_relaxed);
    assert(before != 0);
    if (before >= kImmortalCount - 1) value_.store(kSettledCount, std::memory_order_relaxed);
  }

  // Release: this holder's accesses come before the object's end. Acquire, at the end only: so do the accesses of
  // others.
  bool drop() noexcept {
    const std::uint32_t before = shared_details::exchange_add(value_, ~std::uint32_t{0}, std::memory_order_release);
    assert(before != 0);
    if (before == 1) {
      (void)value_.load(std::memory_order_acquire);  // a fence would do, but thread sanitizers don't see fences
      return true;
    }
    if (before >= kImmortalCount) value_.store(kSettledCount, std::memory_order_relaxed);
    return false;
  }

  std::uint32_t value() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint32_t> value_;
};

}  // namespace ref_counted_details

// The references of one object are added and released by one thread at a time.
template <class Derived>
class RefCounted : public ref_counted_details::Counted<Derived, ref_counted_details::PlainCount> {
 protected:
  using ref_counted_details::Counted<Derived, ref_counted_details::PlainCount>::Counted;
  RefCounted() noexcept = default;
  ~RefCounted() = default;
};

// By any number of threads at once; the thread that releases the last destroys the object. (A single RefPtr still
// belongs to one thread at a time.)
template <class Derived>
class ThreadSafeRefCounted : public ref_counted_details::Counted<Derived, ref_counted_details::AtomicCount> {
 protected:
  using ref_counted_details::Counted<Derived, ref_counted_details::AtomicCount>::Counted;
  ThreadSafeRefCounted() noexcept = default;
  ~ThreadSafeRefCounted() = default;
};

}  // namespace TARE_REF_LEDGER_NAMESPACE

}  // namespace tare::inline TARE_ABI
