// Compiler words that the recorder's fast path is built from.
#pragma once

#define TARE_INLINE inline __attribute__((always_inline))
// On declarations of data: read without a look into the table of imported addresses.
#define TARE_HIDDEN __attribute__((visibility("hidden")))
#define TARE_COLD __attribute__((noinline, cold))
#define TARE_LIKELY(condition) __builtin_expect(static_cast<bool>(condition), 1)
#define TARE_UNLIKELY(condition) __builtin_expect(static_cast<bool>(condition), 0)

// Aligns the function's frame to 16 bytes. Functions that move 16 bytes to or from their frame need this, because the
// program's stack may be aligned to 8 bytes only. See src/recorder/CMakeLists.txt.
#define TARE_REALIGNED __attribute__((force_align_arg_pointer))
