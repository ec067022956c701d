// A C program that loads a C++ plug-in (argument 1) into a scope of its own, runs it and unloads it, several times.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** arguments) {
  for (int i = 0; i < 5 && count > 1; ++i) {
    void* handle = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
      puts(dlerror());
      return 1;
    }
    int (*run)(void) = (int (*)(void))dlsym(handle, "plugin_run");
    if (run() != 100) return 2;
    dlclose(handle);
  }
  return 0;
}
