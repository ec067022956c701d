// Two objects are made of this, with code that differs in layout: each other's unwind rules would be wrong.
#include <cstddef>
#include <cstdlib>

namespace {

volatile unsigned long g_sink;
void use(unsigned long value) { g_sink = g_sink + value; }

#ifdef TARE_PLUGIN_B
__attribute__((noinline)) void before(int n) {
  volatile char local[200];
  local[n] = 1;
  use(static_cast<unsigned long>(local[n]));
}
#endif

__attribute__((noinline)) void work(int depth) {
#ifdef TARE_PLUGIN_B
  volatile char local[88];
  local[depth] = 1;
  before(depth);
#else
  volatile char local[24];
  local[depth] = 1;
#endif
  void* block = malloc(static_cast<std::size_t>(depth) + 1);
  use(reinterpret_cast<unsigned long>(block) + static_cast<unsigned long>(local[depth]));
  free(block);
  if (depth > 0) work(depth - 1);
  use(1);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) unsigned long tare_plugin(int depth) {
  work(depth);
  return g_sink;
}
