// Where a version of CPython keeps what a stack of Python consists of: offsets in its structures.
//
// 3.9 to 3.12 from their headers. Later versions publish a table of offsets at the start of _PyRuntime.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tare::recorder {

// How a thread's Python frames are chained, and which word on the native stack belongs to the native frame that
// executes some of them.
enum class PythonChain : std::uint8_t {
  Objects,          // 3.9: frame objects, each executed by a call of the evaluation function; no word
  ObjectsAndMarks,  // 3.10: as before, each with a CFrame on the native stack
  MarkedEntries,    // 3.11: a CFrame for all frames up to one that is an entry
  EntryFrames,      // 3.12 and later: an entry frame on the native stack ends those of one call
};

inline constexpr std::uint64_t kTypeOffset = 8;  // in every object

struct PythonLayout {
  PythonChain chain;
  bool has_current_in_mark;     // 3.11, 3.12: the innermost frame is a member of the thread's CFrame
  bool counts_code_units;       // an instruction is given as a number or address of 2-byte units
  bool instruction_is_address;  // 3.11 and later
  bool tagged_code;             // 3.14: low bits of the code's address are flags
  std::uint16_t thread_id;      // of the thread state
  std::uint16_t current;        // frame, CFrame, or current frame, by `chain`
  std::uint16_t mark;           // 3.10: CFrame
  std::uint16_t mark_current;
  std::uint16_t mark_previous;
  std::uint16_t frame_previous;
  std::uint16_t frame_code;
  std::uint16_t frame_instruction;
  std::uint16_t frame_owner;
  std::uint16_t frame_is_entry;
  std::uint16_t code_file;
  std::uint16_t code_name;  // qualified from 3.11 on
  std::uint16_t code_first_line;
  std::uint16_t code_lines;
  std::uint16_t code_instructions;
  std::uint16_t code_version;  // a number that no other code object has; 0: there is none
  std::uint16_t text_header;   // before the characters of an ASCII string
  std::uint16_t wide_text_header;
};

inline constexpr int kFirstPython = 9, kFirstPublishedLayout = 13, kLastPython = 14;  // 3.x

// Of 3.9 to 3.12.
PythonLayout known_layout(int minor);

enum class PublishedLayout : std::uint8_t { Good, FreeThreaded, Unknown };
// `runtime`: the address of _PyRuntime, of which 1 KiB may be read.
PublishedLayout published_layout(const void* runtime, int& minor, PythonLayout& layout);

}  // namespace tare::recorder
