"""Runs real programs with libtare-gvariant.so preloaded and without, each time on a bus and in a home of their own: they
must say the same, and keep the same. real_programs.py PRELOAD CASE [CLIENT], where CASE is gsettings, dconf, gdbus or ibus.

Prints "skipped: ..." where a program isn't installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCHEMA = """<schemalist>
<enum id="org.tare.test.Side"><value nick="left" value="0"/><value nick="right" value="1"/></enum>
<schema id="org.tare.test" path="/org/tare/test/">
  <key name="text" type="s"><default>'none'</default></key>
  <key name="number" type="i"><default>1</default></key>
  <key name="words" type="as"><default>[]</default></key>
  <key name="pairs" type="a(si)"><default>[('one', 1)]</default></key>
  <key name="table" type="a{sv}"><default>{}</default></key>
  <key name="perhaps" type="ms"><default>nothing</default></key>
  <key name="side" enum="org.tare.test.Side"><default>'left'</default></key>
</schema></schemalist>
"""

GSETTINGS = """
set -e
gsettings set org.tare.test text 'Grüße'
gsettings set org.tare.test number 42
gsettings set org.tare.test words "['a', 'longer word', '']"
gsettings set org.tare.test pairs "[('two', 2), ('three', 3)]"
gsettings set org.tare.test table "{'size': <uint32 7>, 'rect': <(1, 2.5, [true])>, 'more': <{'x': <'y'>}>}"
gsettings set org.tare.test perhaps "'just'"
gsettings set org.tare.test side right
gsettings set org.tare.test number "'no number'" || echo refused
gsettings list-recursively org.tare.test
gsettings reset org.tare.test words
gsettings get org.tare.test words
gsettings range org.tare.test side
gsettings describe org.tare.test side
dconf dump /org/tare/
"""

DCONF = """
set -e
dconf write /org/tare/text "'a text'"
dconf write /org/tare/table "{'size': <uint32 7>, 'words': <['x', 'y']>}"
dconf write /org/tare/deep "[[(1, @mv <'inside'>), (2, nothing)]]"
dconf write /org/tare/gone "true"
dconf reset /org/tare/gone
printf '[loaded]\\nkey=[1, 2, 3]\\nother=(byte 0x07, int64 -1)\\n' | dconf load /org/tare/
dconf read /org/tare/deep
dconf read /org/tare/table
dconf list /org/tare/
dconf dump /
"""

GDBUS = """
call() { gdbus call --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus --method "$@"; }
call org.freedesktop.DBus.NameHasOwner org.freedesktop.DBus
call org.freedesktop.DBus.GetNameOwner org.freedesktop.DBus
call org.freedesktop.DBus.UpdateActivationEnvironment "{'A': 'b', 'C': 'd'}"
call org.freedesktop.DBus.Properties.GetAll org.freedesktop.DBus
call org.freedesktop.DBus.NoSuchMethod "[<1>, <'two'>]" 2>&1
gdbus emit --session --object-path /org/tare --signal org.tare.Signal.Changed "{'x': <(1, 'two', [3.0])>}" "@as []"
gdbus introspect --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus
gdbus introspect --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus --xml
"""

IBUS = """
ibus-daemon --single --panel=disable --config=disable --emoji-extension=disable --cache=none &
daemon=$!
for attempt in $(seq 100); do
  address=$(ibus address 2>/dev/null)
  case $address in unix:*) break ;; esac
  sleep 0.1
done
ibus version
ibus list-engine
ibus engine xkb:us::eng 2>/dev/null
ibus engine
gdbus introspect --address "$address" --dest org.freedesktop.IBus --object-path /org/freedesktop/IBus --xml
"$CLIENT" "$address"
kill -0 $daemon && echo "still running"
kill $daemon
wait $daemon 2>/dev/null
"""

CASES = {
    "gsettings": (GSETTINGS, ["gsettings", "glib-compile-schemas", "dconf"]),
    "dconf": (DCONF, ["dconf"]),
    "gdbus": (GDBUS, ["gdbus"]),
    "ibus": (IBUS, ["ibus-daemon", "ibus", "gdbus"]),
}

EXPECTED = {
    "gsettings": "org.tare.test pairs [('two', 2), ('three', 3)]",
    "dconf": "[[(1, @mv <'inside'>), (2, nothing)]]",
    "gdbus": "org.freedesktop.DBus.Error.UnknownMethod",
    "ibus": "400 answers",
}


def run(script: str, preload: str, client: str) -> str:
    """The output of the script, under a bus of its own without the user's settings."""
    with tempfile.TemporaryDirectory(prefix="tare-gvariant-") as folder:
        home = Path(folder)
        schemas = home / "schemas"
        schemas.mkdir()
        (schemas / "org.tare.test.gschema.xml").write_text(SCHEMA)
        if shutil.which("glib-compile-schemas"):
            subprocess.run(["glib-compile-schemas", "--strict", schemas], check=True)
        environment = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "GSETTINGS_BACKEND": "dconf",
            "GSETTINGS_SCHEMA_DIR": str(schemas),
            "CLIENT": client,
            "DISPLAY": ":97",  # ibus names its socket's file by it; nothing connects there
            **{f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "CACHE", "DATA", "STATE")},
            "XDG_RUNTIME_DIR": str(home),
            "HOME": str(home),
        }
        if preload:
            environment["LD_PRELOAD"] = preload
        ended = subprocess.run(
            ["dbus-run-session", "--", "sh", "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    for line in ended.stderr.splitlines():
        if "CRITICAL" in line or "ld.so" in line:
            print(f"said {'with' if preload else 'without'} the preload: {line}")
    # names of connections differ from run to run, and what was made of the folder's name
    text = re.sub(r":1\.\d+", ":1.N", ended.stdout.replace(folder, "HOME"))
    return f"{text}status {ended.returncode}\n"


def main() -> int:
    preload, case = sys.argv[1:3]
    client = sys.argv[3] if len(sys.argv) > 3 else ""
    script, programs = CASES[case]
    for program in ["dbus-run-session", *programs]:
        if shutil.which(program) is None:
            print(f"skipped: no {program}; tools/bootstrap.sh test installs it")
            return 0
    alone = run(script, "", client)
    preloaded = run(script, preload, client)
    if alone != preloaded:
        print(f"{case} without the preload:\n{alone}\nwith it:\n{preloaded}")
        return 1
    lines = alone.count("\n")
    print(f"{case}: {lines} lines, the same with and without")
    # that they did what they were asked to
    return 0 if EXPECTED[case] in alone else 1


if __name__ == "__main__":
    sys.exit(main())
