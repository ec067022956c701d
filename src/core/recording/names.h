// Names for the rows of a recording: asked of the symbolizer a module at a time, only for rows that someone wants to
// see.
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
};

class Names {
 public:
  // The dictionary must outlive the Names.
  explicit Names(const trace::Dictionary& dictionary);
  ~Names();

  // In the order of `rows`, innermost first within a row; at least one a row. Rows that don't exist are left out.
  std::vector<NamedFrame> frames(std::span<const trace::RowId> rows);

  // Tells the finder the functions it asks for, until it knows all sites. ELF symbols decide: they are what the
  // physical frame has, which alone can make a row a caller, and cost a tenth of reading DWARF.
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

  // What another profiler called the row's functions; empty: nothing.
  std::span<const trace::GivenFrame> given(trace::RowId row) const;

  const trace::Dictionary& dictionary_;
  std::unique_ptr<Symbolizer> symbolizer_;
};

}  // namespace tare::core
