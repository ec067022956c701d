// Follows the chain by the offsets of the interpreter's version.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/managed/python_chain.h"

#include "recorder/unwind/load.h"
#include "recorder/unwind/stack_memory.h"

namespace tare::recorder {
namespace {

constexpr std::uint64_t kTypeOffset = 8;
constexpr std::uint8_t kFirstEntryOwner = 3;  // owners from this on are entry frames on the native stack
constexpr std::uint64_t kTags = 7;

template <ReadMode mode>
class Reader {
 public:
  Reader(const PythonRuntime& runtime, const PythonChainRoom& room)
      : runtime_(runtime), layout_(runtime.layout), room_(room) {}

  PythonChainRead read(std::uint64_t thread_state) {
    const bool has_marks = layout_.chain == PythonChain::ObjectsAndMarks;
    std::uint64_t frame = word(thread_state + layout_.current);
    std::uint64_t mark = has_marks ? word(thread_state + layout_.mark) : 0;
    if (layout_.has_current_in_mark) {
      mark = frame;
      frame = mark == 0 ? 0 : word(mark + layout_.mark_current);
    }
    while (frame != 0 && !read_.is_wrong) {
      if (read_.frames == room_.most || read_.calls == room_.most) {
        read_.is_cut = true;
        end_open_call(frame, mark);
        break;
      }
      if (!take(frame, mark)) break;
      frame = word(frame + layout_.frame_previous);
    }
    return read_;
  }

 private:
  std::uint64_t word(std::uint64_t address) {
    if constexpr (mode == ReadMode::Checked) {
      if (address % 8 != 0 || !probe_readable(address)) {
        read_.is_wrong = true;
        return 0;
      }
    }
    return load(address);
  }
  std::uint8_t byte(std::uint64_t address) {
    return static_cast<std::uint8_t>(word(address & ~std::uint64_t{7}) >> (address & 7) * 8);
  }
  void end_call(std::uint64_t at) { room_.calls[read_.calls++] = {at, read_.frames}; }

  // There's no room for the frames from here on. Those before them need the end of their call to have a place.
  void end_open_call(std::uint64_t frame, std::uint64_t mark) {
    constexpr int kMostPassed = 1 << 20;
    if (read_.calls == room_.most || layout_.chain < PythonChain::MarkedEntries) return;
    if (read_.calls > 0 && room_.calls[read_.calls - 1].frames == read_.frames) return;
    for (int passed = 0; frame != 0 && passed < kMostPassed && !read_.is_wrong; ++passed) {
      const bool is_entry = layout_.chain == PythonChain::MarkedEntries
                                ? byte(frame + layout_.frame_is_entry) != 0
                                : byte(frame + layout_.frame_owner) >= kFirstEntryOwner;
      if (is_entry) return end_call(layout_.chain == PythonChain::MarkedEntries ? mark : frame);
      frame = word(frame + layout_.frame_previous);
    }
  }

  // False: something is wrong.
  bool take(std::uint64_t frame, std::uint64_t& mark) {
    if (layout_.chain == PythonChain::EntryFrames && byte(frame + layout_.frame_owner) >= kFirstEntryOwner) {
      end_call(frame);
      return true;
    }
    put(frame);
    switch (layout_.chain) {
      case PythonChain::Objects:
        end_call(0);
        break;
      case PythonChain::ObjectsAndMarks:
        end_call(mark);
        mark = mark == 0 ? 0 : word(mark + layout_.mark_previous);
        break;
      case PythonChain::MarkedEntries:
        if (byte(frame + layout_.frame_is_entry) == 0) break;
        end_call(mark);
        mark = mark == 0 ? 0 : word(mark + layout_.mark_previous);
        break;
      case PythonChain::EntryFrames:
        break;
    }
    return !read_.is_wrong;
  }

  void put(std::uint64_t frame) {
    std::uint64_t code = word(frame + layout_.frame_code);
    if (layout_.tagged_code) code &= ~kTags;
    if constexpr (mode == ReadMode::Checked) {
      if (word(code + kTypeOffset) != runtime_.code_type) read_.is_wrong = true;
    }
    if (read_.is_wrong) return;
    const std::uint64_t print =
        layout_.code_version != 0 ? load(code + layout_.code_version) & 0xffffffff : load(code + layout_.code_lines);
    room_.frames[read_.frames++] = {frame, code, load(frame + layout_.frame_instruction), print};
  }

  const PythonRuntime& runtime_;
  const PythonLayout& layout_;
  const PythonChainRoom& room_;
  PythonChainRead read_{};
};

}  // namespace

PythonChainRead read_python_chain(const PythonRuntime& runtime, std::uint64_t thread_state, ReadMode mode,
                                  const PythonChainRoom& room) {
  if (mode == ReadMode::Plain) return Reader<ReadMode::Plain>(runtime, room).read(thread_state);
  return Reader<ReadMode::Checked>(runtime, room).read(thread_state);
}

std::uint64_t python_thread_state(const PythonRuntime& runtime) {
  const std::uint64_t state = runtime.thread_state();
  if (state == 0) return 0;
  const auto self = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());  // what pthread_self() returns
  return load(state + runtime.layout.thread_id) == self ? state : 0;
}

}  // namespace tare::recorder
