// tare/gc/trace_std.h: lets visitor.trace() take optional, variant, pair and array of Members, and of parts.
//
//   std::variant<std::monostate, int, tare::gc::Member<Node>> value_;
//   void trace(tare::gc::Visitor& visitor) const { visitor.trace(value_); }
//
// Parts without references are skipped. A variant can't contain a WeakMember: the marker reads it again when all is
// marked, and it may contain a number by then. Keep it beside the variant. The same goes for unions of one's own. The
// same holds for unions. Containers with memory from malloc aren't here: that memory isn't found while it is moved; use
// tare/gc/heap_vector.h and similar ones.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <variant>

#include "tare/gc/visitor.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

namespace trace_std_details {

template <class T>
inline constexpr bool kIsWeak = false;
template <class T, class Group>
inline constexpr bool kIsWeak<BasicMember<T, Group, Strength::Weak>> = true;

template <class T>
void trace_any(Visitor& visitor, const T& value) {
  if constexpr (requires { visitor.trace(value); }) visitor.trace(value);
}

}  // namespace trace_std_details

template <class T>
struct TraceOf<std::optional<T>> {
  static void trace(Visitor& visitor, const std::optional<T>& value) {
    if (visitor.leave_to_owner()) return;
    if (value.has_value()) trace_std_details::trace_any(visitor, *value);
  }
};

template <class... Types>
struct TraceOf<std::variant<Types...>> {
  static_assert(!(trace_std_details::kIsWeak<Types> || ...), "a variant can't hold a WeakMember: hold it beside it");
  static void trace(Visitor& visitor, const std::variant<Types...>& value) {
    if (visitor.leave_to_owner()) return;
    if (value.valueless_by_exception()) return;
    std::visit([&](const auto& held) { trace_std_details::trace_any(visitor, held); }, value);
  }
};

template <class First, class Second>
struct TraceOf<std::pair<First, Second>> {
  static void trace(Visitor& visitor, const std::pair<First, Second>& value) {
    trace_std_details::trace_any(visitor, value.first);
    trace_std_details::trace_any(visitor, value.second);
  }
};

template <class T, std::size_t kCount>
struct TraceOf<std::array<T, kCount>> {
  static void trace(Visitor& visitor, const std::array<T, kCount>& value) {
    for (const T& element : value) trace_std_details::trace_any(visitor, element);
  }
};

}  // namespace tare::inline TARE_ABI::gc
