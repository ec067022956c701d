// tare/internal/gc/type_info.h: the collector's facts about a type: functions to trace and finalize it, and its name.
//
// A type gets a number when its first object is made; an object's header has only this number. Nothing is virtual: the
// function that traces a T calls T::trace by name.
//
// Thread-safety: any thread may register; numbers are never taken back. At most kMostTypes, beyond which the program
// ends with a message. A plug-in that has made an object stays loaded when it is closed: its functions trace and
// destroy the object.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tare/gc/object.h"
#include "tare/internal/export.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::gc {

class Visitor;

struct TypeInfo {
  void (*trace)(Visitor& visitor, const void* object) = nullptr;
  void (*finalize)(void* object) = nullptr;  // null where there's nothing to do
  void (*trace_part)(Visitor& visitor, const void* object, const void* begin, const void* end) = nullptr;  // or null
  void (*move)(void* object, void* cell) = nullptr;  // null where it can't be
  std::string_view name;
  bool has_mixins = false;  // pointers to its objects may point further in
  bool has_prefinalizer = false;
};

inline constexpr std::uint32_t kMostTypes = 16384;

// The type's number, from 1 on, also stored in `index`. Twice for one `index` is once.
TARE_API std::uint32_t register_type(const TypeInfo& info, std::atomic<std::uint32_t>& index) noexcept;

// Of a registered number; number 0 has no trace, no finalize and no name.
TARE_API const TypeInfo& type_info(std::uint32_t index) noexcept;

namespace type_info_details {

// "tare::Node" of "... [with T = tare::Node; ...]" or "... [T = tare::Node]".
template <class T>
constexpr std::string_view name_of() noexcept {
  std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t begin = text.find("T = ") + 4;
  std::size_t end = begin;
  for (int depth = 0; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (depth == 0 && (c == ';' || c == ']')) break;
    if (c == '>' || c == ')' || c == ']' || c == '}') --depth;
  }
  return text.substr(begin, end - begin);
}

// A type may define `static constexpr std::string_view kGcName`.
template <class T>
constexpr std::string_view shown_name() noexcept {
  if constexpr (requires { T::kGcName; }) {
    return T::kGcName;
  } else {
    return name_of<T>();
  }
}

template <class T>
void trace_as(Visitor& visitor, const void* object) {
  static_cast<const T*>(object)->T::trace(visitor);
}

template <class T>
void trace_part_as(Visitor& visitor, const void* object, const void* begin, const void* end) {
  static_cast<const T*>(object)->trace_part(visitor, begin, end);
}

template <class T>
void finalize_as(void* object) {
  if constexpr (HasFinalizeCollected<T>) {
    static_cast<T*>(object)->finalize_collected();
  } else {
    static_cast<T*>(object)->~T();
  }
}

}  // namespace type_info_details

// Hidden: one for each program and plug-in. A function of another one would use that one's number, and this one's be
// looked up for each object.
template <class T>
class [[gnu::visibility("hidden")]] TypeOf {
 public:
  static constexpr bool kHasFinalizer = !std::is_trivially_destructible_v<T> || HasFinalizeCollected<T>;

  static std::uint32_t index() noexcept {
    // Acquired: the thread that finds the number set reads the entry that another thread wrote.
    const std::uint32_t known = index_.load(std::memory_order_acquire);
    return known != 0 ? known : register_now();
  }
  // True once this program or plug-in has the number: index() is one load then.
  static bool is_known() noexcept { return index_.load(std::memory_order_relaxed) != 0; }

 private:
  [[gnu::noinline, gnu::cold]] static std::uint32_t register_now() noexcept {
    TypeInfo info{.trace = type_info_details::trace_as<T>,
                  .name = type_info_details::shown_name<T>(),
                  .has_mixins = HasMixins<T>,
                  .has_prefinalizer = HasPrefinalizer<T>};
    if constexpr (HasTracePart<T>) info.trace_part = type_info_details::trace_part_as<T>;
    if constexpr (MovedByContainer<T>) {
      info.move = [](void* object, void* cell) { static_cast<T*>(object)->move_into(cell); };
    }
    if constexpr (kHasFinalizer) info.finalize = type_info_details::finalize_as<T>;
    return register_type(info, index_);
  }

  // gcc would make it the process' (STB_GNU_UNIQUE) where a static library's table isn't, and a plug-in loaded with
  // RTLD_LOCAL find a number of another's table. A type may have several.
  static inline constinit std::atomic<std::uint32_t> index_{0};
};

}  // namespace tare::inline TARE_ABI::gc
