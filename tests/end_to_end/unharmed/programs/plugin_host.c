// A program in C that opens the plug-ins named, and then prints the loader's message about one that does not exist.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** plugins) {
  void* missing = NULL;
  for (int i = 1; i < count; ++i) {
    void* const plugin = dlopen(plugins[i], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) return puts(dlerror()), 1;
    missing = dlopen("/no/such/library.so", RTLD_NOW);
    void (*const work)(void) = (void (*)(void))dlsym(plugin, "work");
    if (work == NULL) return 2;
    missing = dlopen("/no/such/library.so", RTLD_NOW);
    work();
    const char* const message = dlerror();
    printf("%s\n", message == NULL ? "no message" : message);
    if (i % 2 == 0) dlclose(plugin);
  }
  return missing != NULL;
}
