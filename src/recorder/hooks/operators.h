// operator new and delete: see operators.cc.
#pragma once

namespace tare::recorder {

// A C++ library's operators, which call malloc and free, as its path shows.
bool passes_through_malloc(const char* path);

// Looks all of them up now if the program has a C++ library. A C program is left alone: a plug-in of it may bring the
// library.
void look_up_operators();

// After a plug-in was closed: operators of a C++ library that was unloaded with it are looked up again.
void forget_unloaded_operators();

}  // namespace tare::recorder
