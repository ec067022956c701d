// The report of a cage. Separate, so that programs without reports aren't linked with reporters.
#include "lib/cage/system_pages.h"
#include "tare/cage.h"
#include "tare/memory_reporter.h"

namespace tare::inline TARE_ABI {

void Cage::report(ReportSink& sink) const {
  if (books_ == nullptr) return;
  const CageUse now = use();
  sink.non_heap("books", system_pages::resident_bytes(reinterpret_cast<std::byte*>(books_), now.books_bytes),
                "which pages of the cage are free");
  sink.non_heap("kept", now.kept_bytes, "free pages that are kept for the next run");
  sink.other_bytes("used", now.used_bytes, "runs that are handed out, resident or not");
  sink.other_bytes("committed", now.committed_bytes, "what is accessible, resident or not");
  sink.other_bytes("reserved", now.reserved_bytes, "addresses");
  sink.other_bytes("largest-free", now.largest_free_bytes, "the longest run that can be had");
}

}  // namespace tare::inline TARE_ABI
