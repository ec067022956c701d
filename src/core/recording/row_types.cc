// Searches each module's debug files of the recorded build for all of its addresses, and opens them only for new ones.
#include "core/recording/row_types.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "core/allocated_types/pointed_cache.h"
#include "core/symbols/cache_file.h"
#include "core/symbols/debug_files.h"

namespace tare::core {
namespace {

using trace::index;

namespace fs = std::filesystem;

struct Asked {
  std::uint64_t address;  // in the file's own terms, inside the call
  std::size_t position;   // in the requested rows
};

class OpenDwarf {
 public:
  explicit OpenDwarf(const DebugFiles& files) {
    ElfFile* const file = files.with_dwarf();
    if (file == nullptr || !file->hide_unused_debug_sections(DebugUse::Everything)) return;
    dwarf_ = dwarf_begin_elf(file->elf(), DWARF_C_READ, nullptr);
    if (dwarf_ == nullptr || files.alternate == nullptr) return;
    if (!files.alternate->hide_unused_debug_sections(DebugUse::Everything)) return;
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

// Adds those of these (ascending) addresses to `known` that are missing. False: there's no debug information.
bool look_up(const DebugFiles& files, const std::vector<Asked>& asked, PointedByAddress& known) {
  std::vector<std::uint64_t> missing;
  for (const Asked& each : asked) {
    const bool is_again = !missing.empty() && missing.back() == each.address;
    if (!is_again && !known.contains(each.address)) missing.push_back(each.address);
  }
  if (missing.empty()) return true;
  const OpenDwarf dwarf(files);
  if (dwarf.get() == nullptr) return false;
  std::vector<std::vector<PointedType>> types = pointed_types(dwarf.get(), missing);
  for (std::size_t i = 0; i < missing.size(); ++i) known[missing[i]] = std::move(types[i]);
  return true;
}

}  // namespace

std::vector<std::vector<PointedType>> row_types(const trace::Dictionary& dictionary, std::span<const trace::RowId> rows,
                                                const fs::path& cache_dir) {
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
    const trace::Module& recorded = dictionary.modules[module];
    const DebugFiles files = find_debug_files(recorded, {});
    const std::string fingerprint = files.fingerprint();
    const bool is_kept = !cache_dir.empty() && !recorded.build_id.empty();
    const fs::path file = is_kept ? cache_dir / (to_hex(recorded.build_id) + ".pointed") : fs::path();
    PointedByAddress known;
    if (const auto bytes = is_kept ? read_cache_file(file) : std::nullopt)
      known = decode_pointed(fingerprint, *bytes).value_or(PointedByAddress());
    const std::size_t known_before = known.size();
    std::sort(asked.begin(), asked.end(), [](const Asked& a, const Asked& b) { return a.address < b.address; });
    if (!look_up(files, asked, known)) continue;
    for (const Asked& each : asked) found[each.position] = known[each.address];
    if (is_kept && known.size() != known_before) replace_cache_file(file, encode_pointed(fingerprint, known));
  }
  return found;
}

}  // namespace tare::core
