/* A C program with the installed library: its compiler links no C++ library by itself. */
#include <string.h>
#include <tare/variant/c.h>

int main(void) {
  tare_variant* value = tare_variant_new("(is)", 7, "text");
  const int is_right = value != NULL && strcmp(tare_variant_get_type_string(value), "(is)") == 0;
  tare_variant_unref(value);
  return is_right ? 0 : 1;
}
