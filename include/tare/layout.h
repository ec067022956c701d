// tare/layout.h: compile errors where a type has padding, or where its size wastes the block it lies in.
//
// `tare layout` and the lens "padding" list the types of a program that shrink by another order of their fields. To
// keep a type in order:
//
//   struct Node {
//     Node* next;
//     double weight;
//     std::uint32_t id;
//     bool is_leaf;
//     std::uint8_t depth;
//     std::uint16_t children;
//   };
//   TARE_ASSERT_PACKED(Node, &Node::next, &Node::weight, &Node::id, &Node::is_leaf, &Node::depth, &Node::children);
//   TARE_ASSERT_SIZE_CLASS(Node);  // glibc gives 24 bytes for 24
//   TARE_ASSERT_SIZE_CLASS(Node, tare::size_models::tcmalloc, 8);  // 32 there, of which 8 may be wasted
//
// A field added in the wrong place is an error with a message and the number of bytes lost. Both are declarations and
// end with a semicolon; they may stand in namespaces, classes and functions, wherever the type is complete. Nothing of
// them is left at run time. A type with commas of its own (std::pair<int, char>) needs an alias.
//
// From seed: "Pointer compression in Oilpan" describes the plug-in that found classes whose fields were in the wrong
// order, 4 % of Blink's memory. It showed, too, that smaller fields alone often bring padding only; and the posts on
// "clownshoes" in Firefox, that a few bytes less may bring nothing where allocators round up.
//
// Header only, C++20, no dependencies but tare/size_classes.h.
#pragma once

#include <cstddef>
#include <type_traits>

#include "tare/size_classes.h"
#include "tare/version.h"

// TARE_ASSERT_PACKED(T, fields...): no byte of T lies between its fields or behind the last.
//
// Fields are pointers to members; of a base class, tare::base_class<Base>. List them all: one that is left out counts
// as lost bytes, never the other way round. Padding inside a field belongs to its own type. Private fields can be
// listed where they can be named, in the body of a member function.
//   - The pointer to the table of virtual functions counts by itself. Virtual bases don't compile here.
//   - Leave out empty members that are [[no_unique_address]]. Of a union without a name list its largest member.
//   - Bit-fields and references have no pointers to them, which is an error of the compiler's own.
//   - Where fields lie in the tail padding of a base, as many bytes of other padding aren't seen.
//
// TARE_ASSERT_PACKED(T): the same without a list, for types that the compiler itself judges: those that are copied
// bytewise and have no floating-point fields, which includes bit-fields, private fields and all fields' insides. For
// any other type it reports that the answer is unknown.
#define TARE_ASSERT_PACKED(T, ...)                                                                                  \
  static_assert(::tare::layout_details::lost_bytes<T>(__VA_ARGS__) == 0, #T                                         \
                " loses this many bytes to padding, or has fields that aren't listed: order its fields by falling " \
                "alignment; `tare layout` prints the order")

// TARE_ASSERT_SIZE_CLASS(T): malloc's block for sizeof(T) bytes is as large as T. Else as many bytes as are left over
// could be added for nothing, and T need only shrink to the class below to save a whole step. TARE_ASSERT_SIZE_CLASS(T,
// model): the same under another allocator of tare/size_classes.h; the default is glibc's. TARE_ASSERT_SIZE_CLASS(T,
// model, limit_bytes): and up to so many bytes of slop are no error.
//
// It's about blocks that hold one T and nothing else: nodes of std::list or std::map and std::make_shared add fields of
// their own, vectors and arenas hold many. T is aligned as malloc aligns, to 16 bytes at most.
#define TARE_ASSERT_SIZE_CLASS(T, ...)                                                                            \
  static_assert(::tare::layout_details::slop_bytes<T>(__VA_ARGS__) == 0, #T                                       \
                " leaves this many bytes of its block unused: fill them, or shrink it to the class below; `tare " \
                "layout` and tare::class_below() say which sizes that are")

namespace tare::inline TARE_ABI {

// A base class in the list of TARE_ASSERT_PACKED.
template <typename Base>
struct BaseClass {};
template <typename Base>
inline constexpr BaseClass<Base> base_class{};

namespace layout_details {

void a_field_is_listed_twice();  // the name is the compiler's message: no constant expression may call this

template <typename Field, typename Class>
constexpr std::size_t part_bytes(Field Class::* /*field*/) {
  return sizeof(Field);
}
template <typename Base>
constexpr std::size_t part_bytes(BaseClass<Base> /*base*/) {
  return std::is_empty_v<Base> ? 0 : sizeof(Base);
}

template <typename Part>
inline constexpr bool kBringsTable = false;
template <typename Base>
inline constexpr bool kBringsTable<BaseClass<Base>> = std::is_polymorphic_v<Base>;

template <typename One, typename Other>
constexpr bool is_same_part(One /*one*/, Other /*other*/) {
  return false;
}
template <typename Part>
constexpr bool is_same_part(Part one, Part other) {
  if constexpr (std::is_member_pointer_v<Part>) {
    return one == other;
  } else {
    return true;  // the same base
  }
}

template <typename First, typename... Rest>
constexpr bool has_repeated([[maybe_unused]] First first, Rest... rest) {
  if ((is_same_part(first, rest) || ...)) return true;
  if constexpr (sizeof...(Rest) > 0) {
    return has_repeated(rest...);
  } else {
    return false;
  }
}

template <typename T, typename... Parts>
consteval std::size_t lost_bytes(Parts... parts) {
  if constexpr (sizeof...(Parts) == 0) {
    static_assert(std::is_trivially_copyable_v<T>,
                  "the compiler can't tell whether this type has padding: list its fields, "
                  "TARE_ASSERT_PACKED(T, &T::first, &T::second)");
    static_assert(!std::is_trivially_copyable_v<T> || std::has_unique_object_representations_v<T>,
                  "this type has padding, or floating-point fields, of which the compiler can't tell: list its fields, "
                  "TARE_ASSERT_PACKED(T, &T::first, &T::second)");
    return 0;
  } else {
    if (has_repeated(parts...)) a_field_is_listed_twice();
    constexpr bool kHasOwnTable = std::is_polymorphic_v<T> && !(kBringsTable<Parts> || ...);
    const std::size_t used_bytes = (part_bytes(parts) + ...) + (kHasOwnTable ? sizeof(void*) : 0);
    return used_bytes < sizeof(T) ? sizeof(T) - used_bytes : 0;
  }
}

template <typename T>
consteval std::size_t slop_bytes(const SizeModel& model = size_models::glibc, std::size_t limit_bytes = 0) {
  static_assert(alignof(T) <= 16, "size classes are known for plain malloc, which aligns to 16 bytes");
  const std::size_t slop = good_size(model, sizeof(T)) - sizeof(T);
  return slop > limit_bytes ? slop : 0;
}

}  // namespace layout_details
}  // namespace tare::inline TARE_ABI
