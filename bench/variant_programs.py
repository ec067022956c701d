"""The variant bench's part on real programs: each on a bus and in a home of its own, with libtare-gvariant.so preloaded into
all of them and without by turns.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from harness.measure import BUILD, MeasuredCommandFailed, measure
from harness.results import Results, table
from variant_preload import PRELOAD, SUBJECTS

CLIENT = BUILD / "variant/bench-variant-ibus-client"
KEYS = 20_000  # start-up is then a tenth

IBUS = f"""
ibus-daemon --single --panel=disable --config=disable --emoji-extension=disable --cache=none &
daemon=$!
for attempt in $(seq 100); do
  address=$(ibus address 2>/dev/null)
  case $address in unix:*) break ;; esac
  sleep 0.1
done
ibus engine xkb:us::eng 2>/dev/null
{CLIENT} "$address" {KEYS} || exit 1
kill $daemon
wait $daemon
exit 0
"""

DCONF = """
set -e
for i in $(seq 100); do
  dconf write /org/tare/table$i "{'size': <uint32 $i>, 'words': <['x', 'y']>, 'deep': <[(1, @mv <'inside'>), (2, nothing)]>}"
  dconf read /org/tare/table$i
done
for i in $(seq 20); do dconf dump /; done
"""

GDBUS = """
set -e
for i in $(seq 200); do
  gdbus call --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus \
    --method org.freedesktop.DBus.UpdateActivationEnvironment "{'A': '$i', 'C': 'd'}"
done
gdbus introspect --session --dest org.freedesktop.DBus --object-path /org/freedesktop/DBus --recurse
"""

# Case: description, script, required programs.
CASES = {
    "ibus-daemon": (f"{KEYS:,} keys typed into it by a client of GDBus", IBUS, ["ibus-daemon", "ibus"]),
    "dconf": ("100 dictionaries written and read, 20 dumps; a process each", DCONF, ["dconf"]),
    "gdbus": ("200 method calls, a process each", GDBUS, ["gdbus"]),
}


def run(results: Results, case: str, subject: str, script: str) -> None:
    with tempfile.TemporaryDirectory(prefix="tare-variant-") as home:
        environment = {
            "LC_ALL": "C.UTF-8",
            "DISPLAY": ":97",  # ibus names its socket's file by it; nothing connects there
            "HOME": home,
            "XDG_RUNTIME_DIR": home,
            **{f"XDG_{kind}_HOME": f"{home}/{kind.lower()}" for kind in ("CONFIG", "CACHE", "DATA", "STATE")},
        }
        preload = f"export LD_PRELOAD={PRELOAD}\n" if SUBJECTS[subject] else ""
        usage = measure(["dbus-run-session", "--", "sh", "-c", preload + script], Path(home), environment)
    results.add(f"{case}/program", subject, "cpu", usage.cpu_seconds, "s")


def run_all(results: Results, runs: int) -> bool:
    """True if all that is installed could be measured."""
    if not PRELOAD.exists():
        return True
    complete = True
    for case, (_, script, programs) in CASES.items():
        missing = [program for program in ["dbus-run-session", *programs] if shutil.which(program) is None]
        if missing:
            results.remark(f"{case}: {missing[0]} isn't installed")
            continue
        for _ in range(runs):
            for subject in SUBJECTS:
                print(f"{case} {subject}", flush=True)
                try:
                    run(results, case, subject, script)
                except MeasuredCommandFailed as failure:
                    results.remark(f"{case} {subject}: {failure}")
                    complete = False
    return complete


def section(results: Results) -> str:
    """The part of RESULTS.md; nothing where nothing was measured."""
    rows = []
    for case, (what, _, _) in CASES.items():
        without, with_preload = (results.median(f"{case}/program", subject, "cpu") for subject in SUBJECTS)
        if without is not None and with_preload is not None:
            ratio = f"{with_preload / without:.2f}"
            rows.append([case, what, f"{without:.2f}", f"{with_preload:.2f}", ratio])
    if not rows:
        return ""
    return f"""
### Whole programs with the preload

CPU of all processes, start-up included, on a bus of their own, by turns. Values are a small part of what they do.

{table(["program", "what it does", "GLib, s", "preload, s", "preload / GLib"], rows)}
"""
