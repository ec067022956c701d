// SIGBUS because a file that the recorder has mapped was truncated: the recording ends and the program goes on.
//
// The recorder's handler stands in front of the program's action. The action is stored here and performed for every
// other SIGBUS. The program sees and changes only its own action.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

namespace tare::recorder {

// Installs the handler, once in a process image. Does nothing if SIGBUS is ignored; programs inherit this.
void stand_in_front_of_bus_errors();

// As sigaction(SIGBUS, ...): the program's own action. -1 and errno on failure.
int change_bus_action(const struct sigaction* wanted, struct sigaction* before);

}  // namespace tare::recorder
