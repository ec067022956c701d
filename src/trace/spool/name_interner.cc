// Interns names by their contents, and by their positions once they were read: see name_interner.h.
#include "trace/spool/name_interner.h"

#include <utility>

#include "trace/spool/program_note.h"

namespace tare::trace {

NameInterner::NameInterner(Dictionary& dictionary, NameSource source)
    : dictionary_(dictionary), source_(std::move(source)) {
  for (std::size_t id = 0; id < dictionary_.names.size(); ++id) {
    by_name_.emplace(dictionary_.names[id], NameId{static_cast<std::uint32_t>(id)});
  }
}

NameId NameInterner::find(StringRef place) {
  const std::uint64_t key = std::uint64_t{place.offset} << 32 | place.length;
  if (const auto known = by_place_.find(key); known != by_place_.end()) return known->second;
  if (!source_ || place.length > kMaxNameBytes || by_place_.size() >= kMaxNames) return kNoName;
  std::string name = source_(place);
  if (name.size() != place.length) return kNoName;
  const auto [at, is_new] =
      by_name_.try_emplace(std::move(name), NameId{static_cast<std::uint32_t>(dictionary_.names.size())});
  if (is_new) dictionary_.names.push_back(at->first);
  by_place_.emplace(key, at->second);
  return at->second;
}

}  // namespace tare::trace
