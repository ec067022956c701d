// Reading a rendezvous: see rendezvous_view.h.
#include "core/launcher/rendezvous_view.h"

#include <cstring>

namespace tare::core {

using trace::RecorderState;
using trace::RecorderWish;
using trace::Rendezvous;

namespace {

std::uint32_t word_at(std::span<const char> bytes, std::size_t offset) {
  std::uint32_t word;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

std::uint64_t long_at(std::span<const char> bytes, std::size_t offset) {
  std::uint64_t word;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

}  // namespace

std::optional<std::size_t> find_rendezvous(std::span<const char> data) {
  for (std::size_t at = 0; at + sizeof(Rendezvous) <= data.size(); at += alignof(Rendezvous)) {
    if (std::memcmp(data.data() + at, trace::kRendezvousMagic, sizeof(trace::kRendezvousMagic)) == 0) return at;
  }
  return std::nullopt;
}

std::optional<RendezvousFacts> read_rendezvous(std::span<const char> bytes) {
  if (bytes.size() < sizeof(Rendezvous)) return std::nullopt;
  if (word_at(bytes, offsetof(Rendezvous, version)) != trace::kRendezvousVersion) return std::nullopt;
  if (word_at(bytes, offsetof(Rendezvous, struct_bytes)) != sizeof(Rendezvous)) return std::nullopt;
  const std::uint32_t state = word_at(bytes, offsetof(Rendezvous, state));
  const std::uint32_t wish = word_at(bytes, offsetof(Rendezvous, wish));
  if (state > static_cast<std::uint32_t>(RecorderState::Off)) return std::nullopt;
  if (wish > static_cast<std::uint32_t>(RecorderWish::Detached)) return std::nullopt;
  RendezvousFacts facts{static_cast<RecorderState>(state),
                        static_cast<RecorderWish>(wish),
                        long_at(bytes, offsetof(Rendezvous, alive_word)),
                        word_at(bytes, offsetof(Rendezvous, orders)),
                        {},
                        long_at(bytes, offsetof(Rendezvous, take_slots)),
                        long_at(bytes, offsetof(Rendezvous, slots)),
                        long_at(bytes, offsetof(Rendezvous, slot_count)),
                        long_at(bytes, offsetof(Rendezvous, admit_filter))};
  const char* const directory = bytes.data() + offsetof(Rendezvous, directory);
  facts.directory.assign(directory, ::strnlen(directory, sizeof(Rendezvous::directory)));
  return facts;
}

}  // namespace tare::core
