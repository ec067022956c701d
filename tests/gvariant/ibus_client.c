/* Types into an ibus-daemon: makes an input context, gives it focus, sends keys, and prints the answers.
   gvariant-ibus-client ADDRESS [KEYS] */
#include <gio/gio.h>
#include <stdlib.h>

static GVariant* call(GDBusConnection* bus, const char* path, const char* interface, const char* method,
                      GVariant* arguments) {
  GError* error = NULL;
  GVariant* answer = g_dbus_connection_call_sync(bus, "org.freedesktop.IBus", path, interface, method, arguments, NULL,
                                                 G_DBUS_CALL_FLAGS_NONE, 10000, NULL, &error);
  if (answer == NULL) g_error("%s: %s", method, error->message);
  return answer;
}

int main(int argc, char** argv) {
  GError* error = NULL;
  if (argc != 2 && argc != 3) return 2;
  const unsigned keys = argc == 3 ? (unsigned)atoi(argv[2]) : 400;
  GDBusConnection* bus = g_dbus_connection_new_for_address_sync(
      argv[1], G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, NULL,
      NULL, &error);
  if (bus == NULL) g_error("%s: %s", argv[1], error->message);
  GVariant* made =
      call(bus, "/org/freedesktop/IBus", "org.freedesktop.IBus", "CreateInputContext", g_variant_new("(s)", "test"));
  const char* path = NULL;
  g_variant_get(made, "(&o)", &path);
  const char* context = "org.freedesktop.IBus.InputContext";
  g_variant_unref(call(bus, path, context, "SetCapabilities", g_variant_new("(u)", 9)));
  g_variant_unref(call(bus, path, context, "FocusIn", NULL));
  g_variant_unref(call(bus, path, context, "SetCursorLocation", g_variant_new("(iiii)", 1, 2, 30, 40)));
  int handled = 0;
  int answers = 0;
  for (unsigned key = 0; key < keys; ++key) {
    const unsigned released = key % 2 ? 1U << 30 : 0;
    GVariant* answer = call(bus, path, context, "ProcessKeyEvent",
                            g_variant_new("(uuu)", 'a' + key / 2 % 26, 30 + key / 2 % 26, released));
    gboolean is_handled = FALSE;
    g_variant_get(answer, "(b)", &is_handled);
    handled += is_handled;
    ++answers;
    g_variant_unref(answer);
  }
  g_print("%d answers, %d handled\n", answers, handled);
  g_variant_unref(made);
  g_object_unref(bus);
  return 0;
}
