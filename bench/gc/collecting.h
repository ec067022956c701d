// When a bench program's heap is collected.
#pragma once

#include <cstdint>

namespace tare::bench {

enum class Collecting : std::uint8_t {
  ByHand,                  // for programs that measure collections one by one
  ByHandBesideTheProgram,  // the same, but what is marked is marked by another thread
  Automatic,
  AutomaticAtOnce,   // without steps
  BesideTheProgram,  // automatic, with as short pauses as the collector can
};

}  // namespace tare::bench
