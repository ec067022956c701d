// tare/forward/core.h: declares classes of core, for headers that only name them.
//
//   #include <tare/forward/core.h>
//   struct Page;
//   void render(const Page& page, tare::Arena& scratch, tare::TextWriter& out);
//
// Include it in place of `namespace tare { class Arena; }`. Classes lie in an inline namespace (tare/version.h), so
// such a declaration names another class: compilers reject it beside the class' header, and linkers find no function
// for it.
//
// Other templates, with default arguments, come from their own headers. So do classes that few interfaces name.
#pragma once

#include "tare/version.h"

namespace tare::inline TARE_ABI {

class Arena;
class ArenaResource;
class Atom;
class AtomTable;
class Bytes;
class Cage;
class FixedTextStream;
class PressureMonitor;
class PressureRegistry;
class ReporterRegistry;
class ReportSink;
class SizeOf;
class TextOstream;
class TextWriter;
class UniqueBytes;
struct MemorySnapshot;

}  // namespace tare::inline TARE_ABI
