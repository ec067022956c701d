// Which sanitizer is compiled in. They reserve terabytes of addresses, so that limits on them can't be tested, and have
// shadow memory that grows with the program's.
#pragma once

namespace tare {

#if defined(__SANITIZE_ADDRESS__)
#define TARE_TEST_ASAN true
#elif defined(__SANITIZE_THREAD__)
#define TARE_TEST_TSAN true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TARE_TEST_ASAN true
#elif __has_feature(thread_sanitizer)
#define TARE_TEST_TSAN true
#endif
#endif

#ifdef TARE_TEST_ASAN
inline constexpr bool kAddressSanitized = true;
#else
inline constexpr bool kAddressSanitized = false;
#endif
#ifdef TARE_TEST_TSAN
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif
inline constexpr bool kSanitized = kAddressSanitized || kThreadSanitized;

// Repetitions and sizes of the longest tests are divided by it: sanitized, they take 10 to 27 times the CPU time.
inline constexpr int kSanitizedDivisor = kSanitized ? 4 : 1;

}  // namespace tare
