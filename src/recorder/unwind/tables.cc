// Follows the published tables and the loaded objects that they are about.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "recorder/managed/python_codes.h"
#include "recorder/unwind/modules.h"
#include "recorder/unwind/row_cache.h"
#include "recorder/unwind/unwind.h"

namespace tare::recorder {

void attach_tables(const Tables& tables) {
  attach_module_tables(tables);
  g_rows.attach(tables);
  reset_python_codes();
  attach_python_state(tables.python);
}

void make_table_room(std::uint64_t row_bytes, std::uint64_t module_bytes, std::uint64_t string_bytes) {
  g_rows.make_room(row_bytes);
  make_module_room(module_bytes, string_bytes);
}

void close_tables() {
  attach_python_state(nullptr);
  close_module_tables();
  g_rows.close();
}

namespace {
void retire(trace::ModuleId module) { g_rows.retire(module); }
}  // namespace

void modules_changed() { sweep_modules(0, module_count(), retire); }

void revalidate_modules() {
  constexpr std::uint32_t kAtOnce = 16;  // some 60 ns each: a microsecond in the life of a chunk (150 us or more)
  static std::atomic<std::uint32_t> turn{0};
  const std::uint32_t known = module_count();
  if (known == 0) return;
  sweep_modules(turn.fetch_add(kAtOnce, std::memory_order_relaxed) % known, kAtOnce, retire);
}

}  // namespace tare::recorder
