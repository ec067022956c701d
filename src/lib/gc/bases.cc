// The bases of all groups' cages, variable here. tare/gc/cage_bases.h, which this file doesn't see, declares the same
// symbol as a constant.
#include "lib/gc/bases.h"

namespace tare::gc {

MutableCageBases mutable_cage_bases{};

}  // namespace tare::gc
