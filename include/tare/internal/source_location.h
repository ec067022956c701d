// tare/internal/source_location.h: a line of the source, as a default argument for the caller's place.
//
//   void hold(const void* object, tare::SourceLocation where = tare::SourceLocation::current());
//
// std::source_location with the same names, for compilers that lack it (clang before 15 with libstdc++), and laid out
// alike by all compilers, so that library and program may be built by different ones. A std::source_location converts.
//
// Texts are the compiler's and live for ever. Any thread; nothing can fail.
#pragma once

#include <cstdint>

#include "tare/version.h"

#if __has_include(<source_location>)
#include <source_location>
#endif

namespace tare::inline TARE_ABI {

class SourceLocation {
 public:
  constexpr SourceLocation() noexcept = default;  // line 0 of no file
#if defined(__cpp_lib_source_location)
  constexpr SourceLocation(const std::source_location& where) noexcept  // NOLINT(google-explicit-constructor)
      : file_(where.file_name()), function_(where.function_name()), line_(where.line()) {}
  // As a default argument: the caller's line.
  static constexpr SourceLocation current(std::source_location where = std::source_location::current()) noexcept {
    return where;
  }
#else
  static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                          const char* function = __builtin_FUNCTION(),
                                          std::uint32_t line = __builtin_LINE()) noexcept {
    SourceLocation where;
    where.file_ = file;
    where.function_ = function;
    where.line_ = line;
    return where;
  }
#endif

  constexpr const char* file_name() const noexcept { return file_; }
  // With its arguments' types, as far as the compiler gives them.
  constexpr const char* function_name() const noexcept { return function_; }
  constexpr std::uint32_t line() const noexcept { return line_; }

 private:
  const char* file_ = "";
  const char* function_ = "";
  std::uint32_t line_ = 0;
};

}  // namespace tare::inline TARE_ABI
