// References of loaded modules to the recorder's functions, written into a running program.
#pragma once

namespace tare::recorder {

// Called when the library was loaded into a running program: a launcher finds the function that takes the slots.
void offer_slots();

}  // namespace tare::recorder
