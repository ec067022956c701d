// Compares, then weaves what is new: see weaver.h.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/managed/weaver.h"

#include <atomic>

#include "recorder/managed/hash.h"
#include "recorder/managed/python_codes.h"
#include "recorder/unwind/row_cache.h"

namespace tare::recorder {
namespace {

// As the unwinder does with native stacks.
constexpr std::uint32_t kKeptWhenTruncated = 6144;
constexpr std::uint32_t kFewestWhenTruncated = 4096;

// So many stacks are read with care before the layout is believed.
constexpr std::uint32_t kCheckedStacks = 64;
constinit std::atomic<std::uint32_t> g_checked_stacks{0};

// With a version number the frame's print is sound by itself.
std::uint64_t print_of(const PythonRuntime& runtime, const PythonFrame& frame) {
  return runtime.layout.code_version != 0 && frame.print != 0 ? frame.print : print_of_code(runtime, frame.code);
}

// All threads begin anew: what they have of their last stacks may be woven.
void stop_weaving() {
  std::uint64_t seen = g_generation.load(std::memory_order_relaxed);
  while ((seen & kWeaves) != 0 && !g_generation.compare_exchange_weak(seen, (seen & ~kWeaves) + 1)) {
  }
}

bool operator==(const PythonFrame& a, const PythonFrame& b) {
  return ((a.frame ^ b.frame) | (a.code ^ b.code) | (a.instruction ^ b.instruction) | (a.print ^ b.print)) == 0;
}

}  // namespace

PythonChainRead Weaver::read(const PythonRuntime& runtime, std::uint64_t thread_state) {
  if (thread_state == 0) return {};
  const PythonChainRoom room{read_frames_, read_calls_, kMost};
  if (python_state() == trace::PythonState::Woven) {
    return read_python_chain(runtime, thread_state, ReadMode::Plain, room);
  }
  const PythonChainRead chain = read_python_chain(runtime, thread_state, ReadMode::Checked, room);
  if (chain.is_wrong) {
    set_python_state(trace::PythonState::UnknownLayout);
    stop_weaving();
  } else if (chain.frames > 0 && g_checked_stacks.fetch_add(1, std::memory_order_relaxed) + 1 == kCheckedStacks) {
    set_python_state(trace::PythonState::Woven);
  }
  return chain;
}

// How many of the outermost frames are those of the last stack.
std::uint32_t Weaver::equal_frames(const PythonChainRead& chain) const {
  if (chain.is_cut || was_cut_) return 0;
  const std::uint32_t most = chain.frames < frame_count_ ? chain.frames : frame_count_;
  const PythonFrame* at = read_frames_ + chain.frames;
  std::uint32_t equal = 0;
  while (equal < most && *--at == frames_[equal]) ++equal;
  return equal;
}

// The outermost native frame that has to be woven anew.
std::uint32_t Weaver::first_changed(const PythonChainRead& chain, std::uint32_t equal,
                                    std::uint32_t native_kept) const {
  std::uint32_t from = native_kept < depth_ ? native_kept : depth_;
  if (equal == frame_count_ && equal == chain.frames && chain.calls == call_count_) return from;
  for (std::uint32_t i = 0; i < call_count_ && i < chain.calls; ++i) {
    const Call& call = calls_[i];
    const PythonCall& now = read_calls_[chain.calls - 1 - i];
    const bool same_place = call.depth != kUnplaced && call.word == now.word && call.first == chain.frames - now.frames;
    if (!same_place) return 0;
    // Frames may be added to the call or removed: its end isn't compared.
    if (call.end > equal || i + 1 == call_count_ || i + 1 == chain.calls) return call.depth < from ? call.depth : from;
    if (call.depth >= from) return from;
  }
  return 0;
}

// The calls from number `from` on, their native frames not found yet. Returns their number.
std::uint32_t Weaver::take_calls(const PythonChainRead& chain, std::uint32_t from) {
  for (std::uint32_t i = from; i < chain.calls; ++i) {
    const std::uint32_t at = chain.calls - 1 - i;
    const std::uint32_t inner = at == 0 ? 0 : read_calls_[at - 1].frames;
    calls_[i] = {read_calls_[at].word, chain.frames - read_calls_[at].frames, chain.frames - inner, kUnplaced};
  }
  return chain.calls;
}

std::uint32_t Weaver::row_of(const PythonRuntime& runtime, const PythonFrame& frame, std::uint64_t print) {
  KnownRow& known = known_[mixed(frame.code, frame.instruction) % kInnerCalls];
  if (known.code == frame.code && known.instruction == frame.instruction && known.print == print) {
    return static_cast<std::uint32_t>(known.row);
  }
  const std::uint32_t row = row_of_code(runtime, frame.code, frame.instruction, print);
  known.code = 0;  // a longjmp out of a signal handler must not leave one's key with the other's row
  std::atomic_signal_fence(std::memory_order_seq_cst);
  known.instruction = frame.instruction;
  known.print = print;
  known.row = row;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (row != 0) known.code = frame.code;
  return row;
}

// A frame that only went on to another instruction has the code object that it had: a frame holds it. Of the last
// stack's frames, the outermost `comparable` ones are there.
void Weaver::take_frames(const PythonRuntime& runtime, const PythonChainRead& chain, std::uint32_t equal,
                         std::uint32_t comparable) {
  for (std::uint32_t i = equal; i < chain.frames; ++i) {
    const PythonFrame& frame = read_frames_[chain.frames - 1 - i];
    const PythonFrame& last = frames_[i];
    const bool goes_on =
        i < comparable && ((last.frame ^ frame.frame) | (last.code ^ frame.code) | (last.print ^ frame.print)) == 0;
    if (!goes_on) prints_[i] = print_of(runtime, frame);
    frames_[i] = frame;
    rows_[i] = row_of(runtime, frame, prints_[i]);
  }
}

// Does the native frame at `depth` execute calls_[call]? Calls that no native frame can have any more are passed over.
bool Weaver::is_executed_by(const PythonRuntime& runtime, const Native& native, std::uint32_t depth,
                            std::uint32_t& call) {
  const FramePosition& position = native.stored[depth].position;
  if (runtime.layout.chain == PythonChain::Objects) {
    return call < call_count_ && position.pc - 1 >= runtime.evaluation_start &&
           position.pc - 1 < runtime.evaluation_end;
  }
  constexpr std::uint64_t kLargestFrame = 64 << 10;  // of a frame whose caller is on another stack
  const std::uint64_t outer = depth == 0 ? 0 : native.stored[depth - 1].position.sp;
  const std::uint64_t end = outer > position.sp ? outer : position.sp + kLargestFrame;
  while (call < call_count_ && outer > position.sp && calls_[call].word >= end) ++call;
  return call < call_count_ && calls_[call].word >= position.sp && calls_[call].word < end;
}

// Returns how many of the outermost rows are as before.
std::uint32_t Weaver::weave_from(const PythonRuntime& runtime, const Native& native, std::uint32_t from,
                                 std::uint32_t call, std::uint32_t old_total) {
  std::uint32_t at = from == 0 ? 0 : woven_end_[from - 1];
  std::uint32_t kept = at;
  const auto put = [&](std::uint32_t row) {
    if (kept == at && at < old_total && woven_[at] == row) ++kept;
    woven_[at++] = row;
  };
  for (std::uint32_t depth = from; depth < native.depth; ++depth) {
    if (is_executed_by(runtime, native, depth, call) && calls_[call].first < calls_[call].end) {
      Call& executed = calls_[call++];
      executed.depth = depth;
      for (std::uint32_t i = executed.first; i < executed.end; ++i) put(rows_[i]);
    } else {
      put(native.stored[depth].rule.row());
    }
    woven_end_[depth] = at;
  }
  total_ = at;
  return kept;
}

// What the event gets: rows from the innermost on.
Capture Weaver::finish(const Capture& native, std::uint32_t kept) {
  const std::uint32_t shown = total_ - (dropped_ < total_ ? dropped_ : total_);
  if (shown > kMost || (dropped_ != 0 && shown < kFewestWhenTruncated)) {
    dropped_ = total_ > kMost ? total_ - kKeptWhenTruncated : 0;
    kept = 0;
  }
  // Without native frames in common, the reader may have lost sight of what was woven before.
  const std::uint32_t reported = native.kept == 0 || kept < dropped_ ? 0 : kept - dropped_;
  const std::uint32_t depth = total_ - dropped_;
  const std::uint32_t fresh = depth - reported;
  for (std::uint32_t i = 0; i < fresh; ++i) out_[i] = woven_[total_ - 1 - i];
  return {reported, fresh, out_, depth, native.truncated || dropped_ != 0, native.complete};
}

bool Weaver::weave(const PythonRuntime& runtime, std::uint64_t thread_state, const StoredFrame* stored,
                   Capture& capture) {
  const Capture native = capture;
  const PythonChainRead chain = read(runtime, thread_state);
  if (chain.is_wrong) return false;
  const std::uint32_t equal = equal_frames(chain);
  std::uint32_t from = first_changed(chain, equal, native.kept);
  if (runtime.layout.chain == PythonChain::Objects) from = 0;  // which native frames count isn't known one by one
  std::uint32_t call = 0;
  while (from > 0 && call < call_count_ && calls_[call].depth < from) ++call;
  const std::uint32_t old_total = total_;
  const std::uint32_t old_dropped = dropped_;
  const std::uint32_t comparable = chain.is_cut || was_cut_ ? 0 : frame_count_;
  forget();  // a longjmp out of a signal handler from here on leaves an empty, valid state
  std::atomic_signal_fence(std::memory_order_seq_cst);
  take_frames(runtime, chain, equal, comparable);
  call_count_ = take_calls(chain, call);
  const std::uint32_t kept = weave_from(runtime, {stored, native.depth}, from, call, old_total);
  dropped_ = old_dropped;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  was_cut_ = chain.is_cut;
  frame_count_ = chain.frames;
  depth_ = native.depth;
  capture = finish(native, kept);
  return true;
}

}  // namespace tare::recorder
