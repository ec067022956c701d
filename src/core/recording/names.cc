// Batches by module: a compilation unit is walked once for all of its addresses.
#include "core/recording/names.h"
#include "core/sites/wrappers.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

namespace tare::core {

using trace::index;

namespace {

// A stripped program still exports a handful of functions; half of a library's functions have names if it exports its
// interface.
constexpr std::size_t kFewNamed = 10;
// Names of a library with less than a twentieth of all rows aren't missed.
constexpr std::size_t kFewRows = 20;

// The recorder stands between a program and functions that call back: CPython's allocators, starts of threads.
// The name of its frames is in wrappers.def, so that no site is named by them.
constexpr const char* kRecorderFrame = "[tare]";
bool is_recorder(const trace::Module& module) { return module.path.ends_with("/libtare-record.so"); }

// As reports show a frame without a name: `nginx+0x4c12f`.
std::string place_in(const trace::Module& module, std::uint64_t address) {
  char offset[24];
  std::snprintf(offset, sizeof offset, "+%#llx", static_cast<unsigned long long>(address - module.load_bias));
  return module.path.substr(module.path.rfind('/') + 1) + offset;
}

}  // namespace

struct Names::Batch {
  const trace::Module* module = nullptr;  // null: rows in no module
  std::vector<std::size_t> positions;     // in the requested rows
  std::vector<std::uint64_t> addresses;
};

Names::Names(const trace::Dictionary& dictionary)
    : dictionary_(dictionary), symbolizer_(std::make_unique<Symbolizer>()) {}

Names::~Names() = default;

std::vector<Names::Batch> Names::by_module(std::span<const trace::RowId> rows) const {
  std::map<std::uint32_t, Batch> batches;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (index(rows[i]) >= dictionary_.rows.size() || !given(rows[i]).empty()) continue;
    const std::uint64_t bits = dictionary_.rows[index(rows[i])];
    const std::uint32_t module = index(trace::row_module(bits));
    Batch& batch = batches[module];
    if (module < dictionary_.modules.size()) batch.module = &dictionary_.modules[module];
    batch.positions.push_back(i);
    batch.addresses.push_back(trace::row_address(bits));
  }
  std::vector<Batch> list;
  list.reserve(batches.size());
  for (auto& [module, batch] : batches) list.push_back(std::move(batch));
  return list;
}

std::span<const trace::GivenFrame> Names::given(trace::RowId row) const {
  const auto [first, last] = std::ranges::equal_range(dictionary_.given_frames, row, {}, &trace::GivenFrame::row);
  return {first, last};
}

std::vector<NamedFrame> Names::frames(std::span<const trace::RowId> rows) {
  std::vector<std::vector<Frame>> found(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const trace::GivenFrame& frame : given(rows[i])) {
      found[i].push_back({frame.function, frame.function, {}, frame.file, std::nullopt, FrameKind::Inlined});
      if (frame.line != 0) found[i].back().line = frame.line;
    }
    if (!found[i].empty()) found[i].back().kind = FrameKind::Physical;
  }
  for (const Batch& batch : by_module(rows)) {
    std::vector<std::vector<Frame>> resolved(batch.positions.size());
    if (batch.module != nullptr && is_recorder(*batch.module)) {
      for (std::vector<Frame>& each : resolved)
        each.assign(1, Frame{kRecorderFrame, kRecorderFrame, {}, {}, std::nullopt});
    } else if (batch.module != nullptr) {
      resolved = symbolizer_->resolve(*batch.module, batch.addresses);
    }
    for (std::size_t i = 0; i < batch.positions.size(); ++i) {
      if (resolved[i].empty()) resolved[i].emplace_back();
      found[batch.positions[i]] = std::move(resolved[i]);
    }
  }
  std::vector<NamedFrame> frames;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t depth = 0; depth < found[i].size(); ++depth) {
      NamedFrame named{rows[i], static_cast<std::int64_t>(depth), std::move(found[i][depth]), {}, {}, {}, false};
      named.is_wrapper = is_wrapper_frame(named.frame.function, named.frame.file);
      const std::uint64_t bits = dictionary_.rows[index(rows[i])];
      const trace::ModuleId module = trace::row_module(bits);
      if (index(module) < dictionary_.modules.size()) {
        named.module = module;
        named.module_path = dictionary_.modules[index(module)].path;
        named.module_offset =
            static_cast<std::int64_t>(trace::row_address(bits) - dictionary_.modules[index(module)].load_bias);
        if (named.frame.function.empty())
          named.is_wrapper = is_wrapper(place_in(dictionary_.modules[index(module)], trace::row_address(bits)));
      }
      frames.push_back(std::move(named));
    }
  }
  return frames;
}

void Names::name_sites(SiteFinder& finder) {
  for (std::vector<trace::RowId> rows = finder.unnamed_rows(); !rows.empty(); rows = finder.unnamed_rows()) {
    std::vector<bool> named(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto frames = given(rows[i]);
      if (frames.empty()) continue;
      const std::string_view function = frames.back().function;
      finder.name(rows[i], std::span(&function, 1));
      named[i] = true;
    }
    for (const Batch& batch : by_module(rows)) {
      if (batch.module == nullptr) continue;
      const std::vector<FunctionName> names =
          is_recorder(*batch.module)
              ? std::vector(batch.addresses.size(), FunctionName{kRecorderFrame, kRecorderFrame, {}})
              : symbolizer_->function_names(*batch.module, batch.addresses);
      for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string place = names[i].function.empty() ? place_in(*batch.module, batch.addresses[i]) : "";
        const std::string_view function = place.empty() ? std::string_view(names[i].function) : place;
        const trace::RowId row = rows[batch.positions[i]];
        const auto extent = place.empty() || is_wrapper(place)
                                ? std::nullopt
                                : symbolizer_->function_extent(*batch.module, batch.addresses[i]);
        if (extent) {
          finder.place(row, {trace::row_module(dictionary_.rows[index(row)]), extent->begin}, extent->bytes);
        } else {
          finder.name(row, std::span(&function, 1));
        }
        named[batch.positions[i]] = true;
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string_view nothing;
      if (!named[i]) finder.name(rows[i], std::span(&nothing, 1));
    }
  }
}

std::vector<Names::Nameless> Names::nameless_modules() {
  std::vector<trace::RowId> rows;
  for (std::size_t row = 0; row < dictionary_.rows.size(); ++row) rows.push_back(static_cast<trace::RowId>(row));
  std::vector<Nameless> found;
  for (const Batch& batch : by_module(rows)) {
    // Not [vdso], and not the recorder's own frames.
    if (!batch.module || !batch.module->path.starts_with('/') || is_recorder(*batch.module)) continue;
    ModuleState state = symbolizer_->report(*batch.module).state;
    const bool matters = kFewRows * batch.addresses.size() >= rows.size();
    if (!matters && state != ModuleState::Replaced) continue;
    if (state == ModuleState::Names) {
      const std::vector<FunctionName> names = symbolizer_->function_names(*batch.module, batch.addresses);
      const auto known = std::count_if(names.begin(), names.end(), [](auto& name) { return !name.function.empty(); });
      if (kFewNamed * static_cast<std::size_t>(known) < names.size()) state = ModuleState::NoNames;
    }
    if (state != ModuleState::Lines && state != ModuleState::Names) found.push_back({batch.module->path, state});
  }
  return found;
}

Table Names::frames_table() {
  std::vector<trace::RowId> rows;
  rows.reserve(dictionary_.rows.size());
  for (std::size_t row = 0; row < dictionary_.rows.size(); ++row) rows.push_back(static_cast<trace::RowId>(row));
  TableBuilder table("frames");
  const auto location_id = table.column("location_id");
  const auto inline_depth = table.column("inline_depth");
  const auto function = table.column("function");
  const auto mangled = table.column("mangled");
  const auto file = table.column("file");
  const auto line = table.column("line");
  const auto module_id = table.column("module_id");
  const auto module_offset = table.column("module_offset");
  for (const NamedFrame& named : frames(rows)) {
    table.add(location_id, std::int64_t{index(named.row)});
    table.add(inline_depth, named.inline_depth);
    table.add(function, std::string_view(named.frame.function));
    table.add(mangled, std::string_view(named.frame.linkage_name));
    table.add(file, std::string_view(named.frame.file));
    table.add(line, named.frame.line ? std::optional<std::int64_t>(*named.frame.line) : std::nullopt);
    table.add(module_id, named.module ? std::optional<std::int64_t>(index(*named.module)) : std::nullopt);
    table.add(module_offset, named.module_offset);
  }
  return table.take();
}

}  // namespace tare::core
