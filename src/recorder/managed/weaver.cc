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

}  // namespace

PythonChainRead Weaver::read(const PythonRuntime& runtime, std::uint64_t thread_state) {
  if (thread_state == 0) return {};
  const PythonChainRoom room{read_frames_, kMost};
  if (python_state() == trace::PythonState::Woven) [[likely]] {
    return read_python_chain(runtime, thread_state, {frames_, was_cut_ ? 0 : frame_count_}, room);
  }
  const PythonChainRead chain = check_python_chain(runtime, thread_state, room);
  if (chain.end == ChainEnd::Wrong) {
    set_python_state(trace::PythonState::UnknownLayout);
    stop_weaving();
  } else if (chain.frames > 0 && g_checked_stacks.fetch_add(1, std::memory_order_relaxed) + 1 == kCheckedStacks) {
    set_python_state(trace::PythonState::Woven);
  }
  return chain;
}

// How many of the outermost frames are those of the last stack.
std::uint32_t Weaver::equal_frames(const PythonChainRead& chain) const {
  if (chain.end == ChainEnd::Cut || was_cut_) return 0;
  const std::uint32_t frames = chain.known + chain.frames;
  const std::uint32_t most = frames < frame_count_ ? frames : frame_count_;
  std::uint32_t equal = chain.known;
  while (equal < most && read_frames_[frames - 1 - equal] == frames_[equal]) ++equal;
  return equal;
}

// The outermost native frame that has to be woven anew. Python frames changed, native ones from `from` on.
std::uint32_t Weaver::first_changed(std::uint32_t equal, std::uint32_t from) const {
  // The last call that has equal frames may also have frames that were added or removed.
  std::uint32_t changed = 0;
  for (std::uint32_t i = 0; i < call_count_ && calls_[i].first < equal; ++i) {
    changed = calls_[i].depth;
    if (changed == kUnplaced) return 0;
    if (changed >= from) return from;
  }
  return changed;
}

// How many calls lie outside of the native frame `depth`.
std::uint32_t Weaver::calls_outside(std::uint32_t depth) const {
  std::uint32_t call = 0;
  while (call < call_count_ && calls_[call].depth < depth) ++call;
  return call;
}

// The calls from number `from` on, their native frames not found yet.
void Weaver::take_calls(std::uint32_t frames, std::uint32_t from) {
  call_count_ = from;
  for (std::uint32_t i = from == 0 ? 0 : calls_[from - 1].end; i < frames; ++i) {
    if (frames_[i].call != kInsideCall) calls_[call_count_++] = {frames_[i].call, i, i, kUnplaced};
    if (call_count_ > from) calls_[call_count_ - 1].end = i + 1;
  }
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
void Weaver::take_frames(const PythonRuntime& runtime, std::uint32_t frames, std::uint32_t equal,
                         std::uint32_t comparable) {
  for (std::uint32_t i = equal; i < frames; ++i) {
    const PythonFrame& frame = read_frames_[frames - 1 - i];
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
  std::uint32_t depth = from;
  for (; depth < native.depth && call < call_count_; ++depth) {
    if (is_executed_by(runtime, native, depth, call)) {
      Call& executed = calls_[call++];
      executed.depth = depth;
      for (std::uint32_t i = executed.first; i < executed.end; ++i) put(rows_[i]);
    } else {
      put(native.stored[depth].rule.row());
    }
    woven_end_[depth] = at;
  }
  for (; depth < native.depth; ++depth) {  // inside the innermost call
    put(native.stored[depth].rule.row());
    woven_end_[depth] = at;
  }
  total_ = at;
  return kept;
}

// The rows of the event, from the innermost on. Member by member: a copy of 16 bytes at once waits for the stores.
void Weaver::finish(std::uint32_t kept, Capture& capture) {
  const std::uint32_t shown = total_ - (dropped_ < total_ ? dropped_ : total_);
  if (shown > kMost || (dropped_ != 0 && shown < kFewestWhenTruncated)) {
    dropped_ = total_ > kMost ? total_ - kKeptWhenTruncated : 0;
    kept = 0;
  }
  // Without native frames in common, the reader may have lost sight of what was woven before.
  const std::uint32_t reported = capture.kept == 0 || kept < dropped_ ? 0 : kept - dropped_;
  const std::uint32_t depth = total_ - dropped_;
  const std::uint32_t fresh = depth - reported;
  for (std::uint32_t i = 0; i < fresh; ++i) out_[i] = woven_[total_ - 1 - i];
  capture.kept = reported;
  capture.fresh = fresh;
  capture.rows = out_;
  capture.depth = depth;
  if (dropped_ != 0) capture.truncated = true;
}

// Of a chain that isn't the last one: takes its frames and its calls from number `call` on. `from` becomes the
// outermost native frame that has to be woven anew.
void Weaver::take_changed(const PythonRuntime& runtime, const PythonChainRead& chain, std::uint32_t& from,
                          std::uint32_t& call) {
  const std::uint32_t frames = chain.known + chain.frames;
  const std::uint32_t equal = equal_frames(chain);
  from = first_changed(equal, from);
  call = calls_outside(from);
  const std::uint32_t comparable = chain.end == ChainEnd::Cut || was_cut_ ? 0 : frame_count_;
  forget();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  take_frames(runtime, frames, equal, comparable);
  take_calls(frames, call);
}

bool Weaver::weave(const PythonRuntime& runtime, std::uint64_t thread_state, const StoredFrame* stored,
                   Capture& capture) {
  const PythonChainRead chain = read(runtime, thread_state);
  if (chain.end == ChainEnd::Wrong) return false;
  const Native native{stored, capture.depth};
  const std::uint32_t old_total = total_;
  const std::uint32_t old_dropped = dropped_;
  const std::uint32_t old_frames = frame_count_;
  const std::uint32_t old_calls = call_count_;
  std::uint32_t from = capture.kept < depth_ ? capture.kept : depth_;
  if (runtime.layout.chain == PythonChain::Objects) from = 0;  // which native frames count isn't known one by one
  std::uint32_t call = calls_outside(from);
  // A longjmp out of a signal handler from forget() on leaves an empty, valid state.
  if (chain.frames != 0 || chain.known != old_frames) {
    take_changed(runtime, chain, from, call);
  } else {
    forget();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    for (std::uint32_t i = call; i < old_calls; ++i) calls_[i].depth = kUnplaced;
    call_count_ = old_calls;
  }
  const std::uint32_t kept = weave_from(runtime, native, from, call, old_total);
  dropped_ = old_dropped;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  was_cut_ = chain.end == ChainEnd::Cut;
  frame_count_ = chain.known + chain.frames;
  depth_ = native.depth;
  finish(kept, capture);
  return true;
}

}  // namespace tare::recorder
