// Writing a trace from Python, an event a call: 0.2 µs each, less than a reader takes for a line.
#include "bindings/imports.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/os_string.h"
#include "bindings/python_error.h"
#include "core/imports/import_writer.h"
#include "core/imports/zstd_file.h"

namespace nb = nanobind;

namespace tare::bindings {
namespace {

using core::ImportWriter;
using core::ZstdFile;

void check(const Status& status) {
  if (!status) raise(status.error());
}

std::unique_ptr<ImportWriter> create(const std::string& path, std::string imported_from, std::string missing_facts,
                                     std::string exe, std::vector<std::string> command_line, std::uint32_t pid,
                                     std::uint64_t start_realtime_ns, bool aggregated, std::uint32_t allocator) {
  trace::ProcessInfo info;
  info.imported_from = std::move(imported_from);
  info.missing_facts = std::move(missing_facts);
  info.exe = std::move(exe);
  info.command_line = std::move(command_line);
  info.pid = pid;
  info.start_realtime_ns = start_realtime_ns;
  info.sample_bytes = aggregated ? 1 : 0;
  info.allocator = static_cast<trace::AllocatorKind>(allocator);
  return value_or_raise(ImportWriter::create(path, std::move(info)));
}

std::uint32_t add_module(ImportWriter& writer, std::string path, std::uint64_t load_bias, std::uint64_t start,
                         std::uint64_t end, const nb::bytes& build_id) {
  trace::Module module;
  module.path = std::move(path);
  module.load_bias = load_bias;
  module.start = start;
  module.end = end;
  module.build_id.resize(build_id.size());
  if (build_id.size() != 0) std::memcpy(module.build_id.data(), build_id.c_str(), build_id.size());
  return value_or_raise(writer.add_module(std::move(module)));
}

std::uint32_t add_named_row(ImportWriter& writer, std::uint32_t module, std::uint64_t address,
                            const std::vector<std::tuple<std::string, std::string, std::uint32_t>>& frames) {
  std::vector<trace::GivenFrame> given;
  for (const auto& [function, file, line] : frames) given.push_back({{}, function, file, line});
  return value_or_raise(writer.add_named_row(module, address, std::move(given)));
}

std::uint32_t shape(ImportWriter& writer, std::uint32_t stack, std::uint32_t api, std::uint64_t align_bytes,
                    std::uint64_t requested_bytes, std::uint64_t usable_bytes, double weight) {
  const auto entry_point = static_cast<trace::AllocApi>(api > 255 ? 0 : api);
  return value_or_raise(writer.shape(stack, entry_point, align_bytes, requested_bytes, usable_bytes, weight));
}

nb::bytes read(ZstdFile& file) {
  auto piece = [&] {
    nb::gil_scoped_release released;
    return file.read();
  }();
  const std::string bytes = value_or_raise(std::move(piece));
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void bind_imports(nb::module_& module) {
  nb::class_<ImportWriter>(module, "ImportWriter")
      .def("add_module", add_module)
      .def("add_row", [](ImportWriter& writer, std::uint32_t of,
                         std::uint64_t address) { return value_or_raise(writer.add_row(of, address)); })
      .def("add_named_row", add_named_row)
      .def("stack", [](ImportWriter& writer, std::uint32_t caller,
                       std::uint32_t row) { return value_or_raise(writer.stack(caller, row)); })
      .def("shape", shape)
      .def("begin_block", [](ImportWriter& writer, std::uint64_t stamp, std::uint32_t thread, std::uint64_t address,
                             std::uint32_t of) { check(writer.begin_block(stamp, thread, address, of)); })
      .def("end_block", [](ImportWriter& writer, std::uint64_t stamp, std::uint32_t thread,
                           std::uint64_t address) { check(writer.end_block(stamp, thread, address)); })
      .def("grow_block", [](ImportWriter& writer, std::uint64_t stamp, std::uint32_t thread, std::uint64_t old_address,
                            std::uint64_t address,
                            std::uint32_t of) { check(writer.grow_block(stamp, thread, old_address, address, of)); })
      .def("begin_some_block", [](ImportWriter& writer, std::uint64_t stamp, std::uint32_t thread,
                                  std::uint32_t of) { check(writer.begin_some_block(stamp, thread, of)); })
      .def("end_some_block", [](ImportWriter& writer, std::uint64_t stamp, std::uint32_t thread,
                                std::uint32_t of) { check(writer.end_some_block(stamp, thread, of)); })
      .def("finish", [](ImportWriter& writer, std::uint64_t end_ns, bool complete, std::uint64_t peak_rss_bytes) {
        check(writer.finish(end_ns, complete, peak_rss_bytes));
      });
  module.def("create_import", create, nb::arg("path"), nb::kw_only(), nb::arg("imported_from"),
             nb::arg("missing_facts"), nb::arg("exe"), nb::arg("command_line"), nb::arg("pid"),
             nb::arg("start_realtime_ns"), nb::arg("aggregated"), nb::arg("allocator"));
  nb::class_<ZstdFile>(module, "ZstdFile").def("read", read);
  module.def("open_zstd", [](const std::string& path) { return value_or_raise(ZstdFile::open(path)); });
}

}  // namespace tare::bindings
