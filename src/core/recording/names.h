// Names for the rows of a recording, resolved a module at a time, and only for rows that are shown.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/columns/tables.h"
#include "core/sites/sites.h"
#include "core/symbols/symbolizer.h"
#include "trace/model/dictionary.h"

namespace tare::core {

// One function at a return address; empty strings and nullopt: not known.
struct NamedFrame {
  trace::RowId row;
  std::int64_t inline_depth;  // 0: innermost
  Frame frame;
  std::string module_path;
  std::optional<trace::ModuleId> module;
  std::optional<std::int64_t> module_offset;
  bool is_wrapper = false;  // allocates for its caller: see core/sites/wrappers.h
};

class Names {
 public:
  // The dictionary must outlive the Names.
  explicit Names(const trace::Dictionary& dictionary);
  ~Names();

  // In the order of `rows`, innermost first within a row; at least one a row. Rows that don't exist are left out.
  std::vector<NamedFrame> frames(std::span<const trace::RowId> rows);

  // Passes the functions of the rows that the finder needs, until all sites are known. Uses ELF symbols: they name the
  // physical frame, which alone can make a row a caller, and cost a tenth of reading DWARF.
  void name_sites(SiteFinder& finder);

  // A module that many rows lie in, less than a tenth of which have names: Replaced (that matters even for few),
  // Missing, Damaged or NoNames.
  struct Nameless {
    std::string path;
    ModuleState state;
  };
  std::vector<Nameless> nameless_modules();

  // Table `frames` of all rows.
  Table frames_table();

 private:
  struct Batch;
  std::vector<Batch> by_module(std::span<const trace::RowId> rows) const;

  // The row's functions as another profiler named them; empty: none.
  std::span<const trace::GivenFrame> given(trace::RowId row) const;

  const trace::Dictionary& dictionary_;
  std::unique_ptr<Symbolizer> symbolizer_;
};

}  // namespace tare::core
