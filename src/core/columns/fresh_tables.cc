// One slot: see fresh_tables.h.
#include "core/columns/fresh_tables.h"

#include <mutex>
#include <utility>

namespace tare::core::fresh_tables {
namespace {

struct Slot {
  std::mutex mutex;
  std::string path;
  std::shared_ptr<const Tables> tables;
};

Slot& slot() {
  static Slot one;
  return one;
}

std::size_t shapes(const Tables& tables) {
  const Table* sizes = tables.find("site_sizes");
  return sizes == nullptr ? 0 : sizes->rows();
}

}  // namespace

void keep(const std::string& path, std::shared_ptr<const Tables> tables) {
  Slot& kept = slot();
  const std::lock_guard<std::mutex> lock(kept.mutex);
  if (kept.tables != nullptr && kept.path != path && shapes(*kept.tables) >= shapes(*tables)) return;
  kept.path = path;
  kept.tables = std::move(tables);
}

std::shared_ptr<const Tables> take(const std::string& path) {
  Slot& kept = slot();
  const std::lock_guard<std::mutex> lock(kept.mutex);
  if (kept.path != path) return nullptr;
  return std::exchange(kept.tables, nullptr);
}

}  // namespace tare::core::fresh_tables
