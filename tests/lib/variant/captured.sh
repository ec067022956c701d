#!/bin/sh
# captured.sh PROGRAM [ARGUMENT ...]: lets clients and services talk on a bus of their own, keeps what they say, and has PROGRAM read it.
# To be run by dbus-run-session.
set -eu
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
dbus-monitor --binary > "$folder/messages" &
monitor=$!
bus() { # METHOD ARGUMENT ...: a call to the bus itself
  method=$1
  shift
  gdbus call --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus --method "org.freedesktop.DBus.$method" "$@"
}
# until the monitor listens, nothing is kept
tries=0
while [ ! -s "$folder/messages" ] && [ $tries -lt 100 ]; do
  bus GetId > /dev/null
  tries=$((tries + 1))
done
bus ListNames > /dev/null
bus GetConnectionCredentials org.freedesktop.DBus > /dev/null
bus Introspectable.Introspect > /dev/null 2>&1 || true
gdbus introspect --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus > /dev/null
bus GetNameOwner org.tare.Nobody > /dev/null 2>&1 || true # an error
gdbus emit --session --object-path /org/tare/Test --signal org.tare.Test.Changed \
  "{'a': <1>, 'text': <'Grüße'>, 'list': <[(1, 'x'), (2, 'y')]>, 'nested': <{'in': <<byte 7>>}>}" "[1.5, -0.0]" \
  "(@ay [], @a{sv} {}, true, int64 -5, objectpath '/a/b', signature 'a{sv}')"
# a service that the bus starts, where there's one
if [ -e /usr/share/dbus-1/services/ca.desrt.dconf.service ] && command -v dconf > /dev/null; then
  XDG_CONFIG_HOME=$folder dconf write /org/tare/test "[('a', 1), ('b', 2)]" > /dev/null 2>&1 || true
fi
# all said so far is written when this last call is
last=0
while [ $last -lt 100 ] && ! grep -q org.tare.Last "$folder/messages"; do
  bus NameHasOwner org.tare.Last > /dev/null
  last=$((last + 1))
done
sleep 0.2
kill $monitor
wait $monitor || true
TARE_CAPTURED=$folder/messages "$@"
