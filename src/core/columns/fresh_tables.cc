// Keeps the largest: see fresh_tables.h.
#include "core/columns/fresh_tables.h"

#include <utility>

namespace tare::core {
namespace {

std::size_t shapes(const Tables& tables) {
  const Table* sizes = tables.find("site_sizes");
  return sizes == nullptr ? 0 : sizes->rows();
}

}  // namespace

void FreshTables::keep(const std::string& path, std::shared_ptr<const Tables> tables) {
  if (tables_ != nullptr && path_ != path && shapes(*tables_) >= shapes(*tables)) return;
  path_ = path;
  tables_ = std::move(tables);
}

}  // namespace tare::core
