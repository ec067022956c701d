#include "lib/loader/loaded_object.h"

#include <dlfcn.h>

// Weakly: static programs have no loader, and before glibc 2.34 it is a library of its own that may not be there.
extern "C" {
__attribute__((weak)) int dladdr(const void* address, Dl_info* info) noexcept;
__attribute__((weak)) void* dlopen(const char* path, int mode) noexcept;
__attribute__((weak)) int dlclose(void* handle) noexcept;
}

namespace tare::inline TARE_ABI::loaded_object {

namespace {

bool is_found(const void* address, Dl_info& info) noexcept { return dladdr != nullptr && dladdr(address, &info) != 0; }

}  // namespace

void keep(const void* address) noexcept {
  Dl_info info;
  if (dlopen == nullptr || dlclose == nullptr || !is_found(address, info) || info.dli_fname == nullptr) return;
  // The program itself may not be found by its name; it stays anyway.
  void* handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (handle != nullptr) dlclose(handle);
}

bool is_same(const void* one, const void* other) noexcept {
  Dl_info of_one;
  Dl_info of_other;
  return is_found(one, of_one) && is_found(other, of_other) && of_one.dli_fbase == of_other.dli_fbase;
}

}  // namespace tare::inline TARE_ABI::loaded_object
