// Tables kept beside a trace, so that the second report of it costs no replay: .F.cache/NAME-vN for the trace F.
//
// A cache is only ever a saving. One that is missing, damaged, of another version or of another trace reads as nothing,
// and one that can't be written costs time next time; neither is an error to a user.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "core/columns/tables.h"
#include "trace/base/result.h"

namespace tare::core {

// Raise it when a column gets another meaning, or another file of a cache changes: old caches are then not read any
// more. Added and removed columns change the form in a cache's header by themselves.
inline constexpr std::uint32_t kTablesVersion = 25;

// The name of the tables that replay makes: written by launcher and reports, read by reports.
inline constexpr std::string_view kReplayedTables = "tables";

class TableCache {
 public:
  // The trace in its present state. It must be complete when store() is called: load() rejects tables of an incomplete
  // trace.
  explicit TableCache(std::filesystem::path trace);

  // `name`: kReplayedTables for the tables of replay; other names for tables derived from them ("frames").
  std::optional<Tables> load(std::string_view name) const;
  // Whole or not at all. An error means that neither folder was writable. Root writes beside a trace only in its own
  // folders.
  Status store(std::string_view name, const Tables& tables) const;

  // Where caches of a trace may lie, best first: beside it, and in $XDG_CACHE_HOME/tare (~/.cache/tare).
  const std::vector<std::filesystem::path>& folders() const { return folders_; }

 private:
  std::filesystem::path trace_;
  std::vector<std::filesystem::path> folders_;
};

}  // namespace tare::core
