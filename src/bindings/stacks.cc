// Many stacks at once, as texts or as a tree, for the files of other tools.
#include "bindings/stacks.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "bindings/py_table.h"
#include "core/recording/recording.h"
#include "core/recording/stacks/frame_tree.h"
#include "core/recording/stacks/large_branches.h"
#include "core/recording/stacks/sample_sums.h"
#include "core/recording/stacks/stack_sums.h"
#include "core/recording/stacks/stack_texts.h"
#include "core/recording/stacks/text_rows.h"
#include "core/recording/stacks/tree_texts.h"
#include "core/sites/script_files.h"
#include "trace/base/byte_stream.h"
#include "trace/model/python_state.h"

namespace nb = nanobind;

namespace tare::bindings {
namespace {

using core::FrameTree;
using core::StackTexts;

core::StackOrder stack_order_of(bool outermost_first) {
  return outermost_first ? core::StackOrder::OutermostFirst : core::StackOrder::InnermostFirst;
}

std::vector<trace::StackId> stacks_of(const std::vector<std::uint32_t>& ids) {
  std::vector<trace::StackId> stacks;
  stacks.reserve(ids.size());
  for (const std::uint32_t id : ids) stacks.push_back(trace::StackId{id});
  return stacks;
}

std::vector<std::uint32_t> rows_of_stacks(const core::Recording& recording, const std::vector<std::uint32_t>& ids) {
  std::vector<std::uint32_t> rows;
  for (const trace::RowId row : core::rows_of_stacks(recording.stack_nodes(), stacks_of(ids)))
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

// Of 8 bytes each.
std::vector<std::int64_t> numbers_of(const nb::bytes& bytes) {
  std::vector<std::int64_t> numbers(bytes.size() / sizeof(std::int64_t));
  std::memcpy(numbers.data(), bytes.c_str(), numbers.size() * sizeof(std::int64_t));
  return numbers;
}

void put_field(trace::ByteWriter& out, std::uint8_t field, std::span<const std::uint8_t> value) {
  out.varint(field << 3 | 2);
  out.varint(value.size());
  out.append(value);
}

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Fields `field` of a message on protocol buffers' wire, one a sample: a message of the stack's text (field 1), the
// sample's number of each column (packed, field 2), and a part that is written already. In Python, this takes ten times
// as long, and a recording has a million samples.
nb::bytes samples_of(const StackTexts& texts, std::uint8_t field, const std::vector<std::uint32_t>& ids,
                     const std::vector<nb::bytes>& columns, const nb::list& rests) {
  if (ids.size() != rests.size()) throw nb::value_error("as many rests as samples are needed");
  std::vector<std::vector<std::int64_t>> values;
  for (const nb::bytes& column : columns) {
    values.push_back(numbers_of(column));
    if (values.back().size() != ids.size()) throw nb::value_error("as many numbers as samples are needed");
  }
  trace::ByteWriter out, sample, numbers;
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    texts.write(trace::StackId{ids[i]}, text);
    numbers.clear();
    for (const std::vector<std::int64_t>& column : values) numbers.varint(static_cast<std::uint64_t>(column[i]));
    const auto rest = nb::cast<nb::bytes>(rests[i]);
    sample.clear();
    put_field(sample, 1, bytes_of(text));
    put_field(sample, 2, numbers.bytes());
    sample.append(bytes_of({rest.c_str(), rest.size()}));
    put_field(out, field, sample.bytes());
  }
  return packed(out.bytes());
}

// A message of one field in a message of one field, and so on: `fields` from the outermost in. The innermost field is
// the stack's text.
nb::bytes messages_of(const StackTexts& texts, const std::vector<std::uint32_t>& ids,
                      const std::vector<std::uint8_t>& fields) {
  trace::ByteWriter out;
  std::string text;
  std::vector<std::uint64_t> lengths(fields.size());
  for (const std::uint32_t id : ids) {
    texts.write(trace::StackId{id}, text);
    std::uint64_t length = text.size();
    for (std::size_t at = fields.size(); at-- > 0;) {
      lengths[at] = length;
      std::uint8_t varint[trace::kMaxVarintBytes];
      length += static_cast<std::uint64_t>(trace::put_varint(varint, length) - varint);
      length += static_cast<std::uint64_t>(trace::put_varint(varint, fields[at] << 3 | 2) - varint);
    }
    for (std::size_t at = 0; at < fields.size(); ++at) {
      out.varint(fields[at] << 3 | 2);
      out.varint(lengths[at]);
    }
    out.append(bytes_of(text));
  }
  return packed(out.bytes());
}

// Messages of a place (field 1; 0 is left out) and one amount (packed, field 4).
nb::bytes placed_amounts(std::uint8_t field, const std::vector<std::uint32_t>& places,
                         const std::vector<std::int64_t>& amounts) {
  if (places.size() != amounts.size()) throw nb::value_error("as many amounts as places are needed");
  trace::ByteWriter out, message, amount;
  for (std::size_t i = 0; i < places.size(); ++i) {
    message.clear();
    amount.clear();
    if (places[i] != 0) {
      message.varint(1 << 3);
      message.varint(places[i]);
    }
    amount.varint(static_cast<std::uint64_t>(amounts[i]));
    put_field(message, 4, amount.bytes());
    put_field(out, field, message.bytes());
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

std::pair<nb::bytes, std::vector<std::uint32_t>> distinct(const StackTexts& texts,
                                                          const std::vector<std::uint32_t>& ids) {
  std::vector<trace::StackId> firsts;
  const std::vector<std::uint32_t> places = core::distinct_texts(texts, stacks_of(ids), firsts);
  std::vector<std::uint32_t> first_ids;
  first_ids.reserve(firsts.size());
  for (const trace::StackId stack : firsts) first_ids.push_back(trace::index(stack));
  return {packed(places), std::move(first_ids)};
}

// The columns that both kinds of sums have.
template <typename Sums>
nb::dict columns_of(const Sums& sums) {
  nb::dict columns;
  columns["stack_id"] = packed(sums.stack_ids);
  columns["total_blocks"] = packed(sums.total_blocks);
  columns["total_bytes"] = packed(sums.total_bytes);
  columns["live_blocks"] = packed(sums.live_blocks);
  columns["live_bytes"] = packed(sums.live_bytes);
  return columns;
}

// Columns of 8 bytes a number, or None: see core::sums_by_stack.
std::optional<nb::dict> stack_sums(const core::Recording& recording, const std::string& live, bool with_lifetimes) {
  const std::shared_ptr<const core::Table> sizes = recording.table("site_sizes");
  if (!sizes) return std::nullopt;
  const std::optional<core::StackSums> sums = core::sums_by_stack(*sizes, live, with_lifetimes);
  if (!sums) return std::nullopt;
  nb::dict columns = columns_of(*sums);
  columns["end_blocks"] = packed(sums->end_blocks);
  columns["end_bytes"] = packed(sums->end_bytes);
  if (with_lifetimes) columns["lifetime_ns"] = packed(sums->lifetimes_ns);
  return columns;
}

// The same by stack, size and thread: see core::sums_by_sample. `tare`: stacks, usable sizes and claimed bytes.
std::optional<nb::dict> sample_sums(const core::Recording& recording, const std::string& live,
                                    const std::optional<PyTable>& thread_sizes, std::int64_t thread, bool by_size,
                                    const std::tuple<nb::bytes, nb::bytes, nb::bytes>& tare) {
  const std::shared_ptr<const core::Table> sizes = recording.table("site_sizes");
  if (!sizes) return std::nullopt;
  const std::vector<std::int64_t> stacks = numbers_of(std::get<0>(tare));
  const std::vector<std::int64_t> usable = numbers_of(std::get<1>(tare));
  const std::vector<std::int64_t> claimed = numbers_of(std::get<2>(tare));
  if (usable.size() != stacks.size() || claimed.size() != stacks.size())
    throw nb::value_error("each claim needs a stack, a size and bytes");
  std::vector<core::SampleTare> claims;
  claims.reserve(stacks.size());
  for (std::size_t i = 0; i < stacks.size(); ++i) claims.push_back({stacks[i], usable[i], claimed[i]});
  const core::SampleOptions options{live, thread_sizes ? thread_sizes->table.get() : nullptr, thread, by_size};
  const std::optional<core::SampleSums> sums = core::sums_by_sample(*sizes, options, claims);
  if (!sums) return std::nullopt;
  nb::dict columns = columns_of(*sums);
  columns["tare_bytes"] = packed(sums->tare_bytes);
  columns["usable_bytes"] = packed(sums->usable_bytes);
  columns["thread"] = packed(sums->threads);
  return columns;
}

// Numbers of 8 bytes, added up by their places (of 4 bytes) among `count`.
nb::bytes sums_by_place(const nb::bytes& places, const nb::bytes& numbers, std::size_t count) {
  const std::vector<std::int64_t> added = numbers_of(numbers);
  if (places.size() != added.size() * sizeof(std::uint32_t)) throw nb::value_error("each number needs a place");
  std::vector<std::int64_t> sums(count);
  for (std::size_t i = 0; i < added.size(); ++i) {
    std::uint32_t place;
    std::memcpy(&place, places.c_str() + i * sizeof place, sizeof place);
    if (place >= count) throw nb::value_error("a place is too large");
    sums[place] += added[i];
  }
  return packed(sums);
}

void write_rows(const StackTexts& texts, const std::vector<std::uint32_t>& ids, const nb::list& columns,
                const nb::list& rests, const nb::bytes& before, const nb::bytes& after, const Write& write) {
  std::vector<std::string> names;
  std::vector<std::vector<std::int64_t>> numbers;
  for (const nb::handle each : columns) {
    const auto column = nb::cast<nb::tuple>(each);
    names.push_back(text_of(nb::cast<nb::bytes>(column[0])));
    numbers.push_back(numbers_of(nb::cast<nb::bytes>(column[1])));
    if (numbers.back().size() != ids.size()) throw nb::value_error("as many numbers as stacks are needed");
  }
  const std::vector<std::string> rest_texts = texts_of_list(rests);
  if (!rest_texts.empty() && rest_texts.size() != ids.size())
    throw nb::value_error("as many rests as stacks are needed, or none");
  core::RowForm form;
  for (std::size_t i = 0; i < names.size(); ++i) form.columns.push_back({names[i], numbers[i]});
  form.rests = rest_texts;
  form.before = {before.c_str(), before.size()};
  form.after = {after.c_str(), after.size()};
  core::write_rows(texts, stacks_of(ids), form, sink_of(write));
}

// amount, amount and number of small branches below, parent, frame
using BranchRow = std::tuple<std::int64_t, std::int64_t, std::uint32_t, std::uint32_t, std::uint32_t>;

std::vector<BranchRow> large_branches(const FrameTree& tree, const std::vector<std::uint32_t>& ids,
                                      const std::vector<std::int64_t>& amounts, std::int64_t least) {
  if (ids.size() != amounts.size()) throw nb::value_error("as many amounts as stacks are needed");
  std::vector<BranchRow> rows;
  for (const core::Branch& each : core::large_branches(tree, stacks_of(ids), amounts, least))
    rows.emplace_back(each.amount, each.small_amount, each.small_branches, each.parent, each.frame);
  return rows;
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
  module.def("stack_sums", stack_sums, nb::arg("recording"), nb::arg("live"), nb::arg("with_lifetimes"));
  module.def("sample_sums", sample_sums, nb::arg("recording"), nb::arg("live"), nb::arg("thread_sizes").none(),
             nb::arg("thread"), nb::arg("by_size"), nb::arg("tare"));
  module.def("sums_by_place", sums_by_place, nb::arg("places"), nb::arg("numbers"), nb::arg("count"));
  module.def("placed_amounts", placed_amounts, nb::arg("field"), nb::arg("places"), nb::arg("amounts"));
  module.def(
      "write_numbers",
      [](const nb::bytes& numbers, std::int64_t none, std::int64_t more, const Write& write) {
        core::write_numbers(numbers_of(numbers), none, more, sink_of(write));
      },
      nb::arg("numbers"), nb::arg("none"), nb::arg("more"), nb::arg("write"));
  module.attr("PYTHON_MODULE") = trace::kPythonModule;
  module.def("is_own_managed", core::is_own_managed, nb::arg("module"), nb::arg("file"), nb::arg("function"));
  module.def("rows_of_stacks", rows_of_stacks, nb::arg("recording"), nb::arg("stack_ids"));
  nb::class_<StackTexts>(module, "StackTexts")
      .def("name", name_texts, nb::arg("location_id"), nb::arg("text"), nb::arg("innermost"))
      .def("of", texts_of, nb::arg("stack_ids"))
      .def("distinct", distinct, nb::arg("stack_ids"))
      .def("messages", messages_of, nb::arg("stack_ids"), nb::arg("fields"))
      .def("write_rows", write_rows, nb::arg("stack_ids"), nb::arg("columns"), nb::arg("rests"), nb::arg("before"),
           nb::arg("after"), nb::arg("write"))
      .def("samples", samples_of, nb::arg("field"), nb::arg("stack_ids"), nb::arg("columns"), nb::arg("rests"));
  module.def(
      "stack_texts",
      [](const core::Recording& recording, bool outermost_first, const nb::bytes& separator) {
        return StackTexts(recording.stack_nodes(), stack_order_of(outermost_first),
                          {separator.c_str(), separator.size()});
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
      .def("large_branches", large_branches, nb::arg("stack_ids"), nb::arg("amounts"), nb::arg("least"))
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
        return FrameTree(recording.stack_nodes(), stack_order_of(outermost_first));
      },
      nb::arg("recording"), nb::arg("outermost_first"), nb::keep_alive<0, 1>());
}

}  // namespace tare::bindings
