// Table `amounts`: the bytes that the program reports under a path, beside the sizes of the blocks that it reported
// there.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/columns/tables.h"
#include "core/heavy_tables/report_rows.h"
#include "trace/model/dictionary.h"
#include "trace/model/ids.h"

namespace tare::core {

class Amounts {
 public:
  explicit Amounts(const trace::Dictionary& dictionary) : dictionary_(dictionary) {}

  // A block is counted once, however many reports it has: by the first that stands.
  void claim(const ReportRow& first);
  void unclaim(const ReportRow& first);
  void clear_round() { in_round_.clear(); }
  void set_amount(trace::NameId path, std::uint64_t bytes, std::uint64_t time_ns, std::uint32_t round);

  Table table() const;

 private:
  struct Claimed {
    std::uint64_t blocks = 0;
    std::uint64_t requested_bytes = 0;
    std::uint64_t usable_bytes = 0;
  };
  using ByPath = std::unordered_map<std::uint32_t, Claimed>;  // by NameId
  struct Row {
    trace::NameId path;
    std::uint64_t time_ns;
    std::uint32_t round;
    std::uint64_t reported_bytes;
    Claimed claimed;
  };

  const trace::Dictionary& dictionary_;
  ByPath in_round_;  // of malloc's blocks, as those below
  ByPath on_alloc_;
  std::vector<Row> rows_;
};

}  // namespace tare::core
