// Opens a trace and answers for its tables and names; the GIL is released while the core works.
#include "bindings/recording.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "allocator_replay/script/script_writer.h"
#include "bindings/os_string.h"
#include "bindings/py_table.h"
#include "bindings/python_error.h"
#include "bindings/readable_text.h"
#include "core/columns/table_schema.h"
#include "core/drain/recording_outcome.h"
#include "core/recording/recording.h"
#include "core/tables/replay_tables.h"
#include "tare/size_classes.h"

namespace nb = nanobind;

namespace tare::bindings {
namespace {

using core::Recording;
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Calls back into Python every 20 ms; Ctrl-C is seen there. A call after each block of the trace took 2 % of a replay.
trace::ReplayProgress reporting(const Progress& progress) {
  using Clock = std::chrono::steady_clock;
  return [&progress, next = Clock::time_point()](std::uint64_t done, std::uint64_t total) mutable {
    const Clock::time_point now = Clock::now();
    if (now < next) return;
    next = now + std::chrono::milliseconds(20);
    nb::gil_scoped_acquire held;
    progress(done, total);
  };
}

Recording open(const std::string& path, std::optional<std::uint64_t> at_ns, const Progress& progress,
               const core::LaunchOutcome* outcome, bool by_thread) {
  auto opened = [&] {
    nb::gil_scoped_release released;
    return Recording::open(path,
                           {at_ns, reporting(progress), outcome ? outcome->fresh_tables.of(path) : nullptr, by_thread});
  }();
  return value_or_raise(std::move(opened));
}

Recording of_tables(const std::string& path) {
  auto made = [&] {
    nb::gil_scoped_release released;
    return Recording::of_tables(path);
  }();
  return value_or_raise(std::move(made));
}

void renew(Recording& recording, const std::string& path) {
  const Status status = [&] {
    nb::gil_scoped_release released;
    return recording.renew(path);
  }();
  if (!status) raise(status.error());
}

PyTable table(const Recording& recording, const std::string& name) {
  auto found = recording.table(name);
  if (!found) raise({ErrorKind::Internal, "the core makes no table " + name});
  return {core::weighed(std::move(found))};
}

PyTable line_table(Recording& recording, const std::string& name) {
  auto found = recording.line_table(name);
  if (!found) raise({ErrorKind::Internal, "the core folds no table " + name});
  return {core::weighed(std::move(found))};
}

PyTable banded_table(Recording& recording, const std::string& name) {
  auto found = recording.banded_table(name);
  if (!found) raise({ErrorKind::Internal, "the core joins no sizes of table " + name});
  return {core::weighed(std::move(found))};
}

PyTable table_by_site(Recording& recording, const std::string& name) {
  auto found = recording.table_by_site(name);
  if (!found) raise({ErrorKind::Internal, "the core makes no table " + name + " by site"});
  return {core::weighed(std::move(found))};
}

void find_sites(Recording& recording, std::uint32_t depth) {
  nb::gil_scoped_release released;
  recording.find_sites(depth);
}

PyTable size_classes(const Recording& recording, const std::string& model) {
  return {std::make_shared<const core::Table>(value_or_raise(recording.size_classes(model)))};
}

std::vector<std::pair<std::string_view, std::string_view>> size_models() {
  std::vector<std::pair<std::string_view, std::string_view>> models;
  models.reserve(kSizeModels.size());
  for (const SizeModel& model : kSizeModels) models.emplace_back(model.name, model.meaning);
  return models;
}

// Heap bytes of blocks of these sizes under a model, headers included; a size that no allocator serves counts as
// requested.
std::vector<std::uint64_t> slot_bytes(std::string_view model_name, const std::vector<std::uint64_t>& requested) {
  const SizeModel* model = find_size_model(model_name);
  if (model == nullptr) throw nb::value_error("no model is called so");
  std::vector<std::uint64_t> slots;
  slots.reserve(requested.size());
  for (const std::uint64_t bytes : requested)
    slots.push_back(bytes > kLargestRequest ? bytes : size_class(*model, bytes).slot_bytes);
  return slots;
}

// steps, threads, peak_requested_bytes, duration_ns, foreign_frees, reborn_blocks, calls, rewritten_blocks,
// recorded_hand_copies, hand_copies
using ScriptFacts = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                               std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;
// allocator, its file, peak_rss_bytes, spool_bytes, loaded files, warnings of the trace
using ProcessFacts = std::tuple<std::string, std::string, std::optional<std::uint64_t>, std::optional<std::uint64_t>,
                                std::vector<std::string>, std::vector<std::string>>;
// size_id, remedy, group, bytes, more, share
using ScriptRule = std::tuple<std::uint32_t, std::uint8_t, std::uint32_t, std::uint64_t, std::uint64_t, double>;

std::optional<std::uint64_t> where_known(std::uint64_t bytes) {
  return bytes == 0 ? std::nullopt : std::optional(bytes);
}

core::RewriteRules rules_of(const std::vector<ScriptRule>& told) {
  core::RewriteRules rules;
  for (const auto& [shape, remedy, group, bytes, more, share] : told) {
    if (shape >= rules.of_shape.size()) rules.of_shape.resize(shape + 1);
    rules.of_shape[shape] = {static_cast<core::Remedy>(remedy), group, bytes, more, share};
  }
  return rules;
}

std::pair<std::vector<ScriptFacts>, ProcessFacts> write_call_scripts(
    const std::string& trace_path, const std::vector<std::pair<std::string, std::vector<ScriptRule>>>& scripts,
    const Progress& progress) {
  std::vector<std::string> modules;
  std::vector<std::string> warnings;
  auto written = [&]() -> Result<std::vector<core::ScriptSummary>> {
    nb::gil_scoped_release released;
    std::vector<core::ScriptRequest> requests;
    for (const auto& [path, rules] : scripts) requests.push_back({path, rules_of(rules)});
    auto opened = trace::open_trace(trace_path);
    if (!opened) return opened.error();
    auto summaries = core::write_call_scripts(*opened, requests, reporting(progress));
    for (const trace::Module& module : opened->dictionary().modules) modules.push_back(module.path);
    warnings = opened->warnings();
    return summaries;
  }();
  std::vector<ScriptFacts> facts;
  trace::ProcessInfo process;
  for (core::ScriptSummary& each : value_or_raise(std::move(written))) {
    facts.emplace_back(each.steps, each.threads, each.peak_requested_bytes, each.duration_ns, each.foreign_frees,
                       each.reborn_blocks, each.calls, each.rewritten_blocks, each.recorded_hand_copies,
                       each.hand_copies);
    process = std::move(each.process);
  }
  return {std::move(facts),
          {core::name_of(process.allocator), process.allocator_path, where_known(process.peak_rss_bytes),
           where_known(process.spool_bytes), std::move(modules), std::move(warnings)}};
}

PyTable frames_table(Recording& recording) {
  nb::gil_scoped_release released;
  return {std::make_shared<const core::Table>(recording.names().frames_table())};
}

using FrameRow = std::tuple<std::uint32_t, std::int64_t, std::string, std::string, std::string,
                            std::optional<std::uint32_t>, std::string, std::optional<std::int64_t>, bool>;

std::vector<FrameRow> frames(Recording& recording, const std::vector<std::uint32_t>& location_ids) {
  nb::gil_scoped_release released;
  std::vector<trace::RowId> rows;
  rows.reserve(location_ids.size());
  for (const std::uint32_t row : location_ids) rows.push_back(static_cast<trace::RowId>(row));
  std::vector<FrameRow> result;
  for (const core::NamedFrame& named : recording.names().frames(rows)) {
    result.emplace_back(trace::index(named.row), named.inline_depth, readable(named.frame.function),
                        readable(named.frame.linkage_name), readable(named.frame.file), named.frame.line,
                        readable(named.module_path), named.module_offset, named.is_wrapper);
  }
  return result;
}

const char* word_for(core::ModuleState state) {
  switch (state) {
    case core::ModuleState::Replaced:
      return "replaced";
    case core::ModuleState::Missing:
      return "missing";
    case core::ModuleState::NoNames:
      return "stripped";
    default:
      return "damaged";
  }
}

std::vector<std::pair<std::string, std::string>> nameless_modules(Recording& recording) {
  nb::gil_scoped_release released;
  std::vector<std::pair<std::string, std::string>> found;
  for (const core::Names::Nameless& module : recording.names().nameless_modules()) {
    found.emplace_back(readable(module.path), word_for(module.state));
  }
  return found;
}

std::vector<std::uint32_t> stack_rows(const Recording& recording, std::uint32_t stack_id, std::size_t depth) {
  const std::vector<trace::RowId> found = recording.stack_rows(static_cast<trace::StackId>(stack_id), depth);
  std::vector<std::uint32_t> rows;
  rows.reserve(found.size());
  for (const trace::RowId row : found) rows.push_back(trace::index(row));
  return rows;
}

// line, caller, peak_bytes, total_blocks
using CallerRow = std::tuple<std::uint32_t, std::optional<std::uint32_t>, double, double>;

std::vector<CallerRow> line_callers(const Recording& recording, const std::vector<std::uint32_t>& location_ids) {
  nb::gil_scoped_release released;
  std::vector<trace::RowId> lines;
  lines.reserve(location_ids.size());
  for (const std::uint32_t row : location_ids) lines.push_back(static_cast<trace::RowId>(row));
  std::vector<CallerRow> result;
  for (const core::LineCaller& each : recording.line_callers(lines)) {
    result.emplace_back(trace::index(each.line), each.caller ? std::optional(trace::index(*each.caller)) : std::nullopt,
                        each.peak_bytes, each.total_blocks);
  }
  return result;
}

// functions_out, name, size_bytes, line
using PointedRow = std::tuple<std::uint32_t, std::string, std::uint64_t, std::uint32_t>;

std::vector<std::vector<PointedRow>> row_types(const Recording& recording,
                                               const std::vector<std::uint32_t>& location_ids) {
  nb::gil_scoped_release released;
  std::vector<trace::RowId> rows;
  rows.reserve(location_ids.size());
  for (const std::uint32_t row : location_ids) rows.push_back(static_cast<trace::RowId>(row));
  std::vector<std::vector<PointedRow>> result;
  for (const std::vector<core::PointedType>& types : recording.row_types(rows)) {
    std::vector<PointedRow>& made = result.emplace_back();
    for (const core::PointedType& type : types)
      made.emplace_back(type.functions_out, readable(type.name), type.size_bytes, type.line);
  }
  return result;
}

void list_blocks(const Recording& recording, const std::function<void(PyTable)>& sink, const Progress& progress) {
  // Exceptions of the sink must not cross the core: they are rethrown after it has returned.
  std::exception_ptr thrown;
  const core::BlockSink guarded = [&](core::Table batch) -> Status {
    nb::gil_scoped_acquire held;
    try {
      sink({std::make_shared<const core::Table>(std::move(batch))});
      return ok();
    } catch (...) {
      thrown = std::current_exception();
      return Error{ErrorKind::Internal, "stopped"};
    }
  };
  const Status status = [&] {
    nb::gil_scoped_release released;
    return recording.list_blocks(guarded, reporting(progress));
  }();
  if (thrown) std::rethrow_exception(thrown);
  if (!status) raise(status.error());
}

std::pair<std::vector<PyTable>, std::vector<std::string>> walk_for_tables(
    const std::function<Result<Recording::ProgramTables>()>& walk) {
  auto made = [&] {
    nb::gil_scoped_release released;
    return walk();
  }();
  Recording::ProgramTables found = value_or_raise(std::move(made));
  std::vector<PyTable> tables;
  for (auto& table : found.tables) tables.push_back({core::weighed(std::move(table))});
  return {std::move(tables), std::move(found.warnings)};
}

Recording::DetailLevel detail_of(bool by_line) {
  return by_line ? Recording::DetailLevel::Line : Recording::DetailLevel::Stack;
}

std::vector<std::uint32_t> leaking_stacks(const Recording& recording) {
  std::vector<std::uint32_t> numbers;
  // Warnings about damage come from the tables.
  if (const auto stacks = recording.leaking_stacks()) {
    for (const trace::StackId stack : *stacks) numbers.push_back(trace::index(stack));
  }
  return numbers;
}

}  // namespace

void bind_recording(nb::module_& module) {
  nb::class_<Recording>(module, "Recording")
      .def_prop_ro("warnings", [](const Recording& recording) { return recording.warnings(); })
      .def("renew", renew, nb::arg("path"))
      .def("table", table, nb::arg("name"))
      .def("line_table", line_table, nb::arg("name"))
      .def("banded_table", banded_table, nb::arg("name"))
      .def("table_by_site", table_by_site, nb::arg("name"))
      .def("find_sites", find_sites, nb::arg("depth"))
      .def_prop_ro("size_model",
                   [](const Recording& recording) {
                     const SizeModel* const model = recording.size_model();
                     return model == nullptr ? std::string_view() : model->name;
                   })
      .def("size_classes", size_classes, nb::arg("model"))
      .def("frames_table", frames_table)
      .def("frames", frames, nb::arg("location_ids"))
      .def("nameless_modules", nameless_modules)
      .def("stack_rows", stack_rows, nb::arg("stack_id"), nb::arg("depth"))
      .def("line_callers", line_callers, nb::arg("location_ids"))
      .def("row_types", row_types, nb::arg("location_ids"))
      .def(
          "program_tables",
          [](const Recording& recording, std::optional<std::uint64_t> at_ns, std::optional<std::uint64_t> reports,
             const Progress& progress) {
            return walk_for_tables([&] { return recording.program_tables({at_ns, reports}, reporting(progress)); });
          },
          nb::arg("at_ns").none(), nb::arg("reports").none(), nb::arg("progress"))
      .def(
          "history_tables",
          [](const Recording& recording, const Progress& progress) {
            return walk_for_tables([&] { return recording.history_tables(reporting(progress)); });
          },
          nb::arg("progress"))
      .def(
          "life_tables",
          [](const Recording& recording, const Progress& progress) {
            return walk_for_tables([&] { return recording.life_tables(reporting(progress)); });
          },
          nb::arg("progress"))
      .def(
          "thread_tables",
          [](const Recording& recording, std::optional<std::uint64_t> at_ns, const Progress& progress) {
            return walk_for_tables([&] { return recording.thread_tables(at_ns, reporting(progress)); });
          },
          nb::arg("at_ns").none(), nb::arg("progress"))
      .def(
          "snapshot_tables",
          [](Recording& recording, bool by_line, const std::vector<std::uint32_t>& suppressed) {
            std::vector<trace::StackId> stacks;
            for (const std::uint32_t number : suppressed) stacks.push_back(trace::StackId{number});
            return walk_for_tables([&] { return recording.snapshot_tables(detail_of(by_line), stacks); });
          },
          nb::arg("by_line"), nb::arg("suppressed"))
      .def("leaking_stacks", leaking_stacks)
      .def(
          "twin_tables",
          [](Recording& recording, bool by_line, const Progress& progress) {
            return walk_for_tables([&] { return recording.twin_tables(detail_of(by_line), reporting(progress)); });
          },
          nb::arg("by_line"), nb::arg("progress"))
      .def("list_blocks", list_blocks, nb::arg("sink"), nb::arg("progress"));
  module.def("open", open, nb::arg("path"), nb::arg("at_ns").none(), nb::arg("progress"),
             nb::arg("outcome").none() = nb::none(), nb::arg("by_thread") = false);
  module.def("of_tables", of_tables, nb::arg("path"));
  module.def("size_models", size_models);
  module.def("write_call_scripts", write_call_scripts, nb::arg("trace"), nb::arg("scripts"), nb::arg("progress"));
  module.def("slot_bytes", slot_bytes, nb::arg("model"), nb::arg("requested_bytes"));
}

}  // namespace tare::bindings
