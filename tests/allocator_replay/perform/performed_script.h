// A script of what several threads of a made-up program did, and all of them performing it.
#pragma once

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "allocator_replay/perform/performer.h"
#include "allocator_replay/script/script_writer.h"
#include "support/spool_builder.h"
#include "support/spool_script.h"
#include "support/temp_dir.h"

namespace tare::test {

inline std::string script_of(const SpoolScript& calls, const TempDir& dir, const core::RewriteRules& rules = {}) {
  {
    SpoolBuilder spool(dir / "spool");
    play(calls, spool);
    spool.end(1'000'000'000);
  }
  auto opened = trace::open_trace(dir / "spool");
  const core::ScriptRequest request{dir / "script", rules};
  if (!opened || !core::write_call_scripts(*opened, {&request, 1})) std::abort();
  return dir / "script";
}

// Every thread of the script in one of its own, from the beginning; returns when all have ended.
inline void perform_all(perform::Stage& stage) {
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < stage.script.header().thread_count; ++i)
    threads.emplace_back([&stage, i] { perform::perform(stage, i); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tare::test
