// Any bytes as GVariant: the first one says how long the type is that begins them. What is read must have a normal form
// that reads the same, and validated bytes must read as before.
#include "tare/variant/view.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tare/variant/builder.h"

namespace {

using tare::variant::View;

void demand(bool holds) {
  if (!holds) std::abort();
}

void visit(const View& view, std::size_t& steps) {
  if (steps == 0) return;
  --steps;
  demand(view.text().size() <= view.bytes().size() || view.code() == 'o');
  std::size_t children = 0;
  for (const View& child : view) {
    demand(child.depth() == view.depth() + 1);
    visit(child, steps);
    ++children;
  }
  demand(children == view.child_count());
  view.child(children / 2).type();
  view.lookup("key");
  view.lookup("");
  view.inside();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t type_size = std::min<std::size_t>(data[0] & 0x7F, size - 1);
  const auto type = tare::variant::Type::parse(input.substr(1, type_size));
  if (!type.has_value()) return 0;
  const auto order = (data[0] & 0x80) != 0 ? std::endian::big : std::endian::little;
  View view(*type, input.substr(1 + type_size), order);
  std::size_t steps = 10'000;
  visit(view, steps);

  tare::variant::Output out;
  const auto written = view.normal_form(out);
  demand(static_cast<bool>(written));
  const View normal(*type, written.bytes(), order);
  demand(normal == view && normal.hash() == view.hash());
  if (view.validate()) {
    demand(view.bytes() == written.bytes() || view.bytes().empty());
    visit(view, steps = 10'000);
  }
  tare::variant::Output swapped_out;
  const auto other = order == std::endian::big ? std::endian::little : std::endian::big;
  const auto swapped = view.normal_form(swapped_out, other);
  demand(static_cast<bool>(swapped) && View(*type, swapped.bytes(), other) == view);
  return 0;
}
