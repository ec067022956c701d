// Names of C++ and Rust, and the compiler's suffixes.
#include "core/demangle/demangle.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/demangle/punycode.h"
#include "core/demangle/rust_legacy.h"
#include "core/demangle/rust_v0.h"

namespace tare::core {
namespace {

TEST(Demangle, Cxx) {
  EXPECT_EQ(demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"), "std::vector<int, std::allocator<int> >::push_back(int&&)");
  EXPECT_EQ(demangle("_Znwm"), "operator new(unsigned long)");
  EXPECT_EQ(demangle("malloc"), "malloc");
  EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangle(""), "");
}

TEST(Demangle, ResultsWrittenAsDecltypeAreLeftOut) {
  const std::string result = "decltype (::new((void*)(0)) A(std::declval<int>())) ";
  EXPECT_EQ(without_decltype_result(result + "std::construct_at<A>(A*, int&&)"), "std::construct_at<A>(A*, int&&)");
  EXPECT_EQ(without_decltype_result("decltype(auto) a::f<int>(int)"), "a::f<int>(int)");
  for (const char* whole : {"", "decltype", "decltype(", "decltype (x) ", "decltype ()", "decltype_of(int)", "f(int)"})
    EXPECT_EQ(without_decltype_result(whole), whole);
  EXPECT_EQ(demangle("_ZSt12construct_atIiJiEEDTgsnwcvPvLi0E_T_pispclsr3stdE7declvalIT0_EEEEPS1_DpOS2_"),
            "std::construct_at<int, int>(int*, int&&)");
}

std::string substitution(std::size_t number) {
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (number == 0) return "S_";
  const std::size_t place = number - 1;
  return "S" + (place < 36 ? "" : digits.substr(place / 36, 1)) + digits.substr(place % 36, 1) + "_";
}

// Parameters of which each is a function of two of the one before, after `first` types that substitutions may mean.
std::string doubling(std::size_t levels, std::size_t first = 0) {
  std::string parameters = "1a";
  for (std::size_t level = 0; level < levels; ++level) {
    const std::string last = substitution(first + 2 * level);
    parameters += "PFv" + last + last + "E";
  }
  return parameters;
}

TEST(Demangle, CxxThatDoublesStaysMangled) {
  EXPECT_EQ(demangle("_Z1f" + doubling(2)), "f(a, void (*)(a, a), void (*)(void (*)(a, a), void (*)(a, a)))");
  EXPECT_EQ(demangle("_Z1f" + doubling(10)).size(), 26502u);
  for (const std::size_t levels : {12, 16, 45})
    EXPECT_EQ(demangle("_Z1f" + doubling(levels)), "_Z1f" + doubling(levels));
}

TEST(Demangle, CxxThatPrintsNothingForLongStaysMangled) {
  // An array as long as a parameter pack, which is looked for in those parameters: 2^45 of them.
  const auto name = [](std::size_t levels) { return "_Z1fIiEvAsZcvFv" + doubling(levels, 1) + "ELi0E_i"; };
  EXPECT_EQ(demangle(name(4)), "void f<int>(int [0])");
  EXPECT_EQ(demangle(name(12)), "void f<int>(int [0])");
  EXPECT_EQ(demangle(name(45)), name(45));
  EXPECT_EQ(demangle(name(12)), "void f<int>(int [0])") << "the next name has its own time";
  for (int again = 0; again < 12; ++again) EXPECT_EQ(demangle(name(45)), name(45));
}

TEST(Demangle, CloneSuffixesAreSetApart) {
  EXPECT_EQ(demangle("_ZN1a1bEv.isra.0.cold"), "a::b() [clone .isra.0.cold]");
  EXPECT_EQ(demangle("param_rule.lto_priv.0"), "param_rule [clone .lto_priv.0]");
  EXPECT_EQ(split_clone_suffix("f.constprop.12.part.3").base, "f");
  EXPECT_EQ(split_clone_suffix("f.constprop.12.part.3").clone, ".constprop.12.part.3");
  EXPECT_EQ(split_clone_suffix("_ZN3fooEv.llvm.1234567").base, "_ZN3fooEv");
  EXPECT_EQ(split_clone_suffix("_RNvC1a1b.llvm.1234567").base, "_RNvC1a1b");
}

TEST(Demangle, DotsOfOtherLanguagesStay) {
  EXPECT_EQ(split_clone_suffix("main.main").base, "main.main");
  EXPECT_EQ(split_clone_suffix("runtime.mallocgc").base, "runtime.mallocgc");
  EXPECT_EQ(split_clone_suffix("bar.0").base, "bar.0");  // a nested function in C: not a clone
  EXPECT_EQ(split_clone_suffix(".cold").base, ".cold");
  EXPECT_EQ(split_clone_suffix("").base, "");
}

TEST(Demangle, RustNamesFromTheCompiler) {
  std::ifstream in(RUST_NAMES);
  std::size_t names = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t tab = line.find('\t');
    EXPECT_EQ(demangle(line.substr(0, tab)), line.substr(tab + 1));
    ++names;
  }
  EXPECT_GT(names, 400u);
}

// From RFC 2603, where the compiler makes them rarely or never.
TEST(Demangle, RustV0Grammar) {
  EXPECT_EQ(demangle_rust_v0("_RNvNtCs1234_7mycrate3foo3bar"), "mycrate::foo::bar");
  EXPECT_EQ(demangle_rust_v0("_RNCNvC1a1b0"), "a::b::{closure#0}");
  EXPECT_EQ(demangle_rust_v0("_RNCNvC1a1bs_0"), "a::b::{closure#1}");
  EXPECT_EQ(demangle_rust_v0("_RNSNvC1a1b6vtable"), "a::b::{shim:vtable#0}");
  EXPECT_EQ(demangle_rust_v0("_RINvC1a1bRL_hE"), "a::b::<&u8>");
  EXPECT_EQ(demangle_rust_v0("_RINvC1a1bFG_RL0_hEuE"), "a::b::<for<'a> fn(&'a u8)>");
  EXPECT_EQ(demangle_rust_v0("_RINvC1a1bDNtC1c1TEL_E"), "a::b::<dyn c::T>");
  EXPECT_EQ(demangle_rust_v0("_RINvC1a1bKpE"), "a::b::<_>");
  EXPECT_EQ(demangle_rust_v0("_RINvC1a1bKo1ffffffffffffffff_E"), "a::b::<0x1ffffffffffffffff>");
  EXPECT_EQ(demangle_rust_v0("_RNvC1a1bC1c"), "a::b");  // instantiating crate
  EXPECT_EQ(demangle_rust_v0("_RNvC1au8gdel_5qa"), "a::gödel");
}

TEST(Demangle, RustV0Refuses) {
  for (const char* bad :
       {"_R", "_R1NvC1a1b", "_RNvC1a", "_RNvC1a9b", "_RB_", "_RNvB2_1a", "_RINvC1a1bE_", "_RINvC1a1bL0_E",
        "_RINvC1a1bKb2_E", "_RINvC1a1bKcd800_E", "_RNvC1au1-", "_RC0 ", "_RNvC1a18446744073709551616b"}) {
    EXPECT_EQ(demangle_rust_v0(bad), std::nullopt) << bad;
  }
}

TEST(Demangle, RustV0IsBounded) {
  // Tuples of two references to the tuple before: 2^60 names if followed.
  std::string doubling = "_RINvC1a1b";
  std::size_t previous = doubling.size() - 2;
  doubling += "TuuE";
  const auto base62 = [](std::size_t n) {
    static constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string digits;
    for (n -= 1;; n /= 62) {
      digits.insert(digits.begin(), kDigits[n % 62]);
      if (n < 62) return digits + "_";
    }
  };
  for (int i = 0; i < 60; ++i) {
    const std::size_t here = doubling.size() - 2;
    doubling += "TB" + base62(previous) + "B" + base62(previous) + "E";
    previous = here;
  }
  EXPECT_EQ(demangle_rust_v0(doubling + "E"), std::nullopt);
  EXPECT_EQ(demangle_rust_v0("_RINvC1a1b" + std::string(100'000, 'R') + "hE"), std::nullopt);
  EXPECT_NE(demangle_rust_v0("_RINvC1a1b" + std::string(100, 'R') + "hE"), std::nullopt);
}

TEST(Demangle, RustLegacy) {
  EXPECT_EQ(demangle_rust_legacy("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
  EXPECT_EQ(demangle_rust_legacy("_ZN1a28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE"), "a::{{closure}}");
  EXPECT_EQ(demangle_rust_legacy("_ZN3foo3barE"), std::nullopt);                    // C++
  EXPECT_EQ(demangle_rust_legacy("_ZN3foo17h0123456789abcdeGE"), std::nullopt);     // no hash
  EXPECT_EQ(demangle("_ZN3foo17hello_world_12345Ev"), "foo::hello_world_12345()");  // C++ of that shape
  EXPECT_EQ(demangle_rust_legacy("_ZN4$XX$17h0123456789abcdefE"), "$XX$");          // unknown escape stays
}

TEST(Demangle, Punycode) {
  EXPECT_EQ(decode_punycode("gdel_5qa"), "gödel");
  EXPECT_EQ(decode_punycode("e1aybc"), "тест");
  EXPECT_EQ(decode_punycode(""), std::nullopt);
  EXPECT_EQ(decode_punycode("a_"), std::nullopt);
  EXPECT_EQ(decode_punycode("99999999999"), std::nullopt);
}

}  // namespace
}  // namespace tare::core
