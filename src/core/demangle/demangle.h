// Mangled names to readable ones: C++ (Itanium), Rust legacy and Rust v0.
#pragma once

#include <string>
#include <string_view>

namespace tare::core {

// A symbol's name without the suffix that the compiler gave a clone of the function (".cold", ".isra.0", ".llvm.123").
struct SplitName {
  std::string_view base;
  std::string_view clone;  // with its dot; empty for most
};
SplitName split_clone_suffix(std::string_view symbol);

// Readable form of a name without clone suffix; the name itself where no scheme applies.
std::string demangle_base(std::string_view name);

// "decltype (::new((void*)(0)) T()) std::construct_at<T>(T*)" without the result type, whose bracket isn't the
// parameters'; other names whole. demangle_base() applies it, so only names that a foreign file has demangled need it.
std::string_view without_decltype_result(std::string_view readable);

// Readable form of any symbol; a clone suffix becomes " [clone .cold]".
std::string demangle(std::string_view symbol);

}  // namespace tare::core
