// tare/gc/tagged_member.h: TaggedMember, a Member with a small number in bits that its 4 bytes don't need.
//
//   enum class Link : std::uint8_t { Child, Sibling };
//   tare::gc::TaggedMember<Node, 1> next_;                       // 4 bytes
//   next_.set(node, static_cast<std::uint32_t>(Link::Child));
//   if (next_.tag() == static_cast<std::uint32_t>(Link::Sibling)) use(next_->x);
//   void trace(tare::gc::Visitor& visitor) const { visitor.trace(next_); }
//
// How many bits there are depends on the group: objects lie at multiples of 8, so that SeedDecoding<slot, 1> leaves 2
// low ones and LowDecoding 3; SplitDecoding uses all of those to reach 32 GiB, and leaves a high one for each halving
// of the group's cage below that: 1 in the DefaultGroup (16 GiB), 3 in a group of 4 GiB. Larger values don't compile. A
// null has a tag, too; there is no sentinel.
//
// For fields of collected objects only: the scan of the stack doesn't recognise it, so use get() there. Reading takes
// one more instruction than a Member's.
//
// Source of the idea: tagged members of Oilpan (2025), which are 8 bytes.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "tare/gc/member.h"
#include "tare/gc/visitor.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

// Of a Member's 32 bits those that no object's place needs, low and high.
template <class Group>
struct SpareBits {
  using Decoding = typename Group::Decoding;
  static constexpr int kLow = [] {
    int bits = 0;
    while (Decoding::granule(std::uint32_t{1} << bits) == 0) ++bits;
    return bits;
  }();
  // Where offsets are counted from the cage's begin, and take all bits up to the highest.
  static constexpr bool kIsFromZero = !Decoding::kIsLow && Decoding::kReachBytes == std::size_t{8} << (32 - kLow);
  static constexpr int kHigh =
      kIsFromZero && Group::kCageBytes < Decoding::kReachBytes
          ? std::countl_zero(Group::kCageBytes - 1) - std::countl_zero(Decoding::kReachBytes - 1)
          : 0;
};

template <class T, int kTagBits, class Group = DefaultGroup>
class TaggedMember {
  using Spare = SpareBits<Group>;
  static constexpr bool kIsLow = Spare::kLow >= kTagBits;
  static_assert(kTagBits >= 1 && (kIsLow || Spare::kHigh >= kTagBits), "the group's cage leaves fewer bits");
  static constexpr int kShift = kIsLow ? 0 : 32 - kTagBits;
  static constexpr std::uint32_t kMask = ((std::uint32_t{1} << kTagBits) - 1) << kShift;

 public:
  using element_type = T;
  static constexpr std::uint32_t kMostTag = (std::uint32_t{1} << kTagBits) - 1;

  TaggedMember() noexcept = default;  // null, tag 0
  explicit TaggedMember(T* object, std::uint32_t tag = 0) noexcept { set(object, tag); }

  void set(T* object, std::uint32_t tag) noexcept {
    assert(tag <= kMostTag);
    store(Member<T, Group>::bits_of(object), tag << kShift);
  }
  void set_tag(std::uint32_t tag) noexcept {
    assert(tag <= kMostTag);
    put((bits_ & ~kMask) | tag << kShift);
  }
  void clear() noexcept { put(0); }

  std::uint32_t tag() const noexcept { return (bits_ & kMask) >> kShift; }
  Member<T, Group> member() const noexcept { return Member<T, Group>::from_bits(bits_ & ~kMask); }
  T* get() const noexcept { return member().get(); }
  T* operator->() const noexcept { return member().operator->(); }  // of an object only
  T& operator*() const noexcept { return *operator->(); }
  explicit operator bool() const noexcept { return (bits_ & ~kMask) != 0; }

  // Both the object and the tag.
  friend bool operator==(const TaggedMember&, const TaggedMember&) noexcept = default;

  TaggedMember(const TaggedMember& other) noexcept { *this = other; }
  TaggedMember& operator=(const TaggedMember& other) noexcept {  // NOLINT(bugprone-unhandled-self-assignment)
    store(other.bits_ & ~kMask, other.bits_ & kMask);
    return *this;
  }
  ~TaggedMember() = default;

  void trace(Visitor& visitor) const {
    visitor.trace(Member<T, Group>::from_bits(__atomic_load_n(&bits_, __ATOMIC_ACQUIRE) & ~kMask));
  }

 private:
  void store(std::uint32_t object_bits, std::uint32_t tag_bits) noexcept {
    put(object_bits | tag_bits);
    if constexpr (kWriteBarrierOf<Group> != WriteBarrier::None) write_barrier<Group>(object_bits, this);
  }
  // As a Member's: another thread may be reading.
  void put(std::uint32_t bits) noexcept { __atomic_store_n(&bits_, bits, __ATOMIC_RELEASE); }

  std::uint32_t bits_ = 0;
};

}  // namespace tare::inline TARE_ABI::gc
