// A program of somebody else's that uses a bit of each block; built three ways from the installed library.
#include <tare/atom.h>
#include <tare/atom_table.h>
#include <tare/buffer.h>
#include <tare/bytes.h>
#include <tare/cage.h>
#include <tare/good_size.h>
#include <tare/memory_reporter.h>
#include <tare/text_stream.h>
#include <tare/version.h>

#include <cstdio>
#include <cstring>

int main() {
  tare::TextStream out;
  out << "tare " << tare::version() << ", " << tare::good_size(100) << " bytes for 100";
  const tare::Bytes text = out.take();
  tare::Buffer<char> buffer;
  if (text.is_null() || !buffer.append_text(text.text())) return 1;
  tare::ReporterRegistry registry;
  const tare::ReporterHandle reporter = registry.add(
      "explicit/consumer", [&](tare::ReportSink& sink) { sink.block("buffer", buffer.data(), "some text"); });
  const tare::MemorySnapshot snapshot = registry.collect();
  std::printf("%.*s\n", static_cast<int>(buffer.size()), buffer.data());
  return std::strncmp(buffer.data(), "tare 0.", 7) == 0 ? 0 : 1;
}
