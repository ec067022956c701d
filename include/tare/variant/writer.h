// tare/variant/writer.h: writes C++ values as a type known at compile time: GVariant or D-Bus bytes, nothing between.
//
//   tare::variant::Output out;                                     // one for all messages: its memory is used again
//   auto written = tare::variant::Writer<"(iiii)">::write(out, x, y, width, height);
//   auto written = tare::variant::Writer<"a{sv}">::write(out, std::pair("name", as<"s">(name)), std::pair("id", id));
//   send(written.bytes());                                         // or written.error()
//
//   Writer<"as">::write(std::span(memory), names);                 // into the caller's memory
//   Writer<"as">::write_malloced(names);                           // into one malloc of the right size
//   Writer<"as">::size(names);                                     // how many bytes it will take
//   Writer<"(sa{sv})", DBusFormat<>>::write(out, "key", map);      // D-Bus's encoding, in the machine's byte order
//
// An invalid type string, and an argument that can't be written as its part of it, don't compile; see values.h for the
// matching types. A tuple's members may be given as several arguments, as may an array's elements. An array may come
// from a function too, which needs no container first:
//
//   Writer<"a{sv}">::write(out, [&](auto& entries) {
//     for (const Option& option : options) entries.add(option.name, as<"u">(option.value));
//   });
//
// It is called once for the sizes and again for each level it lies in, and must add the same each time: if not, the
// value isn't written (WriteError::Unsteady); memory is safe in any case.
//
// How: the exact size is summed up first, which costs an addition a value; the compiler computes constant parts. Then
// there's one check for memory and one walk that writes. Offsets of up to 64 elements wait on the stack; for more the
// sizes are summed up again, so that offsets go where they belong at once. A value of at most 255 bytes has a writer of
// its own, in which all offsets are known to be bytes. Texts are checked while they are copied; numbers and structs
// that lie in memory as they lie in the encoding are copied as a whole, and so are arrays of them.
//
// Nothing throws. Any thread may write to its own Output.
#pragma once

#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>

#include "tare/internal/variant/writing/put.h"
#include "tare/variant/format.h"
#include "tare/variant/output.h"
#include "tare/variant/type.h"
#include "tare/variant/values.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

template <TypeText kType, typename Format = GVariantFormat<>>
class Writer {
  static_assert(is_type(kType.view()), "not a complete, definite type string");
  static_assert(!Format::kIsDBus || is_dbus_signature(kType.view()),
                "D-Bus doesn't have this type: no maybe, no (), entries in arrays only, 32 levels");
  template <typename... Values>
  static constexpr bool kHoldsFunction = (false || ... || value_details::holds_function<Values>());
  template <typename... Values>
  using Put =
      writer_details::Put<std::conditional_t<kHoldsFunction<Values...>, writer_details::Checked<Format>, Format>,
                          kType>;
  static constexpr std::size_t kSize = format_details::kFixedSize<Format, kType>;

 public:
  // Bytes that the value takes at the beginning of its memory.
  template <typename... Values>
  static std::size_t size(const Values&... values) {
    return Put<Values...>::measure_arguments(0, values...);
  }

  // Into `out` from its beginning. Its memory grows by one malloc, of the right size, if it is too small.
  template <typename... Values>
  static Written write(Output& out, const Values&... values) {
    out.clear();
    if constexpr (kSize != 0) {  // a few stores: a call would take longer
      return append_fixed(out, 0, values...);
    } else {
      return append(out, values...);
    }
  }

  // Behind the contents of `out`, after padding with zeros to a multiple of 8; the result is the new value alone. The
  // contents stay if this fails.
  template <typename... Values>
  static Written append(Output& out, const Values&... values) {
    const std::size_t begin = format_details::aligned(out.size(), 8);
    const std::size_t end = Put<Values...>::measure_arguments(begin, values...);
    if (!out.reserve(end)) [[unlikely]]
      return out.why_not();
    char* data = out.data();
    if (begin != out.size()) std::memset(data + out.size(), 0, begin - out.size());
    const WriteError error = put(data, begin, out.capacity(), end, values...);
    if (error != WriteError::None) [[unlikely]]
      return error;
    out.set_size(end);
    return Written(data + begin, end - begin);
  }

  // Into memory of the caller's. WriteError::BufferFull if it is too small, and nothing is written then.
  template <typename... Values>
  static Written write(std::span<char> memory, const Values&... values) {
    const std::size_t end = Put<Values...>::measure_arguments(0, values...);
    if (end > memory.size()) return WriteError::BufferFull;
    const WriteError error = put(memory.data(), 0, memory.size(), end, values...);
    if (error != WriteError::None) [[unlikely]]
      return error;
    return Written(memory.data(), end);
  }

  // Into one malloc of the right size.
  template <typename... Values>
  [[nodiscard]] static Block write_malloced(const Values&... values) {
    const std::size_t end = Put<Values...>::measure_arguments(0, values...);
    if (end == 0) return {};
    Block block(static_cast<char*>(std::malloc(end)), end);
    if (block.data() == nullptr) return Block(WriteError::OutOfMemory);
    const WriteError error = put(block.data(), 0, end, end, values...);
    if (error != WriteError::None) [[unlikely]]
      return Block(error);
    return block;
  }

 private:
  template <typename... Values>
  [[gnu::always_inline]] static Written append_fixed(Output& out, std::size_t begin, const Values&... values) {
    if (!out.reserve(begin + kSize)) [[unlikely]]
      return out.why_not();
    char* data = out.data();
    writer_details::State state{begin + kSize};
    Put<Values...>::put_arguments(state, data, begin, values...);
    out.set_size(begin + kSize);
    return Written(data + begin, kSize);
  }

  template <typename... Values>
  static WriteError put(char* data, std::size_t begin, std::size_t limit, std::size_t end, const Values&... values) {
    writer_details::State state{limit};
    std::size_t reached = begin;
    if constexpr (!Format::kIsDBus && kSize == 0 && !kHoldsFunction<Values...>) {
      if (end - begin <= writer_details::kLargestNarrow) {
        using PutNarrow = writer_details::Put<writer_details::Narrow<Format>, kType>;
        reached = PutNarrow::put_arguments(state, data, begin, values...);
      } else {
        reached = Put<Values...>::put_arguments(state, data, begin, values...);
      }
    } else {
      reached = Put<Values...>::put_arguments(state, data, begin, values...);
    }
    if (reached != end) state.fail(WriteError::Unsteady);
    return state.error;
  }
};

}  // namespace tare::inline TARE_ABI::variant
