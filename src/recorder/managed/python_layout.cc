// Offsets as `offsetof` gives them with each version's headers on x86-64.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/managed/python_layout.h"

#include <cstring>

namespace tare::recorder {
namespace {

PythonLayout layout_of_objects(int minor) {
  PythonLayout layout{};
  layout.chain = minor == 9 ? PythonChain::Objects : PythonChain::ObjectsAndMarks;
  layout.counts_code_units = minor == 10;
  layout.thread_id = 176;
  layout.current = 24;
  layout.mark = 48;
  layout.mark_previous = 8;
  layout.frame_previous = 24;
  layout.frame_code = 32;
  layout.frame_instruction = minor == 9 ? 104 : 96;
  layout.code_file = 104;
  layout.code_name = 112;
  layout.code_first_line = 40;
  layout.code_lines = 120;
  layout.text_header = 48;
  layout.wide_text_header = 72;
  return layout;
}

PythonLayout layout_of_marks(int minor) {
  PythonLayout layout{};
  layout.chain = minor == 11 ? PythonChain::MarkedEntries : PythonChain::EntryFrames;
  layout.has_current_in_mark = true;
  layout.counts_code_units = true;
  layout.instruction_is_address = true;
  layout.thread_id = minor == 11 ? 152 : 136;
  layout.current = 56;
  layout.mark_current = minor == 11 ? 8 : 0;
  layout.mark_previous = minor == 11 ? 16 : 8;
  layout.frame_previous = minor == 11 ? 48 : 8;
  layout.frame_code = minor == 11 ? 32 : 0;
  layout.frame_instruction = 56;
  layout.frame_owner = minor == 11 ? 69 : 70;
  layout.frame_is_entry = 68;
  layout.code_file = 112;
  layout.code_name = 128;
  layout.code_first_line = minor == 11 ? 72 : 68;
  layout.code_lines = 136;
  layout.code_instructions = minor == 11 ? 184 : 192;
  layout.code_version = minor == 11 ? 0 : 92;
  layout.text_header = minor == 11 ? 48 : 40;
  layout.wide_text_header = minor == 11 ? 72 : 56;
  return layout;
}

}  // namespace

PythonLayout known_layout(int minor) { return minor <= 10 ? layout_of_objects(minor) : layout_of_marks(minor); }

PublishedLayout published_layout(const void* runtime, int& minor, PythonLayout& layout) {
  constexpr std::uint64_t kLargest = 4096;
  const auto* const words = static_cast<const std::uint64_t*>(runtime);
  minor = 0;
  if (std::memcmp(runtime, "xdebugpy", 8) != 0 || words[1] >> 24 != 3) return PublishedLayout::Unknown;
  minor = static_cast<int>(words[1] >> 16 & 0xff);
  if (minor < kFirstPublishedLayout || minor > kLastPython) return PublishedLayout::Unknown;
  if (words[2] != 0) return PublishedLayout::FreeThreaded;
  const bool is_later = minor > kFirstPublishedLayout;
  const std::uint64_t* const thread = words + 6 + (is_later ? 16 : 13);
  const std::uint64_t* const frame = thread + 9;
  const std::uint64_t* const code = frame + (is_later ? 8 : 6);
  for (const std::uint64_t* word = thread; word < code + 10; ++word) {
    if (*word >= kLargest) return PublishedLayout::Unknown;
  }
  layout = {};
  layout.chain = PythonChain::EntryFrames;
  layout.counts_code_units = true;
  layout.instruction_is_address = true;
  layout.tagged_code = is_later;
  layout.current = static_cast<std::uint16_t>(thread[4]);
  layout.thread_id = static_cast<std::uint16_t>(thread[5]);
  layout.frame_previous = static_cast<std::uint16_t>(frame[1]);
  layout.frame_code = static_cast<std::uint16_t>(frame[2]);
  layout.frame_instruction = static_cast<std::uint16_t>(frame[3]);
  layout.frame_owner = static_cast<std::uint16_t>(frame[5]);
  layout.code_file = static_cast<std::uint16_t>(code[1]);
  layout.code_name = static_cast<std::uint16_t>(code[3]);
  layout.code_lines = static_cast<std::uint16_t>(code[4]);
  layout.code_first_line = static_cast<std::uint16_t>(code[5]);
  layout.code_instructions = static_cast<std::uint16_t>(code[9]);
  // Not published. It has stood before co_localsplusnames since 3.12.
  if (code[7] == 96 && code[5] == 68) layout.code_version = 92;
  layout.text_header = 40;
  layout.wide_text_header = 56;
  return PublishedLayout::Good;
}

}  // namespace tare::recorder
