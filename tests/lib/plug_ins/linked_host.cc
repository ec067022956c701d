// A program that is linked with both plug-ins.
#include <cstdio>

extern "C" int check_plug_in_a();
extern "C" int check_plug_in_b();

int main() {
  const int lines[] = {check_plug_in_a(), check_plug_in_b(), check_plug_in_a()};
  std::printf("plug_in.cc: %d %d %d\n", lines[0], lines[1], lines[2]);
  return lines[0] == 0 && lines[1] == 0 && lines[2] == 0 ? 0 : 1;
}
