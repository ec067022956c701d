// Not to be compiled: the second member is no text.
#include "tare/variant/writer.h"

void write(tare::variant::Output& out) { tare::variant::Writer<"(is)">::write(out, 1, 2); }
