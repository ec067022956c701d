// tare/growth.h: the next size of a growing array, chosen so that no byte of malloc's block is left unused.
//
//   policy                 memory of the final array   allocated in all   copied, in final sizes
//   GrowByClass            1.29 to 1.33                3.1 to 3.4         1.9      the default for what moves as bytes
//   GrowByDoubling         1.43 to 1.51                2.7 to 2.8         1.3      the default for all else
//   std::vector, doubling  1.43 to 1.55                2.7 to 3.1         1.3
//   1.5 times, exactly     1.32 to 1.44                3.7 to 3.9         2.1
//
// (Shares of the used bytes at the end, means over final sizes log-uniform from 16 bytes to 64 KiB, reached by 16 bytes
// at a time; least and greatest of glibc, jemalloc, mimalloc and mozjemalloc. `make bench-blocks` measures them on the
// allocators themselves.)
//
// "Please grow your buffers exponentially" (2011) prefers doubling: simple, few calls, and powers of two have no slop.
// With requests of whole classes, 1.5 has none either, keeps a tenth less memory for as long as the array lives, and
// allocates a sixth more bytes while growing. The effect on resident memory depends on the growth of other arrays.
// Arrays that grow one after another reuse their predecessors' memory: resident memory by live bytes is 1.18 to 1.26
// where doubling has 1.24 to 1.31 (glibc, jemalloc, mimalloc, gperftools; half of 4,000 arrays replaced). Arrays that
// all grow at once leave more holes with 1.5 than with 2: 1.8 to 2.6 where doubling has 1.7 to 2.2, and only lasting
// churn fills them. So: GrowByClass for arrays that stay; GrowByDoubling for many that grow side by side, or that are
// dropped at once, and for elements whose move is a call or a branch (std::string): each is moved 1.3 times instead of
// 1.9, and std::vector would be faster otherwise. Neither if the count is known (Buffer::reserve_exactly: 1.02 to
// 1.17).
//
// All functions are constexpr and allocate nothing.
#pragma once

#include <algorithm>
#include <cstddef>

#include "tare/size_classes.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

// Half as much again, then up to the end of the class.
struct GrowByClass {
  // The next request when `current_bytes` are full and `needed_bytes` (more, at most kLargestRequest) are needed.
  // `good` maps a size to the largest at its price: tare::good_size, or a model's.
  template <typename Good>
  static constexpr std::size_t next_bytes(std::size_t current_bytes, std::size_t needed_bytes, Good&& good) {
    const std::size_t wanted = std::max(needed_bytes, current_bytes + current_bytes / 2);
    return good(std::min(wanted, kLargestRequest));
  }
};

// Twice as much, then up to the end of the class.
struct GrowByDoubling {
  template <typename Good>
  static constexpr std::size_t next_bytes(std::size_t current_bytes, std::size_t needed_bytes, Good&& good) {
    return good(std::min(std::max(needed_bytes, 2 * current_bytes), kLargestRequest));
  }
};

// GrowByClass where elements are trivially relocatable (tare/relocatable.h), else GrowByDoubling: Buffer's default.
struct GrowByKind {};

}  // namespace tare::inline TARE_ABI
