// A program of somebody else's that uses a bit of each block; built three ways from the installed library, static and
// shared.
#include <tare/arena.h>
#include <tare/atom.h>
#include <tare/atom_table.h>
#include <tare/buffer.h>
#include <tare/bytes.h>
#include <tare/cage.h>
#include <tare/good_size.h>
#include <tare/memory_reporter.h>
#include <tare/memory_snapshot.h>
#include <tare/static_atoms.h>
#include <tare/text_stream.h>
#include <tare/version.h>

#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

namespace {

constexpr std::string_view kTagNames[] = {"div", "span"};
constexpr auto& kTags = tare::static_atoms<kTagNames>;

bool atoms_work() {
  tare::AtomTable table({.static_lists = {&kTags.list}});
  const tare::Atom atom = table.intern(u"consumer");
  const tare::Bytes characters = tare::Bytes::adopt_shared(atom.share());
  return characters.text() == "consumer" && table.intern("div") == kTags["div"] && table.intern("div").text() == "div";
}

bool memory_works() {
  tare::CageResult<tare::Cage> made = tare::Cage::reserve({.size_bytes = std::size_t{1} << 24});
  if (!made) return false;
  tare::Cage cage = std::move(made.value());
  tare::Arena arena({.source = tare::cage_source(cage)});
  return arena.allocate(100) != nullptr;
}

}  // namespace

int main() {
  tare::TextStream out;
  out << "tare " << tare::version() << ", " << tare::good_size(100) << " bytes for 100";
  const tare::Bytes text = out.take();
  tare::Buffer<char> buffer;
  if (text.is_null() || !buffer.append_text(text.text())) return 1;
  tare::ReporterRegistry registry;
  const tare::ReporterHandle reporter = registry.add(
      "explicit/consumer", [&](tare::ReportSink& sink) { sink.block("buffer", buffer.data(), "some text"); });
  std::puts(tare::to_text(registry.collect()).c_str());
  if (!atoms_work() || !memory_works()) return 1;
  std::printf("%.*s\n", static_cast<int>(buffer.size()), buffer.data());
  return std::strncmp(buffer.data(), "tare 0.", 7) == 0 ? 0 : 1;
}
