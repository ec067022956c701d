// The report of a table. Separate, so that programs without reports aren't linked with reporters.
#include "lib/atoms/table_blocks.h"
#include "tare/atom_table.h"
#include "tare/memory_reporter.h"

namespace tare::inline TARE_ABI {

void AtomTable::report(ReportSink& sink) const {
  if (books_ == nullptr) return;
  const AtomTableUse now = use();
  sink.non_heap("atoms/handed-out", now.handed_out_bytes, "atoms whose characters others were given to hold");
  sink.non_heap("atoms/unshared", now.unshared_bytes, "atoms whose characters nobody else was given");
  sink.non_heap("slack/free", now.free_bytes, "blocks of freed atoms");
  sink.non_heap("slack/unfilled", now.unfilled_bytes, "slabs: what isn't used yet, and their headers");
  sink.non_heap("table/pages", now.table_bytes - now.malloc_bytes, "large hash tables");
  struct Sum {
    SizeOf size_of;
    std::size_t bytes = 0;
  } sum{sink.size_of("table/heap")};
  const auto add = [](void* context, const void* block) {
    auto* to = static_cast<Sum*>(context);
    to->bytes += to->size_of(block);
  };
  visit_malloced(*books_, add, &sum);
  sink.heap("table/heap", sum.bytes, "small hash tables, and the table itself");
  sink.other_bytes("static", now.static_bytes, "atoms in read-only memory");
  sink.count("used", now.used_atoms, "dynamic atoms that somebody holds");
  sink.count("unused", now.unused_atoms, "dynamic atoms that the next gc() frees");
}

}  // namespace tare::inline TARE_ABI
