// Keeps assemblies for each thread's next builders.
#include "lib/variant/c/assembly_pool.h"

#include <new>

namespace tare::inline TARE_ABI::variant::c {
namespace {

constexpr std::size_t kKept = 4;                            // as many as are nested in one another in most programs
constexpr std::size_t kLargestKept = std::size_t{1} << 16;  // bytes of output: a thread shouldn't sit on a large value

struct Pool {
  Assembly* kept[kKept];
  std::size_t count = 0;

  // A thread's other destructors may still build values: after this one nothing is kept.
  ~Pool() {
    while (count > 0) delete kept[--count];
    count = kKept;
    is_closed = true;
  }
  bool is_closed = false;
};
thread_local Pool pool;

}  // namespace

Assembly* take_assembly() noexcept {
  if (pool.count > 0 && !pool.is_closed) return pool.kept[--pool.count];
  return new (std::nothrow) Assembly;
}

void give_assembly(Assembly* assembly) noexcept {
  if (assembly == nullptr) return;
  assembly->abandon();
  if (pool.count == kKept || assembly->output().capacity() > kLargestKept) {
    delete assembly;
  } else {
    pool.kept[pool.count++] = assembly;
  }
}

}  // namespace tare::inline TARE_ABI::variant::c
