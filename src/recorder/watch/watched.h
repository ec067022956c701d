// A variable of the environment that the program was started with.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tare::recorder {

// Null: it isn't set.
const char* variable(char** environment, const char* name);

}  // namespace tare::recorder
