// How events of a trace count as events of a spool: positions of threads are numbers of those.
#pragma once

#include "trace/model/api.h"
#include "trace/model/dictionary.h"
#include "trace/model/event.h"

namespace tare::trace {

// In the api of a NewDigest: a Contents note follows, and counts for both.
inline constexpr std::uint8_t kDigestOfNote = 4;

// A thread writes some pairs of events as one, which counts once (FORMAT.md): a realloc at its second half, an mremap
// at its Map, a note of contents without its digest.
inline bool counts_as_spool_event(const Event& event, const Dictionary& dictionary) {
  if (event.kind == EventKind::ReallocEnd || event.kind == EventKind::Digest) return false;
  if (event.kind == EventKind::NewDigest) return (event.api & kDigestOfNote) == 0;
  if (event.kind != EventKind::Unmap || index(event.shape) >= dictionary.shapes.size()) return true;
  return dictionary.shapes[index(event.shape)].api != static_cast<AllocApi>(MapApi::Mremap);
}

}  // namespace tare::trace
