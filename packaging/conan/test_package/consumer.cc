// The library's core, as a program of its user has it.
#include <tare/atom.h>
#include <tare/atom_table.h>
#include <tare/text_stream.h>
#include <tare/version.h>

#include <cstdio>

int main() {
  tare::AtomTable table;
  tare::TextStream out;
  out << "tare " << tare::version() << ": " << table.intern("an atom").text();
  const tare::Bytes text = out.take();
  if (text.is_null()) return 1;
  std::printf("%.*s\n", static_cast<int>(text.text().size()), text.text().data());
  return table.intern("an atom") == table.intern("an atom") ? 0 : 1;
}
