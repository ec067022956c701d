/* The C API beside GLib: the same calls, in C, give the same types and bytes. */
#include <gio/gio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tare/variant/c.h"

#define VALUE GVariant
#define BUILDER GVariantBuilder
#define DICT GVariantDict
#define ITER GVariantIter
#define TYPE(text) G_VARIANT_TYPE(text)
#define V(name) g_variant_##name
#define B(name) g_variant_builder_##name
#define D(name) g_variant_dict_##name
#define I(name) g_variant_iter_##name
#define MESSAGE(name) glib_##name
#include "messages.inc"
#undef VALUE
#undef BUILDER
#undef DICT
#undef ITER
#undef TYPE
#undef V
#undef B
#undef D
#undef I
#undef MESSAGE

#define VALUE tare_variant
#define BUILDER tare_variant_builder
#define DICT tare_variant_dict
#define ITER tare_variant_iter
#define TYPE(text) text
#define V(name) tare_variant_##name
#define B(name) tare_variant_builder_##name
#define D(name) tare_variant_dict_##name
#define I(name) tare_variant_iter_##name
#define MESSAGE(name) tare_##name
#include "messages.inc"

static int failures = 0;

static void compare(const char* name, GVariant* theirs, tare_variant* ours) {
  if (theirs == NULL || ours == NULL) {
    printf("%s: no value of %s\n", name, theirs == NULL ? "GLib's" : "ours");
    ++failures;
    return;
  }
  g_variant_ref_sink(theirs);
  if (!tare_variant_is_floating(ours)) printf("%s: isn't floating\n", name), ++failures;
  tare_variant_ref_sink(ours);
  const size_t size = g_variant_get_size(theirs);
  if (strcmp(g_variant_get_type_string(theirs), tare_variant_get_type_string(ours)) != 0) {
    printf("%s: type %s, GLib has %s\n", name, tare_variant_get_type_string(ours), g_variant_get_type_string(theirs));
    ++failures;
  } else if (size != tare_variant_get_size(ours) ||
             (size != 0 && memcmp(g_variant_get_data(theirs), tare_variant_get_data(ours), size) != 0)) {
    char* their_text = g_variant_print(theirs, TRUE);
    char* our_text = tare_variant_print(ours, TARE_VARIANT_PRINT_TYPES);
    printf("%s: other bytes:\n  %s\nGLib has\n  %s\n", name, our_text, their_text);
    g_free(their_text);
    free(our_text);
    ++failures;
  }
  tare_variant_unref(ours);
  g_variant_unref(theirs);
}

int main(void) {
  const size_t count = sizeof glib_messages / sizeof glib_messages[0];
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < count; ++i) {
      compare(glib_messages[i].name, glib_messages[i].make(), tare_messages[i].make());
    }
  }
  printf("%zu messages, %d failures\n", count, failures);
  return failures != 0;
}
