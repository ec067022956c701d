// Follows the chain by the offsets of the interpreter's version.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/managed/python_chain.h"

#include "recorder/unwind/load.h"
#include "recorder/unwind/stack_memory.h"

namespace tare::recorder {
namespace {

constexpr std::uint8_t kFirstEntryOwner = 3;  // owners from this on are entry frames on the native stack
constexpr std::uint64_t kTags = 7;

enum class ReadMode : std::uint8_t { Plain, Checked };

struct Place {
  std::uint64_t frame;
  std::uint64_t mark;
};

// Offsets that most frames need, in registers.
struct Offsets {
  std::uint64_t previous, code, instruction, print, kind;
};

template <ReadMode mode, PythonChain chain>
class Reader {
 public:
  explicit Reader(const PythonRuntime& runtime) : runtime_(runtime), layout_(runtime.layout) {}

  [[gnu::always_inline]] inline PythonChainRead read(std::uint64_t thread_state, KnownChain last,
                                                     PythonChainRoom room) {
    const PythonFrame* const first = last.frames;
    const PythonFrame* top = first + last.count;  // the frames before it may still be met
    PythonFrame* fresh = room.frames;
    PythonFrame* const end = fresh + room.most;
    Place at = innermost(thread_state);
    while (at.frame != 0) {
      if (mode == ReadMode::Plain && is_met(first, top, at.frame) && may_be(top[-1], at)) {
        const PythonFrame* const same = top;
        top = follow(runtime_, first, top, at);
        if (at.frame == 0 && top == first) {
          if (same - first > end - fresh) return again(runtime_, thread_state, room);
          return {number(fresh - room.frames), number(same - first), ChainEnd::Whole};
        }
        if (same - top > end - fresh) return again(runtime_, thread_state, room);
        for (const PythonFrame* known = same; known != top; --known) *fresh++ = known[-1];
        if (at.frame == 0) break;
      }
      if (fresh == end) break;
      at = take(at, *fresh);
      if (mode == ReadMode::Checked && is_wrong_) return {0, 0, ChainEnd::Wrong};
      ++fresh;
    }
    if (fresh != end || at.frame == 0) [[likely]]
      return {number(fresh - room.frames), 0, ChainEnd::Whole};
    if (last.count != 0) return again(runtime_, thread_state, room);
    end_open_call(at, end[-1].call);
    return {room.most, 0, is_wrong_ ? ChainEnd::Wrong : ChainEnd::Cut};
  }

 private:
  static std::uint32_t number(std::ptrdiff_t frames) { return static_cast<std::uint32_t>(frames); }

  // The room may not be enough for all.
  __attribute__((noinline)) static PythonChainRead again(const PythonRuntime& runtime, std::uint64_t thread_state,
                                                         PythonChainRoom room) {
    return Reader(runtime).read(thread_state, {}, room);
  }

  [[gnu::always_inline]] inline std::uint64_t word(std::uint64_t address) {
    if constexpr (mode == ReadMode::Checked) {
      if (address % 8 != 0 || !probe_readable(address)) {
        is_wrong_ = true;
        return 0;
      }
    }
    return load(address);
  }

  // Where a frame has a byte: with MarkedEntries, whether it's the outermost of its call, else its owner.
  static std::uint64_t kind_offset(const PythonLayout& layout) {
    return chain == PythonChain::MarkedEntries ? layout.frame_is_entry : layout.frame_owner;
  }
  static Offsets offsets(const PythonLayout& layout) {
    return {layout.frame_previous, layout.frame_code, layout.frame_instruction,
            chain == PythonChain::EntryFrames && layout.code_version != 0 ? layout.code_version : layout.code_lines,
            kind_offset(layout)};
  }
  [[gnu::always_inline]] inline bool is_entry(std::uint64_t frame, std::uint64_t offset) {
    std::uint64_t bytes;
    if constexpr (mode == ReadMode::Checked) {
      bytes = word((frame + offset) & ~std::uint64_t{7}) >> ((frame + offset) & 7) * 8;
    } else {
      bytes = load(frame + offset);  // more of the frame follows
    }
    const auto byte = static_cast<std::uint8_t>(bytes);
    return chain == PythonChain::MarkedEntries ? byte != 0 : byte >= kFirstEntryOwner;
  }
  static std::uint64_t code_of(const PythonLayout& layout, std::uint64_t word) {
    return chain == PythonChain::EntryFrames && layout.tagged_code ? word & ~kTags : word;
  }
  static std::uint64_t print_of(const PythonLayout& layout, std::uint64_t word) {
    return chain == PythonChain::EntryFrames && layout.code_version != 0 ? word & 0xffffffff : word;
  }

  [[gnu::always_inline]] inline Place innermost(std::uint64_t thread_state) {
    Place at{word(thread_state + layout_.current), 0};
    if constexpr (chain == PythonChain::ObjectsAndMarks) at.mark = word(thread_state + layout_.mark);
    if (layout_.has_current_in_mark) {
      at.mark = at.frame;
      at.frame = at.mark == 0 ? 0 : word(at.mark + layout_.mark_current);
    }
    if constexpr (chain == PythonChain::EntryFrames) {
      if (at.frame != 0 && is_entry(at.frame, kind_offset(layout_))) at.frame = pass_entries(layout_, at.frame);
    }
    return at;
  }

  // The frame of Python outside of an entry frame.
  [[gnu::always_inline]] inline std::uint64_t pass_entries(const PythonLayout& layout, std::uint64_t frame) {
    constexpr int kMostPassed = 1 << 13;  // of calls without a frame of Python
    int passed = 0;
    do {
      frame = word(frame + layout.frame_previous);
    } while (frame != 0 && is_entry(frame, kind_offset(layout)) && ++passed < kMostPassed);
    return passed < kMostPassed ? frame : 0;
  }

  // The place of the caller; `call` as in PythonFrame.
  [[gnu::always_inline]] inline Place caller_of(const PythonLayout& layout, const Offsets& offset, const Place& at,
                                                std::uint64_t& call) {
    Place next{word(at.frame + offset.previous), at.mark};
    call = kInsideCall;
    if constexpr (chain == PythonChain::EntryFrames) {
      if (next.frame != 0 && is_entry(next.frame, offset.kind)) {
        call = next.frame;
        next.frame = pass_entries(layout, next.frame);
      }
    } else if constexpr (chain == PythonChain::Objects) {
      call = 0;
    } else if (chain == PythonChain::ObjectsAndMarks || is_entry(at.frame, offset.kind)) {
      call = at.mark;
      if (next.mark != 0) next.mark = word(next.mark + layout.mark_previous);
    }
    return next;
  }

  // Reads the frame at `at`. Returns the place of its caller.
  [[gnu::always_inline]] inline Place take(const Place& at, PythonFrame& frame) {
    const Offsets offset = offsets(layout_);
    const std::uint64_t code = code_of(layout_, word(at.frame + offset.code));
    if constexpr (mode == ReadMode::Checked) {
      if (word(code + kTypeOffset) != runtime_.code_type) is_wrong_ = true;
      if (is_wrong_) return {};
    }
    frame.frame = at.frame;
    frame.code = code;
    frame.instruction = load(at.frame + offset.instruction);
    frame.print = print_of(layout_, load(code + offset.print));
    return caller_of(layout_, offset, at, frame.call);
  }

  // Does a frame before `top` have this address? Then `top` is set to its end: those of functions that have returned
  // are passed over.
  [[gnu::always_inline]] static inline bool is_met(const PythonFrame* first, const PythonFrame*& top,
                                                   std::uint64_t frame) {
    constexpr std::ptrdiff_t kMostPassed = 4;  // more are read again
    for (const PythonFrame* at = top; at != first && top - at < kMostPassed; --at) {
      if (at[-1].frame == frame) {
        top = at;
        return true;
      }
    }
    return false;
  }
  // The innermost frame has mostly gone on.
  bool may_be(const PythonFrame& frame, const Place& at) const {
    return load(at.frame + layout_.frame_instruction) == frame.instruction;
  }

  // Goes outwards from `place`, where top[-1] lay, as long as the frames are as they were. Apart, so that offsets and
  // places are in registers.
  __attribute__((noinline)) static const PythonFrame* follow(const PythonRuntime& runtime, const PythonFrame* first,
                                                             const PythonFrame* top, Place& place) {
    Reader reader(runtime);
    const PythonLayout& layout = runtime.layout;
    const Offsets offset = offsets(layout);
    Place at = place;
    do {
      const std::uint64_t code = code_of(layout, load(at.frame + offset.code));
      if (code != top[-1].code || load(at.frame + offset.instruction) != top[-1].instruction) break;
      if (print_of(layout, load(code + offset.print)) != top[-1].print) break;
      std::uint64_t call;
      const Place caller = reader.caller_of(layout, offset, at, call);
      if (call != top[-1].call) break;
      --top;
      at = caller;
    } while (top != first && at.frame == top[-1].frame);
    place = at;
    return top;
  }

  // There's no room for the frames from here on. Those before them need the end of their call to have a place.
  void end_open_call(const Place& at, std::uint64_t& call) {
    constexpr int kMostPassed = 1 << 20;
    if (call != kInsideCall) return;
    std::uint64_t frame = at.frame;
    for (int passed = 0; frame != 0 && passed < kMostPassed && !is_wrong_; ++passed) {
      if (is_entry(frame, kind_offset(layout_))) {
        call = chain == PythonChain::MarkedEntries ? at.mark : frame;
        return;
      }
      frame = word(frame + layout_.frame_previous);
    }
  }

  const PythonRuntime& runtime_;
  const PythonLayout& layout_;
  bool is_wrong_ = false;
};

template <ReadMode mode, PythonChain chain>
__attribute__((noinline)) PythonChainRead read_as(const PythonRuntime& runtime, std::uint64_t thread_state,
                                                  KnownChain last, PythonChainRoom room) {
  return Reader<mode, chain>(runtime).read(thread_state, last, room);
}

template <ReadMode mode>
[[gnu::always_inline]] inline PythonChainRead read_chain(const PythonRuntime& runtime, std::uint64_t thread_state,
                                                         KnownChain last, PythonChainRoom room) {
  switch (runtime.layout.chain) {
    case PythonChain::Objects:
      return read_as<mode, PythonChain::Objects>(runtime, thread_state, last, room);
    case PythonChain::ObjectsAndMarks:
      return read_as<mode, PythonChain::ObjectsAndMarks>(runtime, thread_state, last, room);
    case PythonChain::MarkedEntries:
      return read_as<mode, PythonChain::MarkedEntries>(runtime, thread_state, last, room);
    case PythonChain::EntryFrames:
      break;
  }
  return read_as<mode, PythonChain::EntryFrames>(runtime, thread_state, last, room);
}

}  // namespace

PythonChainRead read_python_chain(const PythonRuntime& runtime, std::uint64_t thread_state, KnownChain last,
                                  PythonChainRoom room) {
  return read_chain<ReadMode::Plain>(runtime, thread_state, last, room);
}

PythonChainRead check_python_chain(const PythonRuntime& runtime, std::uint64_t thread_state, PythonChainRoom room) {
  return read_chain<ReadMode::Checked>(runtime, thread_state, {}, room);
}

std::uint64_t python_thread_state(const PythonRuntime& runtime) {
  const std::uint64_t state = runtime.thread_state();
  if (state == 0) return 0;
  const auto self = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());  // what pthread_self() returns
  return load(state + runtime.layout.thread_id) == self ? state : 0;
}

}  // namespace tare::recorder
