// Fuzzes the decoder of event blocks by itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "trace/file/event_block.h"

namespace {

tare::trace::Dictionary make_dictionary() {
  using namespace tare::trace;
  Dictionary dictionary;
  dictionary.rows = {0x1000, 0x2000};
  dictionary.stacks = {{kEmptyStack, RowId{0}}, {kEmptyStack, RowId{0}}, {StackId{1}, RowId{1}}};
  dictionary.names = {"explicit/a", "explicit/b", "cells"};
  for (std::uint32_t i = 0; i < 64; ++i) {
    const bool map = i % 8 == 7;
    dictionary.shapes.push_back({StackId{i % 3}, map ? static_cast<AllocApi>(MapApi::Mmap) : AllocApi::Malloc, 0,
                                 static_cast<std::uint8_t>(map), 0, i * 10, i * 16 + 8, 1});
  }
  return dictionary;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tare::trace;
  static const Dictionary dictionary = make_dictionary();
  static EventBlockDecoder decoder;
  EventBuffer events;
  if (decoder.decode({data, size}, dictionary, events) != nullptr && !events.empty()) std::abort();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const EventKind kind = events[i].kind;
    if ((kind == EventKind::Alloc || kind == EventKind::Map) && index(events[i].shape) >= dictionary.shapes.size())
      std::abort();
    if (kind == EventKind::Report && events[i].shape != kNoShape && index(events[i].shape) >= dictionary.names.size())
      std::abort();
  }
  return 0;
}
