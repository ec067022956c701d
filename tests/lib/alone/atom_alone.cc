// A program with an AtomTable, which gives an atom's characters away as Bytes, and nothing else of the library.
#include "tare/atom_table.h"
#include "tare/bytes.h"

int main() {
  tare::AtomTable table;
  const tare::Atom atom = table.intern("tare");
  if (!atom) return 1;
  const tare::Bytes characters = tare::Bytes::adopt_shared(atom.share());
  return characters.text() == "tare" ? 0 : 1;
}
