// tare._core: launch, open, and the tables of a recording, as Python sees them (python/tare/_core.pyi). Converts and
// calls.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrow_stream.h"
#include "bindings/imports.h"
#include "bindings/layouts.h"
#include "bindings/os_string.h"
#include "bindings/py_table.h"
#include "bindings/python_error.h"
#include "bindings/readable_text.h"
#include "bindings/recording.h"
#include "bindings/stacks.h"
#include "bindings/table_text.h"
#include "bindings/variant.h"
#include "bindings/vtables.h"
#include "bindings/watch.h"
#include "core/columns/table_schema.h"
#include "core/launcher/launcher.h"
#include "core/process_memory/mapped_file.h"
#include "core/process_memory/program_root.h"
#include "core/recording/members.h"
#include "tare/version.h"
#include "trace/file/container.h"
#include "trace/model/process_info.h"
#include "trace/open/leftover_folders.h"
#include "trace/spool/spool_layout.h"

namespace nb = nanobind;

namespace tare::bindings {
namespace {

using core::Table;
using SharedTable = std::shared_ptr<const Table>;

nb::object capsule(std::unique_ptr<ArrowArrayStream> stream) {
  // The consumer moves the stream's contents out and clears `release`; otherwise they end with the capsule.
  return nb::steal(PyCapsule_New(stream.release(), "arrow_array_stream", [](PyObject* object) {
    auto* left = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(object, "arrow_array_stream"));
    if (left->release != nullptr) left->release(left);
    delete left;
  }));
}

nb::object table_stream(const PyTable& held, const nb::object&) {
  SharedTable rest = held.table;
  return capsule(arrow_stream(held.table, [rest]() mutable { return std::exchange(rest, nullptr); }));
}

const char* sql_type(core::ColumnType type) {
  switch (type) {
    case core::ColumnType::Int64:
      return "BIGINT";
    case core::ColumnType::Double:
      return "DOUBLE";
    case core::ColumnType::String:
      return "VARCHAR";
  }
  return "";
}

std::vector<std::pair<std::string, std::string>> columns_of(const PyTable& held) {
  std::vector<std::pair<std::string, std::string>> columns;
  for (const core::Column& column : held.table->columns) columns.emplace_back(column.name, sql_type(column.type));
  return columns;
}

nb::dict row_of(const PyTable& held, std::size_t number) {
  if (number >= held.table->rows())
    raise({ErrorKind::Internal, "table " + held.table->name + " has no row " + std::to_string(number)});
  nb::dict row;
  for (const core::Column& column : held.table->columns) {
    nb::object value = nb::none();
    if (!column.is_null(number)) {
      value = column.type == core::ColumnType::Int64    ? nb::object(nb::int_(column.ints[number]))
              : column.type == core::ColumnType::Double ? nb::object(nb::float_(column.doubles[number]))
                                                        : nb::object(nb::str(readable(column.text(number)).c_str()));
    }
    row[column.name.c_str()] = value;
  }
  return row;
}

nb::list values_of(const PyTable& held, const std::string& name) {
  const core::Column* const column = held.table->find(name);
  if (column == nullptr) raise({ErrorKind::Internal, "table " + held.table->name + " has no column " + name});
  nb::list values;
  if (column->type == core::ColumnType::String) {
    std::vector<nb::object> words;
    for (const std::string& word : column->words) words.push_back(nb::str(readable(word).c_str()));
    for (std::size_t row = 0; row < column->size(); ++row) {
      values.append(column->is_null(row) ? nb::none() : words[static_cast<std::size_t>(column->codes[row])]);
    }
    return values;
  }
  for (std::size_t row = 0; row < column->size(); ++row) {
    if (column->is_null(row)) {
      values.append(nb::none());
    } else if (column->type == core::ColumnType::Int64) {
      values.append(nb::int_(column->ints[row]));
    } else {
      values.append(nb::float_(column->doubles[row]));
    }
  }
  return values;
}

core::TakeSnapshots snapshots_of(bool taken, bool contents_recorded) {
  if (!taken) return core::TakeSnapshots::OnRequest;
  return contents_recorded ? core::TakeSnapshots::NearPeaksAndExit : core::TakeSnapshots::PeaksAndExit;
}

// A SIGINT that Python hasn't acted on yet raises its exception in this call. The launcher would never see it.
std::function<bool()> asking(const std::function<bool()>& interrupted) {
  return [&interrupted] {
    nb::gil_scoped_acquire held;
    try {
      return interrupted();
    } catch (const nb::python_error&) {
      return true;
    }
  };
}

using Budget = std::tuple<double, std::uint64_t, std::uint64_t>;  // CPU share, bytes of memory, bytes on disk

core::SamplingBudget budget_of(const Budget& budget) {
  return {std::get<0>(budget), std::get<1>(budget), std::get<2>(budget)};
}

core::LaunchOutcome run(
    std::vector<std::string> command, std::string output, std::string recorder_library, std::uint64_t sample_bytes,
    const Budget& budget, bool wait_for_all, bool record_environment, bool record_free_stacks, bool record_contents,
    bool take_snapshots, bool summarize, bool start_paused, int snapshot_signal, std::uint64_t max_segment_bytes,
    std::uint32_t keep_segments, const std::function<bool()>& interrupted, const nb::bytes& allocators,
    const std::function<void(std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t)>& progress) {
  core::LaunchOptions options;
  options.command = std::move(command);
  options.output = std::move(output);
  options.recorder_library = std::move(recorder_library);
  options.sample_bytes = sample_bytes;
  options.budget = budget_of(budget);
  options.wait_for = wait_for_all ? core::WaitFor::AllProcesses : core::WaitFor::FirstProcess;
  options.environment = record_environment ? core::RecordEnvironment::Yes : core::RecordEnvironment::No;
  options.free_stacks = record_free_stacks ? core::RecordFreeStacks::Yes : core::RecordFreeStacks::No;
  options.contents = record_contents ? core::RecordContents::Yes : core::RecordContents::No;
  options.snapshots = snapshots_of(take_snapshots, record_contents);
  options.summarize = summarize ? core::Summarize::WhileRecording : core::Summarize::No;
  options.asleep = start_paused ? core::StartAsleep::Yes : core::StartAsleep::No;
  options.snapshot_signal = snapshot_signal;
  options.segments = {max_segment_bytes, keep_segments};
  options.interrupted = asking(interrupted);
  options.allocators.assign(allocators.c_str(), allocators.size());
  core::ProgressCallback report;
  if (progress) {
    report = [&progress](const core::LaunchProgress& now) {
      nb::gil_scoped_acquire held;
      progress(now.processes_recorded, now.processes_running, now.events, now.file_bytes);
    };
  }
  auto outcome = [&] {
    nb::gil_scoped_release released;
    return core::launch(options, report);
  }();
  return value_or_raise(std::move(outcome));
}

core::LaunchOutcome attach(int pid, std::string program, std::string output, std::string recorder_library,
                           std::uint64_t sample_bytes, const Budget& budget, bool record_free_stacks,
                           bool record_contents, bool take_snapshots, bool summarize, std::uint64_t max_segment_bytes,
                           std::uint32_t keep_segments, const std::function<bool()>& interrupted, double seconds) {
  core::AttachOptions options;
  options.pid = pid;
  options.program = std::move(program);
  options.for_ns = static_cast<std::uint64_t>(seconds * 1e9);
  options.launch.output = std::move(output);
  options.launch.recorder_library = std::move(recorder_library);
  options.launch.sample_bytes = sample_bytes;
  options.launch.budget = budget_of(budget);
  options.launch.free_stacks = record_free_stacks ? core::RecordFreeStacks::Yes : core::RecordFreeStacks::No;
  options.launch.contents = record_contents ? core::RecordContents::Yes : core::RecordContents::No;
  options.launch.snapshots = snapshots_of(take_snapshots, record_contents);
  options.launch.summarize = summarize ? core::Summarize::WhileRecording : core::Summarize::No;
  options.launch.segments = {max_segment_bytes, keep_segments};
  options.launch.interrupted = asking(interrupted);
  auto outcome = [&] {
    nb::gil_scoped_release released;
    return core::attach(options);
  }();
  return value_or_raise(std::move(outcome));
}

nb::dict errors() {
  nb::dict kinds;
#define TARE_ERROR(id, status, meaning) kinds[#id] = nb::make_tuple(status, meaning);
#include "trace/base/errors.def"
  return kinds;
}

void bind_leftovers(nb::module_& module) {
  nb::class_<trace::LeftoverFolder>(module, "LeftoverFolder")
      .def_ro("path", &trace::LeftoverFolder::path)
      .def_ro("bytes", &trace::LeftoverFolder::bytes)
      .def_ro("spools", &trace::LeftoverFolder::spools)
      .def_ro("launcher_lives", &trace::LeftoverFolder::launcher_lives)
      .def_prop_ro("users", [](const trace::LeftoverFolder& folder) {
        return core::MappedFile(folder.path + "/" + trace::kControlName).processes();
      });
  module.def(
      "other_root", [](pid_t pid) { return core::has_other_root(pid) ? core::root_of(pid) : std::string(); },
      nb::arg("pid"));
  module.def("find_leftover_folders", trace::find_leftover_folders, nb::arg("parents"));
  module.def("remove_leftover_folder", trace::remove_leftover_folder, nb::arg("path"));
}

// The fields of a watch.oom.Verdict.
nb::object memory_kill_of(const trace::ProcessInfo& info) {
  if (!info.memory_kill) return nb::none();
  const trace::MemoryKill& kill = *info.memory_kill;
  return nb::make_tuple(trace::certainty_of(kill), readable(kill.group), kill.kills_before, kill.kills_after,
                        kill.deaths, kill.limit_bytes);
}

// Nothing where `path` is no container.
std::optional<core::MemberList> list_members(const std::string& path) {
  if (!trace::is_container(path)) return std::nullopt;
  auto list = [&] {
    nb::gil_scoped_release released;
    return core::list_members(path);
  }();
  return value_or_raise(std::move(list));
}

void bind_containers(nb::module_& module) {
  using core::Member;
  nb::class_<Member>(module, "Member")
      .def_ro("path", &Member::path)
      .def_ro("name", &Member::name)
      .def_prop_ro("program",
                   [](const Member& member) { return member.info.exe.substr(member.info.exe.rfind('/') + 1); })
      .def_prop_ro("command", [](const Member& member) { return member.info.command_line; })
      .def_prop_ro("pid", [](const Member& member) { return member.info.pid; })
      .def_prop_ro("parent_pid", [](const Member& member) { return member.info.parent_pid; })
      .def_prop_ro("is_forked", [](const Member& member) { return member.info.fork.has_value(); })
      .def_prop_ro("was_replaced", [](const Member& member) { return member.info.replaced_by_exec; })
      .def_prop_ro("wait_status", [](const Member& member) { return member.info.wait_status; })
      .def_prop_ro("memory_kill", [](const Member& member) { return memory_kill_of(member.info); })
      .def_ro("events", &Member::events)
      .def_ro("bytes", &Member::bytes);
  nb::class_<core::MemberList>(module, "MemberList")
      .def_ro("members", &core::MemberList::members)
      .def_ro("warnings", &core::MemberList::warnings);
  module.def("list_members", list_members, nb::arg("path"));
}

const char* sql_type(core::ColumnSchema column) {
  switch (column.type) {
    case core::SchemaType::Int:
      return "BIGINT";
    case core::SchemaType::Text:
      return "VARCHAR";
    default:
      return "DOUBLE";
  }
}

// (name, meaning of a row, note, needs its own walk, columns: (name, type in SQL, meaning)) by table.
nb::list table_schemas() {
  nb::list tables;
  for (const core::TableSchema& table : core::table_schemas()) {
    nb::list columns;
    for (const core::ColumnSchema& column : table.columns) {
      columns.append(nb::make_tuple(column.name, sql_type(column), column.meaning));
    }
    tables.append(
        nb::make_tuple(table.name, table.row, table.note, table.pass == core::TablePass::OwnWalk, nb::tuple(columns)));
  }
  return tables;
}

void bind_tables(nb::module_& module) {
  module.def("table_schemas", table_schemas);
  nb::class_<PyTable>(module, "Table")
      .def_prop_ro("name", [](const PyTable& held) { return held.table->name; })
      .def_prop_ro("rows", [](const PyTable& held) { return held.table->rows(); })
      .def_prop_ro("columns", columns_of)
      .def("row", row_of, nb::arg("number"))
      .def("values", values_of, nb::arg("column"))
      .def("write_text", [](const PyTable& held) { return value_or_raise(write_text(*held.table)); })
      .def("__arrow_c_stream__", table_stream, nb::arg("requested_schema") = nb::none());
}

void bind_launch(nb::module_& module) {
  nb::class_<core::RecordedImage>(module, "Image")
      .def_ro("path", &core::RecordedImage::path)
      .def_prop_ro(
          "program",
          [](const core::RecordedImage& image) { return image.info.exe.substr(image.info.exe.rfind('/') + 1); })
      .def_prop_ro("pid", [](const core::RecordedImage& image) { return image.info.pid; })
      .def_ro("events", &core::RecordedImage::events)
      .def_ro("file_bytes", &core::RecordedImage::file_bytes)
      .def_ro("earlier_segments", &core::RecordedImage::earlier_segments)
      .def_prop_ro("memory_kill", [](const core::RecordedImage& image) { return memory_kill_of(image.info); });
  module.def("memory_kill_certainty", trace::memory_kill_certainty, nb::arg("of_machine"), nb::arg("direct"),
             nb::arg("kills"), nb::arg("deaths"));
  nb::class_<core::LaunchOutcome>(module, "Outcome")
      .def_ro("wait_status", &core::LaunchOutcome::wait_status)
      .def_prop_ro("short_processes",
                   [](const core::LaunchOutcome& outcome) {
                     const core::ShortProcesses& all = outcome.short_processes;
                     return nb::make_tuple(all.path, all.traces, all.file_bytes);
                   })
      .def_ro("images", &core::LaunchOutcome::images)
      .def_ro("warnings", &core::LaunchOutcome::warnings)
      .def_prop_ro("failure", [](const core::LaunchOutcome& outcome) {
        return outcome.failure ? outcome.failure->message : std::string();
      });
  module.def("run", run, nb::arg("command"), nb::kw_only(), nb::arg("output"), nb::arg("recorder_library"),
             nb::arg("sample_bytes"), nb::arg("budget"), nb::arg("wait_for_all"), nb::arg("record_environment"),
             nb::arg("record_free_stacks"), nb::arg("record_contents"), nb::arg("take_snapshots"), nb::arg("summarize"),
             nb::arg("start_paused"), nb::arg("snapshot_signal"), nb::arg("max_segment_bytes"),
             nb::arg("keep_segments"), nb::arg("interrupted"), nb::arg("allocators") = nb::bytes("", 0),
             nb::arg("progress").none());
  module.def("attach", attach, nb::arg("pid"), nb::kw_only(), nb::arg("program"), nb::arg("output"),
             nb::arg("recorder_library"), nb::arg("sample_bytes"), nb::arg("budget"), nb::arg("record_free_stacks"),
             nb::arg("record_contents"), nb::arg("take_snapshots"), nb::arg("summarize"), nb::arg("max_segment_bytes"),
             nb::arg("keep_segments"), nb::arg("interrupted"), nb::arg("seconds"));
}

}  // namespace
}  // namespace tare::bindings

NB_MODULE(_core, module) {
  module.attr("ERRORS") = tare::bindings::errors();
  module.attr("VERSION") = tare::version();
  tare::bindings::bind_tables(module);
  tare::bindings::bind_launch(module);
  tare::bindings::bind_leftovers(module);
  tare::bindings::bind_containers(module);
  tare::bindings::bind_recording(module);
  tare::bindings::bind_stacks(module);
  tare::bindings::bind_imports(module);
  tare::bindings::bind_layouts(module);
  tare::bindings::bind_variant(module);
  tare::bindings::bind_vtables(module);
  tare::bindings::bind_watch(module);
}
