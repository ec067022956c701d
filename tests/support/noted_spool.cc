// Reports of a program as spool events: see noted_spool.h.
#include "support/noted_spool.h"

#include "support/spool_builder.h"
#include "trace/spool/program_note.h"

namespace tare::test {

using trace::Op;
using trace::pool_word;

void write_noted_spool(const std::string& path) {
  SpoolBuilder spool(path);
  const std::uint32_t module = spool.add_module("/usr/bin/example", 0x400000, 0x500000);
  const std::vector<std::uint32_t> stack = {spool.add_row(0x401000, module), spool.add_row(0x402000, module)};
  std::uint64_t stamp = 1'000'000;
  const auto next = [&stamp] { return stamp += 100; };
  AllocCall call;
  call.address = 0x1000;
  call.requested_bytes = 32;
  call.usable_bytes = 40;
  call.stack = stack;
  spool.alloc(0, next(), call);
  spool.named(0, next(), Op::Report, 0x1000, "explicit/a", trace::NamedWord::kOnAlloc);
  spool.named(0, next(), Op::Report, 0x2000, "explicit/b");
  spool.note(0, next(), Op::ClearReports, 0);
  spool.named(0, next(), Op::PoolCreate, pool_word(7, 0), "cells");
  spool.pool(0, next(), Op::PoolGrow, pool_word(7, 0x10000), 4096, stack);
  spool.pool(0, next(), Op::PoolAlloc, pool_word(7, 0x10000), 64, stack);
  spool.pool(0, next(), Op::PoolAlloc, pool_word(7, 0x10040), 64, stack);
  spool.note(0, next(), Op::PoolFree, pool_word(7, 0x10000));
  spool.note(0, next(), Op::PoolReset, pool_word(7, 0));
  spool.note(0, next(), Op::PoolShrink, pool_word(7, 0x10000));
  spool.note(0, next(), Op::PoolDestroy, pool_word(7, 0));
  spool.pool(0, next(), Op::ReportSite, 0x1000, 0, stack);
  spool.named(0, next(), Op::Report, 0x1000, "explicit/a");
  const std::uint64_t aligned = std::uint64_t{6} << trace::W1::kAlignShift |
                                static_cast<std::uint64_t>(trace::AllocApi::AlignedAlloc) << trace::W1::kApiShift;
  spool.pool(0, next(), Op::FailedRequest, aligned, std::uint64_t{1} << 40, stack);
  spool.end(next());
}

}  // namespace tare::test
