// The name of recordings that `tare watch` made, where an import has the name of its profiler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tare::trace {

inline constexpr char kWatchedSource[] = "tare watch";

}  // namespace tare::trace
