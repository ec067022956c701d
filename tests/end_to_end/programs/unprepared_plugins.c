// Opens and closes a library that allocates: each answer to a line on stdin is the result of a call of it. Blocks of
// the library end in the program.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments) {
  (void)count;
  char line[100];
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (fgets(line, sizeof(line), stdin) != NULL) {
    void* const library = dlopen(arguments[1], RTLD_LAZY);
    if (library == NULL) return puts(dlerror()), 1;
    char* (*const make)(int) = (char* (*)(int))dlsym(library, "make");
    for (int i = 0; i < 100; ++i) {
      char* const block = make(777);
      block[0] = 1;
      free(block);
    }
    dlclose(library);
    puts("done");
  }
  return 0;
}
