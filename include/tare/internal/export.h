// tare/internal/export.h: the library's symbols for the dynamic linker. TARE_API stands before the classes and
// functions that aren't inline, TARE_STATE before variables that a process has once.
//
// If the library is a shared one, TARE_SHARED is defined for it and for its users: tare::tare and the pkg-config
// package do it. Only the functions marked with TARE_API are exported then.
//
// Static, the library becomes part of each program and plug-in that links it, and several copies may meet in one
// process. Code of theirs and of yours is then called across copies as the dynamic linker finds it, and whichever copy
// runs must find the same variables. So variables marked with TARE_STATE have default visibility under any options:
// copies whose symbols are visible to each other (linked together, or RTLD_GLOBAL) share one set, and plug-ins loaded
// with RTLD_LOCAL have one each. A version script that exports only a plug-in's own functions gives it a set of its
// own, too. Copies of different versions share nothing: see TARE_ABI in tare/version.h. AddressSanitizer reports shared
// variables as a mistake: run such programs with ASAN_OPTIONS=detect_odr_violation=0.
#pragma once

#ifdef TARE_SHARED
#define TARE_API __attribute__((visibility("default")))
#define TARE_STATE
#else
#define TARE_API
#define TARE_STATE __attribute__((visibility("default")))
#endif
