// tare/export.h: marks what a shared libtare exports. TARE_API stands before the classes and functions that aren't
// inline.
//
// TARE_SHARED is defined, for the library and for who uses it, where the library is a shared one: tare::tare and the
// pkg-config package do it. Static, the library exports nothing from the program or plug-in that it becomes part of.
#pragma once

#ifdef TARE_SHARED
#define TARE_API __attribute__((visibility("default")))
#else
#define TARE_API
#endif
