// The headers in a program without exceptions and RTTI: compiled so, and linked into the tests.
#include "tare/atom_table.h"
#include "tare/static_atoms.h"

namespace tare {
namespace {

inline constexpr std::string_view kNames[] = {"compiled", "without"};
inline constexpr auto& kAtoms = static_atoms<kNames, 7>;

}  // namespace

bool works_without_exceptions() {
  AtomTable table({.static_lists = {&kAtoms.list}});
  const Atom atom = table.intern("exceptions");
  return atom.text() == "exceptions" && table.intern("without") == kAtoms["without"];
}

}  // namespace tare
