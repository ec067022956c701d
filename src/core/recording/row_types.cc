// Opens each module's debug files of the recorded build and asks them for all of its addresses.
#include "core/recording/row_types.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "core/symbols/debug_files.h"

namespace tare::core {
namespace {

using trace::index;

struct Asked {
  std::uint64_t address;  // in the file's own terms, inside the call
  std::size_t position;   // in the rows asked for
};

class OpenDwarf {
 public:
  explicit OpenDwarf(const DebugFiles& files) {
    ElfFile* const file = files.with_dwarf();
    if (file == nullptr) return;
    dwarf_ = dwarf_begin_elf(file->elf(), DWARF_C_READ, nullptr);
    if (dwarf_ == nullptr || files.alternate == nullptr) return;
    alternate_ = dwarf_begin_elf(files.alternate->elf(), DWARF_C_READ, nullptr);
    if (alternate_ != nullptr) dwarf_setalt(dwarf_, alternate_);
  }
  ~OpenDwarf() {
    if (dwarf_ != nullptr) dwarf_end(dwarf_);
    if (alternate_ != nullptr) dwarf_end(alternate_);
  }
  OpenDwarf(const OpenDwarf&) = delete;
  OpenDwarf& operator=(const OpenDwarf&) = delete;
  Dwarf* get() const { return dwarf_; }

 private:
  Dwarf* dwarf_ = nullptr;
  Dwarf* alternate_ = nullptr;
};

}  // namespace

std::vector<std::vector<PointedType>> row_types(const trace::Dictionary& dictionary,
                                                std::span<const trace::RowId> rows) {
  std::map<std::uint32_t, std::vector<Asked>> by_module;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (index(rows[i]) >= dictionary.rows.size()) continue;
    const std::uint64_t bits = dictionary.rows[index(rows[i])];
    const std::uint32_t module = index(trace::row_module(bits));
    const std::uint64_t address = trace::row_address(bits);
    if (module >= dictionary.modules.size() || address <= dictionary.modules[module].load_bias) continue;
    by_module[module].push_back({address - 1 - dictionary.modules[module].load_bias, i});
  }
  std::vector<std::vector<PointedType>> found(rows.size());
  for (auto& [module, asked] : by_module) {
    const DebugFiles files = find_debug_files(dictionary.modules[module], {});
    const OpenDwarf dwarf(files);
    if (dwarf.get() == nullptr) continue;
    std::sort(asked.begin(), asked.end(), [](const Asked& a, const Asked& b) { return a.address < b.address; });
    std::vector<std::uint64_t> addresses;
    addresses.reserve(asked.size());
    for (const Asked& each : asked) addresses.push_back(each.address);
    const std::vector<std::vector<PointedType>> types = pointed_types(dwarf.get(), addresses);
    for (std::size_t i = 0; i < asked.size(); ++i) found[asked[i].position] = types[i];
  }
  return found;
}

}  // namespace tare::core
