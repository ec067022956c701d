// Fuzzes the decoding of spool chunks, and that whatever comes out of it survives being encoded as an event block; with
// a dictionary that grows, and with one that is full at once.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "trace/file/event_block.h"
#include "trace/spool/spool_decoder.h"

namespace {

using namespace tare::trace;

void decode_all(std::size_t rows, const std::vector<std::uint64_t>& words, const DictionaryCeiling& ceiling) {
  Dictionary dictionary;
  dictionary.rows.assign(rows, 0x1000);
  SpoolDecoder decoder(dictionary, [](StringRef ref) { return std::string(ref.length, 'n'); }, ceiling);
  ThreadDecodeState state;
  EventBuffer events;
  state.open_chunk(0, 1000);
  const bool damaged = static_cast<bool>(decoder.decode(state, words, events));
  if (!damaged && state.words_done != words.size()) std::abort();
  if (dictionary.stacks.size() > ceiling.stacks) std::abort();

  static EventBlockEncoder encoder;
  static EventBlockDecoder block_decoder;
  BlockHeader header;
  std::uint32_t used_shapes = 0;
  const auto payload = encoder.encode(header, events, dictionary, used_shapes);
  EventBuffer back;
  if (block_decoder.decode(payload, dictionary, back) != nullptr || back.size() != events.size()) std::abort();
  if (events.size() != 0 && std::memcmp(back.data(), events.data(), events.size() * sizeof(Event)) != 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 9) return 0;
  std::vector<std::uint64_t> words((size - 1) / 8);
  std::memcpy(words.data(), data + 1, words.size() * 8);
  decode_all(data[0], words, {});
  decode_all(data[0], words, {.stacks = 3, .shapes = 2, .shapes_without_stack = 2});
  return 0;
}
