// Fuzzes the reader of gvdb files: whatever the bytes are, all that can be reached is read, and each key that is listed
// with its whole name is found by it or by another item of that name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tare/variant/gvdb.h"

namespace {

using tare::variant::GvdbItem;
using tare::variant::GvdbTable;

void require(bool good) {
  if (!good) std::abort();
}

void read_all(const GvdbTable& table, int levels, int& items_left) {
  for (std::uint32_t i = 0; i < table.size() && items_left > 0; ++i, --items_left) {
    const GvdbItem item = table[i];
    std::string key;
    if (item.append_key(key)) {
      if (const auto found = table.find(key)) {
        std::string again;
        require(found->append_key(again) && again == key);
      }
    }
    const tare::variant::View value = item.value();
    require(item.kind() == GvdbItem::Kind::Value || value.type().text() == "()");
    static_cast<void>(value.is_normal());
    for (std::uint32_t child = 0; child < item.child_count() && child < 100; ++child) {
      const auto place = item.child(child);
      require(!place.has_value() || *place < table.size());
    }
    if (levels > 0) read_all(item.table(), levels - 1, items_left);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = tare::variant::Gvdb::parse({reinterpret_cast<const char*>(data), size});
  int items_left = 1000;
  if (file) read_all(file->root(), 3, items_left);
  return 0;
}
