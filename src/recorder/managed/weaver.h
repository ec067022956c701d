// Puts a thread's Python frames into its native stack: each call of the interpreter's evaluation function is replaced
// by the Python frames that it executes.
//
// A stack woven before is kept as far as it's the same: from a native frame or a Python frame on that changed, it is
// woven again. All Python frames are compared with those of the last stack (some 25 instructions each), because a
// caller may have gone on to another line without any change of the native stack.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "recorder/managed/python_chain.h"
#include "recorder/unwind/stored_frames.h"
#include "recorder/unwind/unwind.h"

namespace tare::recorder {

// A zero-initialised block of memory is a weaver. One per Unwinder; not reentrant.
class Weaver {
 public:
  // `capture` is what the Unwinder captured, `stored` its frames, the outermost first. Valid until the next call.
  // False: the interpreter isn't what it claims to be, and nothing is woven any more.
  bool weave(const PythonRuntime& runtime, std::uint64_t thread_state, const StoredFrame* stored, Capture& capture);
  void reset() { forget(); }

 private:
  static constexpr std::uint32_t kMost = trace::kMaxFrames;
  static constexpr std::uint32_t kInnerCalls = 1024;
  static constexpr std::uint32_t kUnplaced = ~0u;

  struct Call {
    std::uint64_t word;   // see PythonFrame
    std::uint32_t first;  // its Python frames are frames_[first, end)
    std::uint32_t end;
    std::uint32_t depth;  // of its native frame
  };
  struct KnownRow {
    std::uint64_t code;
    std::uint64_t instruction;
    std::uint64_t print;
    std::uint64_t row;
  };
  struct Native {
    const StoredFrame* stored;
    std::uint32_t depth;
  };

  void forget() { frame_count_ = call_count_ = depth_ = total_ = dropped_ = 0; }
  PythonChainRead read(const PythonRuntime& runtime, std::uint64_t thread_state);
  std::uint32_t equal_frames(const PythonChainRead& chain) const;
  std::uint32_t first_changed(std::uint32_t equal, std::uint32_t from) const;
  std::uint32_t calls_outside(std::uint32_t depth) const;
  void take_changed(const PythonRuntime& runtime, const PythonChainRead& chain, std::uint32_t& from,
                    std::uint32_t& call);
  void take_frames(const PythonRuntime& runtime, std::uint32_t frames, std::uint32_t equal, std::uint32_t comparable);
  void take_calls(std::uint32_t frames, std::uint32_t from);
  std::uint32_t row_of(const PythonRuntime& runtime, const PythonFrame& frame, std::uint64_t print);
  std::uint32_t weave_from(const PythonRuntime& runtime, const Native& native, std::uint32_t from, std::uint32_t call,
                           std::uint32_t old_total);
  bool is_executed_by(const PythonRuntime& runtime, const Native& native, std::uint32_t depth, std::uint32_t& call);
  void finish(std::uint32_t kept, Capture& capture);

  // Of the last stack, the outermost first.
  std::uint32_t frame_count_;
  std::uint32_t call_count_;
  std::uint32_t depth_;    // native frames
  std::uint32_t total_;    // woven rows
  std::uint32_t dropped_;  // of them, outermost ones that no event has: the stack is too deep
  bool was_cut_;
  PythonFrame frames_[kMost + 1];
  std::uint64_t prints_[kMost + 1];  // of frames_: those of the code objects, by print_of()
  std::uint32_t rows_[kMost + 1];    // of frames_
  Call calls_[kMost + 1];
  std::uint32_t woven_[2 * kMost + 2];
  std::uint32_t woven_end_[kMost + 1];  // by native depth: rows up to and with that frame

  PythonFrame read_frames_[kMost];  // the innermost first
  std::uint32_t out_[kMost + 1];
  KnownRow known_[kInnerCalls];
};

}  // namespace tare::recorder
