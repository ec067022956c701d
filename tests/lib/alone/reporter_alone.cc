// A program with reporters and nothing else of the library.
#include <cstdlib>

#include "tare/memory_reporter.h"
#include "tare/memory_snapshot.h"

int main() {
  tare::ReporterRegistry registry;
  void* block = std::malloc(100);
  const tare::ReporterHandle handle =
      registry.add("explicit/alone", [block](tare::ReportSink& sink) { sink.block("", block, "the only block"); });
  const tare::MemorySnapshot snapshot = registry.collect();
  std::free(block);
  return snapshot.amount("explicit/alone") >= 100 ? 0 : 1;
}
