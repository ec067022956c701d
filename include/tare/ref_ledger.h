// tare/ref_ledger.h: the holders of a counted object, with the stacks that took each reference: for finding leaked
// ones.
//
// Compile the whole program with -DTARE_REF_LEDGER=1, let it run, and print:
//
//   tare::RefLedger::print(stderr);
//
//   app::Style #1204, 48 bytes at 0x7f0a8: 1 references in RefPtrs, 0 elsewhere
//     made at
//         ./app(+0x4f20) app::parse+0x31
//         ...
//     taken 12, settled 11, held 1 by 0x7f1c0 at
//         ./app(+0x51aa) app::Node::set_style+0x1a
//         ...
//
// The ledger identifies each RefPtr by its address. A reference that a RefPtr took is settled when that RefPtr, or the
// one it was moved to, releases it: the unsettled ones have the place where the leaked one was taken. References taken
// with add_ref() have no holder; for these the ledger counts takes and releases by call stack, for the reader to
// balance.
//
// Where it is off, which is the default, nothing of this is called, and counted objects and pointers are as small and
// as fast as if it didn't exist. All parts of a program must agree; where they don't, linking fails, because names
// differ. With it on, each change of a count costs a walk of the stack and a lock: about 2 us.
//
// Any thread may call everything here. The ledger allocates, and is never destroyed.
// After Firefox's refcount tracing and balancing, which logged every change of one object's count with its stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "tare/internal/export.h"
#include "tare/version.h"

#ifndef TARE_REF_LEDGER
#define TARE_REF_LEDGER 0
#endif
#if TARE_REF_LEDGER
#define TARE_REF_LEDGER_NAMESPACE with_ref_ledger
#else
#define TARE_REF_LEDGER_NAMESPACE without_ref_ledger
#endif

namespace tare::inline TARE_ABI {

// True if RefPtr and RefCounted report to the ledger.
inline constexpr bool kRefLedger = TARE_REF_LEDGER != 0;

// A call stack, innermost first, and its changes of one object's count.
struct RefSite {
  static constexpr std::size_t kMostFrames = 12;
  std::array<const void*, kMostFrames> frames{};  // return addresses
  std::size_t frame_count = 0;
  std::uint64_t taken = 0;           // references taken here
  std::uint64_t settled = 0;         // of those, by RefPtrs which gave them up since, wherever that was
  std::uint64_t given_up = 0;        // references released here
  std::vector<const void*> holders;  // RefPtrs that took theirs here and have it still
};

// One object that lives.
struct RefAccount {
  const void* object = nullptr;  // its counted part
  std::string_view type;         // static storage
  std::size_t size_bytes = 0;
  std::uint64_t serial = 0;          // the how manieth that was made
  std::uint64_t held = 0;            // references in RefPtrs
  std::int64_t in_nobodys_name = 0;  // all others; below 0 where bytes of RefPtrs were copied or lost
  std::vector<RefSite> sites;        // in the order of their first appearance; the first is where it was made
};

class TARE_API RefLedger {
 public:
  // Of all counted objects that live, in the order of their making.
  static std::vector<RefAccount> accounts();
  // The same as text. Addresses are given as module(+offset), which addr2line understands, and by the name of the
  // function where the dynamic symbols have it (-rdynamic).
  static void print(std::FILE* to);
  // How many objects there are.
  static std::size_t size() noexcept;

  // Reports from RefCounted and RefPtr. holder: a RefPtr, or null if unknown.
  static void enter(const void* object, std::string_view type, std::size_t size_bytes) noexcept;  // with a reference
  static void leave(const void* object) noexcept;
  static void add(const void* object, const void* holder) noexcept;
  static void drop(const void* object, const void* holder) noexcept;
  static void pass(const void* object, const void* from, const void* to) noexcept;
};

// Behind a call to the ledger: keeps it from being the caller's last act, which would take the caller off the stack.
inline void stay_on_stack() noexcept { asm volatile(""); }

// "app::Style", without RTTI.
template <class T>
constexpr std::string_view type_name_of() noexcept {
  constexpr std::string_view kWhole =
      __PRETTY_FUNCTION__;  // "... [with T = app::Style; ...]" or "... [T = app::Style]"
  constexpr std::size_t kBegin = kWhole.find("T = ") + 4;
  constexpr std::size_t kSemicolon = kWhole.find(';', kBegin);
  constexpr std::size_t kEnd = kSemicolon == std::string_view::npos ? kWhole.size() - 1 : kSemicolon;
  return kWhole.substr(kBegin, kEnd - kBegin);
}

}  // namespace tare::inline TARE_ABI
