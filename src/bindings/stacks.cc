// Many stacks at once, as texts or as a tree, for the files of other tools.
#include "bindings/stacks.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/recording/recording.h"
#include "core/recording/stacks/frame_tree.h"
#include "core/recording/stacks/stack_texts.h"
#include "core/recording/stacks/tree_texts.h"
#include "core/sites/script_files.h"
#include "trace/base/byte_stream.h"
#include "trace/model/python_state.h"

namespace nb = nanobind;

namespace tare::bindings {
namespace {

using core::FrameTree;
using core::StackTexts;

core::StackOrder order_of(bool outermost_first) {
  return outermost_first ? core::StackOrder::OutermostFirst : core::StackOrder::InnermostFirst;
}

std::vector<std::uint32_t> rows_of_stacks(const core::Recording& recording, const std::vector<std::uint32_t>& ids) {
  std::vector<trace::StackId> stacks;
  stacks.reserve(ids.size());
  for (const std::uint32_t id : ids) stacks.push_back(trace::StackId{id});
  std::vector<std::uint32_t> rows;
  for (const trace::RowId row : core::rows_of_stacks(recording.stack_nodes(), stacks))
    rows.push_back(trace::index(row));
  return rows;
}

void name_texts(StackTexts& texts, std::uint32_t row, const nb::bytes& text, const nb::bytes& innermost) {
  texts.name(trace::RowId{row}, {text.c_str(), text.size()}, {innermost.c_str(), innermost.size()});
}

nb::list texts_of(const StackTexts& texts, const std::vector<std::uint32_t>& ids) {
  nb::list list;
  std::string text;
  for (const std::uint32_t id : ids) {
    texts.write(trace::StackId{id}, text);
    list.append(nb::bytes(text.data(), text.size()));
  }
  return list;
}

// Numbers as bytes: Python casts them to a memoryview, 4 or 8 bytes each instead of an object of 32.
template <typename Numbers>
nb::bytes packed(const Numbers& numbers) {
  return nb::bytes(static_cast<const void*>(numbers.data()), numbers.size() * sizeof(*numbers.data()));
}

void put_field(trace::ByteWriter& out, std::uint8_t field, std::span<const std::uint8_t> value) {
  out.varint(field << 3 | 2);
  out.varint(value.size());
  out.append(value);
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Fields `field` of a message on protocol buffers' wire, one a row: a message of the stack's text (field 1), the row's
// numbers (packed, field 2), and a part that is written already. In Python, this takes ten times as long, and a
// recording has a million rows.
nb::bytes samples_of(const StackTexts& texts, std::uint8_t field, const nb::list& rows, const nb::list& rests) {
  if (rows.size() != rests.size()) throw nb::value_error("as many rests as rows are needed");
  trace::ByteWriter out, sample, numbers;
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = nb::cast<nb::tuple>(rows[i]);
    texts.write(trace::StackId{nb::cast<std::uint32_t>(row[0])}, text);
    numbers.clear();
    for (std::size_t column = 1; column < row.size(); ++column)
      numbers.varint(static_cast<std::uint64_t>(nb::cast<std::int64_t>(row[column])));
    const auto rest = nb::cast<nb::bytes>(rests[i]);
    sample.clear();
    put_field(sample, 1, bytes_of(text));
    put_field(sample, 2, numbers.bytes());
    sample.append(bytes_of({rest.c_str(), rest.size()}));
    put_field(out, field, sample.bytes());
  }
  return packed(out.bytes());
}

nb::bytes add_all(FrameTree& tree, const std::vector<std::uint32_t>& ids, const std::vector<std::int64_t>& amounts) {
  if (ids.size() != amounts.size()) throw nb::value_error("as many amounts as stacks are needed");
  std::vector<std::uint32_t> nodes;
  nodes.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) nodes.push_back(tree.add(trace::StackId{ids[i]}, amounts[i]));
  return packed(nodes);
}

std::string text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

std::vector<std::string> texts_of_list(const nb::list& list) {
  std::vector<std::string> texts;
  texts.reserve(list.size());
  for (const nb::handle each : list) texts.push_back(text_of(nb::cast<nb::bytes>(each)));
  return texts;
}

using Write = std::function<void(nb::bytes)>;
core::TextSink sink_of(const Write& write) {
  return [&write](std::string_view piece) { write(nb::bytes(piece.data(), piece.size())); };
}

// Numbers of 8 bytes each as varints.
nb::bytes varints(const nb::bytes& numbers) {
  const std::size_t count = numbers.size() / sizeof(std::uint64_t);
  std::vector<std::uint8_t> out(count * trace::kMaxVarintBytes);
  std::uint8_t* end = out.data();
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t number;
    std::memcpy(&number, numbers.c_str() + i * sizeof number, sizeof number);
    end = trace::put_varint(end, number);
  }
  return nb::bytes(static_cast<const void*>(out.data()), static_cast<std::size_t>(end - out.data()));
}

}  // namespace

void bind_stacks(nb::module_& module) {
  module.def("varints", varints, nb::arg("numbers"));
  module.attr("PYTHON_MODULE") = trace::kPythonModule;
  module.def("is_own_managed", core::is_own_managed, nb::arg("module"), nb::arg("file"), nb::arg("function"));
  module.def("rows_of_stacks", rows_of_stacks, nb::arg("recording"), nb::arg("stack_ids"));
  nb::class_<StackTexts>(module, "StackTexts")
      .def("name", name_texts, nb::arg("location_id"), nb::arg("text"), nb::arg("innermost"))
      .def("of", texts_of, nb::arg("stack_ids"))
      .def("samples", samples_of, nb::arg("field"), nb::arg("rows"), nb::arg("rests"));
  module.def(
      "stack_texts",
      [](const core::Recording& recording, bool outermost_first, const nb::bytes& separator) {
        return StackTexts(recording.stack_nodes(), order_of(outermost_first), {separator.c_str(), separator.size()});
      },
      nb::arg("recording"), nb::arg("outermost_first"), nb::arg("separator"), nb::keep_alive<0, 1>());
  nb::class_<FrameTree>(module, "FrameTree")
      .def(
          "name",
          [](FrameTree& tree, std::uint32_t row, std::vector<std::uint32_t> frames,
             std::vector<std::uint32_t> innermost) {
            tree.name(trace::RowId{row}, std::move(frames), std::move(innermost));
          },
          nb::arg("location_id"), nb::arg("frames"), nb::arg("innermost"))
      .def("add", add_all, nb::arg("stack_ids"), nb::arg("amounts"))
      .def("parents", [](const FrameTree& tree) { return packed(tree.parents()); })
      .def("frames", [](const FrameTree& tree) { return packed(tree.frames()); })
      .def("amounts", [](const FrameTree& tree) { return packed(tree.amounts()); })
      .def("whole_amounts", [](const FrameTree& tree) { return packed(tree.whole_amounts()); })
      .def("depth_first", [](const FrameTree& tree) { return packed(tree.depth_first()); })
      .def(
          "write_folded",
          [](const FrameTree& tree, const nb::list& names, const nb::bytes& unknown, const Write& write) {
            core::write_folded(tree, texts_of_list(names), text_of(unknown), sink_of(write));
          },
          nb::arg("names"), nb::arg("unknown"), nb::arg("write"))
      .def(
          "write_nested",
          [](const FrameTree& tree, const nb::list& heads, const nb::bytes& root_head, const Write& write) {
            core::write_nested(tree, texts_of_list(heads), text_of(root_head), sink_of(write));
          },
          nb::arg("heads"), nb::arg("root_head"), nb::arg("write"));
  module.def(
      "frame_tree",
      [](const core::Recording& recording, bool outermost_first) {
        return FrameTree(recording.stack_nodes(), order_of(outermost_first));
      },
      nb::arg("recording"), nb::arg("outermost_first"), nb::keep_alive<0, 1>());
}

}  // namespace tare::bindings
