// The recorder's state as read from the memory of a recorded process: see trace/spool/rendezvous.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "trace/spool/rendezvous.h"

namespace tare::core {

// Where in the library's data its rendezvous begins; nothing where it's in none. The program may have written there.
std::optional<std::size_t> find_rendezvous(std::span<const char> data);

struct RendezvousFacts {
  trace::RecorderState state;
  trace::RecorderWish wish;
  std::uint64_t alive_word;  // an address in the process; 0: none yet
  std::uint32_t orders;
  std::string directory;  // of the last order; empty: none came
  // Of a recorder that was loaded into a running program, else 0: see trace::Rendezvous.
  std::uint64_t take_slots;
  std::uint64_t slots;
  std::uint64_t slot_count;
  std::uint64_t admit_filter;
};

// Empty if it belongs to another version, or has values that no recorder writes.
std::optional<RendezvousFacts> read_rendezvous(std::span<const char> bytes);

}  // namespace tare::core
