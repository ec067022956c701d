// The classes that tare/forward/*.h declare are those of the other headers: a declaration of another would be
// ambiguous.
#include <tare/forward/core.h>
#include <tare/forward/gc.h>
#include <tare/forward/variant.h>

namespace before {

bool name_core(tare::Arena&, tare::ArenaResource&, tare::Atom&, tare::AtomTable&, tare::Bytes&, tare::Cage&,
               tare::FixedTextStream&, tare::PressureMonitor&, tare::PressureRegistry&, tare::ReporterRegistry&,
               tare::ReportSink&, tare::SizeOf&, tare::TextOstream&, tare::TextWriter&, tare::UniqueBytes&,
               tare::MemorySnapshot&);
bool name_gc(tare::gc::HeapBase&, tare::gc::Liveness&, tare::gc::Visitor&, tare::gc::DefaultGroup&, tare::gc::Heap&);
bool name_variant(tare::variant::DBusMessage&, tare::variant::DBusView&, tare::variant::Gvdb&,
                  tare::variant::GvdbTable&, tare::variant::Output&, tare::variant::Type&, tare::variant::View&,
                  tare::variant::Builder&, tare::variant::DBusBuilder&);

}  // namespace before

#include <tare/arena.h>
#include <tare/arena_resource.h>
#include <tare/atom_table.h>
#include <tare/cage.h>
#include <tare/gc/heap.h>
#include <tare/gc/visitor.h>
#include <tare/memory_pressure.h>
#include <tare/memory_reporter.h>
#include <tare/memory_snapshot.h>
#include <tare/text_ostream.h>
#include <tare/text_stream.h>
#include <tare/variant/builder.h>
#include <tare/variant/dbus_message.h>
#include <tare/variant/dbus_view.h>
#include <tare/variant/gvdb.h>
#include <tare/variant/output.h>
#include <tare/variant/view.h>

namespace before {

template <class Function>
constexpr bool kAreComplete = false;
template <class... Classes>
constexpr bool kAreComplete<bool(Classes&...)> = (... && (sizeof(Classes) != 0));

static_assert(kAreComplete<decltype(name_core)> && kAreComplete<decltype(name_gc)> &&
              kAreComplete<decltype(name_variant)>);

}  // namespace before
