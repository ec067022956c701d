// loading_host local|global A.so B.so: a program that loads both plug-ins, with the library on its own or not.
#include <dlfcn.h>

#include <cstdio>
#include <string_view>

namespace {

int check(const char* path, int mode, const char* function) {
  void* plug_in = dlopen(path, RTLD_LAZY | mode);
  if (plug_in == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto run = reinterpret_cast<int (*)()>(dlsym(plug_in, function));
  const int line = run();
  if (line != 0) std::fprintf(stderr, "%s: plug_in.cc:%d\n", path, line);
  dlclose(plug_in);
  return line;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const int mode = std::string_view(arguments[1]) == "local" ? RTLD_LOCAL : RTLD_GLOBAL;
  for (int i = 0; i < 2; ++i) {
    if (check(arguments[2], mode, "check_plug_in_a") != 0 || check(arguments[3], mode, "check_plug_in_b") != 0)
      return 1;
  }
  return 0;
}
