// Contents as spool events: see content_spool.h.
#include "support/content_spool.h"

#include "support/spool_builder.h"

namespace tare::test {

using trace::ContentClass;

void write_content_spool(const std::string& path) {
  SpoolFacts facts;
  facts.flags |= trace::kSpoolContents;
  SpoolBuilder spool(path, facts);
  const std::uint32_t module = spool.add_module("/usr/bin/example", 0x400000, 0x500000);
  AllocCall call;
  call.stack = {spool.add_row(0x401000, module), spool.add_row(0x402000, module)};
  std::uint64_t stamp = 1'000'000;
  const auto next = [&stamp] { return stamp += 100; };
  const auto block = [&call](std::uint64_t address, std::uint64_t requested, std::uint64_t usable) {
    call.address = address;
    call.requested_bytes = requested;
    call.usable_bytes = usable;
    return call;
  };
  spool.alloc(0, next(), block(0x1000, 100, 104));
  spool.contents(0, kUnstamped, 0x1000, 84, ContentClass::Text);
  spool.free(0, next(), 0x1000);
  spool.alloc(0, next(), block(0x2000, 4064, 4072));
  spool.contents(0, next(), 0x2000, 4048, ContentClass::Other);
  spool.realloc(0, stamp + 10, stamp + 20, 0x2000, block(0x3000, 8000, 8008));
  spool.contents(0, next(), 0x3000, 3, ContentClass::Other, 0x77);
  spool.alloc(0, next(), block(0x4000, 32, 40));
  spool.free(0, next(), 0x3000);
  spool.free(0, next(), 0x4000);
  spool.alloc(0, next(), block(0x5000, std::uint64_t{1} << 40, std::uint64_t{1} << 40));
  spool.contents(0, next(), 0x5000, (std::uint64_t{1} << 40) - 1, ContentClass::Other);
  spool.free(0, next(), 0x5000);
  spool.end(next());
}

}  // namespace tare::test
