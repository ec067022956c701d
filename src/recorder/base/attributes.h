// Compiler words that the recorder's fast path is built from.
#pragma once

#define TARE_INLINE inline __attribute__((always_inline))
// On declarations of data: read without a look into the table of imported addresses.
#define TARE_HIDDEN __attribute__((visibility("hidden")))
#define TARE_COLD __attribute__((noinline, cold))
#define TARE_LIKELY(condition) __builtin_expect(static_cast<bool>(condition), 1)
#define TARE_UNLIKELY(condition) __builtin_expect(static_cast<bool>(condition), 0)
