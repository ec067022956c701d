// Performs the steps of one thread: calls the allocator, and writes to its blocks as far as the program did.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator_replay/perform/gate.h"
#include "allocator_replay/perform/script_file.h"

namespace tare::perform {

enum class Allocator { Called, LeftAlone };  // LeftAlone: measures the cost of performing itself

// State that all threads share.
struct Stage {
  const ScriptFile& script;
  Gate& gate;
  std::atomic<void*>* slots;  // null: nothing there, or not yet
  Allocator allocator;
  double speed;  // times as fast as recorded; 0: as fast as can be
  std::uint64_t start_ns;
  std::atomic<std::uint64_t> failed_calls{0};
  std::atomic<std::uint64_t> copied_bytes{0};  // by reallocs that moved the block
};

std::uint64_t now_ns();

// True if a slot holds a block of the allocator: a refused or freed block leaves another address there.
bool is_block(const void* block);

// Thread `i` of the script, from its first step to its last.
void perform(Stage& stage, std::uint64_t i);

// Usable bytes of all live blocks; no thread may be performing steps.
std::uint64_t usable_bytes(const Stage& stage);

}  // namespace tare::perform
