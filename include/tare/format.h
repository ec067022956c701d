// tare/format.h: Atom, Bytes and the text of streams as arguments of std::format and of fmt, whichever is there.
//
//   out.append(std::format("{:>20} {}", id, page));
//   fmt::print("{:>20}\n", id);
//
// With the specifications that a std::string_view has. std::format is taken where the library has it (GCC 13, LLVM 17),
// fmt where its <fmt/core.h> was read before this header. Any thread that may read the value.
#pragma once

#include <concepts>
#include <string_view>
#include <version>

#include "tare/atom.h"
#include "tare/bytes.h"
#include "tare/internal/text_writer.h"

#if defined(__cpp_lib_format)
#include <format>

template <>
struct std::formatter<tare::Atom> : std::formatter<std::string_view> {
  template <class Context>
  auto format(const tare::Atom& atom, Context& context) const {
    return std::formatter<std::string_view>::format(atom.text(), context);
  }
};
template <>
struct std::formatter<tare::Bytes> : std::formatter<std::string_view> {
  template <class Context>
  auto format(const tare::Bytes& bytes, Context& context) const {
    return std::formatter<std::string_view>::format(bytes.text(), context);
  }
};
template <std::derived_from<tare::TextWriter> Stream>
struct std::formatter<Stream> : std::formatter<std::string_view> {
  template <class Context>
  auto format(const Stream& stream, Context& context) const {
    return std::formatter<std::string_view>::format(stream.view(), context);
  }
};
#endif

#if defined(FMT_VERSION)
template <>
struct fmt::formatter<tare::Atom> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const tare::Atom& atom, Context& context) const {
    return fmt::formatter<fmt::string_view>::format({atom.characters(), atom.size_bytes()}, context);
  }
};
template <>
struct fmt::formatter<tare::Bytes> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const tare::Bytes& bytes, Context& context) const {
    return fmt::formatter<fmt::string_view>::format({bytes.data(), bytes.size()}, context);
  }
};
#endif
