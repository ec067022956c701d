// tare/internal/export.h: what the dynamic linker sees of the library. TARE_API stands before the classes and functions
// that aren't inline, TARE_STATE before variables that a process has once.
//
// TARE_SHARED is defined, for the library and for who uses it, where the library is a shared one: tare::tare and the
// pkg-config package do it. What TARE_API marks is all that it exports then.
//
// Static, the library becomes part of each program and plug-in that links it, and several copies may meet in one
// process. Code of theirs and of yours is then called across copies as the dynamic linker finds it, and whichever copy
// runs must find the same variables. So those that TARE_STATE marks have default visibility whatever your options are:
// copies whose symbols see each other (linked together, or RTLD_GLOBAL) share one set, and plug-ins loaded with
// RTLD_LOCAL have one each. A version script that exports only a plug-in's own functions gives it a set of its own,
// too. Copies that share must be of one version.
#pragma once

#ifdef TARE_SHARED
#define TARE_API __attribute__((visibility("default")))
#define TARE_STATE
#else
#define TARE_API
#define TARE_STATE __attribute__((visibility("default")))
#endif
