// Table `reports`: the program's reports about its blocks, and which of them are valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/columns/tables.h"
#include "core/heavy_tables/claimed.h"
#include "trace/model/dictionary.h"
#include "trace/model/ids.h"

namespace tare::core {

struct ReportRow {
  std::uint64_t address;
  std::uint64_t time_ns;
  std::optional<std::uint64_t> block;
  std::optional<std::uint64_t> pool_block;
  std::uint64_t requested = 0;
  std::uint64_t usable = 0;
  double weight = 1;
  trace::NameId path;
  std::uint32_t round;
  std::uint32_t nth = 1;
  std::uint16_t thread;
  std::uint8_t on_alloc;
  trace::StackId stack{};  // of the report; empty if the recorder has none
  std::size_t before = 0;  // the block's report before this one, as a row, from 1
};

// The reports of one block.
struct BlockReports {
  std::size_t last = 0;             // the newest of all, as a row, from 1
  std::uint32_t round = 0;          // of in_round
  std::uint32_t in_round = 0;       // earlier ones are cleared
  std::uint32_t from_on_alloc = 0;  // these stay
};

class ReportRows {
 public:
  std::size_t size() const { return rows_.size(); }
  const ReportRow& operator[](std::size_t at) const { return rows_[at]; }
  std::uint32_t round() const { return round_; }
  // Reports made in rounds become invalid.
  void clear_round() { ++round_; }

  // Makes `row`, which add() comes next with, the newest of a block's reports.
  void link(ReportRow& row, BlockReports& of) const;
  void add(const ReportRow& row) { rows_.push_back(row); }

  bool stands(const ReportRow& row) const { return row.on_alloc != 0 || row.round == round_; }
  bool any_stands(const BlockReports& of) const {
    return of.from_on_alloc != 0 || (of.round == round_ && of.in_round != 0);
  }
  const ReportRow* first_standing(const BlockReports& of) const;  // null: none stands
  Claims claims_of(const BlockReports& of) const;

  // `is_live(row)`: the block that it is of, if any, is there.
  Table table(const trace::Dictionary& dictionary, const std::function<bool(const ReportRow& row)>& is_live) const;

 private:
  std::uint32_t round_ = 0;
  std::vector<ReportRow> rows_;
};

}  // namespace tare::core
