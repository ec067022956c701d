// A recording made by hand of which blocks' contents were looked at.
#pragma once

#include <cstdint>

#include "support/made_up_trace.h"
#include "trace/model/content_digest.h"

namespace tare::core {

class SeenTrace : public MadeUpTrace {
 public:
  SeenTrace() { info.contents_recorded = true; }
  void contents(std::uint64_t address, std::uint32_t unwritten,
                trace::ContentClass content_class = trace::ContentClass::Other) {
    add(trace::EventKind::Contents, address, trace::ShapeId{unwritten});
    events.back().api = static_cast<std::uint8_t>(content_class);
  }
  void digest(std::uint64_t value) { add(trace::EventKind::Digest, value); }
  void new_digest(std::uint64_t digest, trace::ContentClass content_class = trace::ContentClass::Text) {
    add(trace::EventKind::NewDigest, trace::short_digest(digest));
    events.back().api = static_cast<std::uint8_t>(content_class);
  }
  // A block that is allocated, seen and freed.
  void brief(std::uint64_t address, trace::ShapeId shape, std::uint32_t unwritten) {
    alloc(address, shape);
    contents(address, unwritten);
    free(address);
  }
};

}  // namespace tare::core
