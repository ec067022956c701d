"""Checks the texts of lldb for values of the library's types: lldb_test.py LLDB PROGRAM FORMATTERS."""

import subprocess
import sys

EXPECTED = {
    "atom": '"main-header"',
    "null_atom": "null",
    "bytes": '"some bytes"',
    "stream": '"a line 7"',
    "buffer": "tare::Buffer of 3, capacity",
    "buffer[2]": "= 4",
    "style": "= tare::RefPtr",
    "style.stored_->weight": "= 700",
    "compressed": "*) 0x",
    "nowhere": "null",
    "text_value": "'s' \"a value\"",
    "number_value": "'u' 4711",
    "array_value": "'au' 4 bytes",
    "node": "(Node *) 0x",
    "node->next": "(Node *) 0x",
    "node->all": "tare::gc::HeapVector of 1, capacity",
    "node->number": "= 42",
}
# frame variable reads memory alone, but follows no operator->: a Persistent's object by its cell's pointer
PLACES = {name: name.replace("node->", "object->") for name in EXPECTED}


def main() -> int:
    lldb, program, formatters = sys.argv[1:4]
    commands = [f"command script import {formatters}", "breakpoint set -n stop_here", "run", "up"]
    for name in EXPECTED:
        commands += [f"script print('@{name}')", f"frame variable -P 2 -- {PLACES[name]}"]
    arguments = [part for command in commands for part in ("-o", command)]
    ended = subprocess.run(
        [lldb, "--no-lldbinit", "--batch", *arguments, program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    failed = False
    for name, wanted in EXPECTED.items():
        shown = ended.stdout.partition(f"\n@{name}\n")[2].partition("\n@")[0]
        if wanted not in shown:
            print(f"{name}: {wanted} expected, shown was:\n{shown}", file=sys.stderr)
            failed = True
    if failed:
        print(ended.stdout[-4000:], ended.stderr[-3000:], file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
