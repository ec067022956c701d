// A C program that loads a C++ plug-in (argument 1) into a scope of its own, runs it and unloads it, several times.
// Argument 2: the plug-in shall look into its own libraries first.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments) {
  for (int i = 0; i < 5 && count > 1; ++i) {
    void* handle = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL | (count > 2 ? RTLD_DEEPBIND : 0));
    if (handle == NULL) {
      puts(dlerror());
      return 1;
    }
    int (*run)(void) = (int (*)(void))dlsym(handle, "plugin_run");
    if (run() != 100) return 2;
    void* (*exchange)(void*) = (void* (*)(void*))dlsym(handle, "plugin_exchange");
    for (int block = 0; block < 100; ++block) free(exchange(malloc(100)));
    dlclose(handle);
  }
  return 0;
}
