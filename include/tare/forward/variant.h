// tare/forward/variant.h: declares classes of variant, for headers that only name them: see tare/forward/core.h.
#pragma once

#include "tare/version.h"

namespace tare::inline TARE_ABI::variant {

class DBusMessage;
class DBusView;
class Gvdb;
class GvdbTable;
class Output;
class Type;
class View;
template <bool kIsDBus>
class BasicBuilder;
using Builder = BasicBuilder<false>;
using DBusBuilder = BasicBuilder<true>;

}  // namespace tare::inline TARE_ABI::variant
