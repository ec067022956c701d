// Loads and unloads a plug-in that allocates, again and again, while other threads allocate. Built as the plug-in with
// -DPLUGIN. Arguments: the plug-in, how often.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef PLUGIN

void* make(void) {
  void* volatile block = malloc(100);
  return block;
}

#else

static atomic_int done;

static int descend(int depth) {
  if (depth > 0) {
    volatile int result = descend(depth - 1);  // so that this is no loop
    return result;
  }
  void* volatile block = malloc(32);
  free(block);
  return 0;
}

// Deep stacks that differ: chunks fill up soon, and a full one is when modules are looked at.
static void* allocate(void* unused) {
  for (int i = 0; !atomic_load(&done); ++i) descend(100 + i % 2 * 50);
  return unused;
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, allocate, NULL);
  for (int i = atoi(arguments[2]); i > 0; --i) {
    void* const plugin = dlopen(arguments[1], RTLD_NOW);
    if (plugin == NULL) return 3;
    free(((void* (*)(void))dlsym(plugin, "make"))());
    dlclose(plugin);
  }
  atomic_store(&done, 1);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}

#endif
