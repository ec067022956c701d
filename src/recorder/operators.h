// operator new and delete: see operators.cc.
#pragma once

namespace tare::recorder {

// Looks all of them up now if the program has a C++ library. Later it'd be at a first call, with the loader's lock
// perhaps held by a thread that waits for the caller. A C program is left alone: a plug-in of it may bring the library.
void look_up_operators();

}  // namespace tare::recorder
