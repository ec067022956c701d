"""Checks the texts of gdb for values of the library's types: gdb_test.py PROGRAM PRINTERS."""

import subprocess
import sys

EXPECTED = {
    "atom": '"main-header"',
    "null_atom": "null",
    "bytes": '"some bytes"',
    "stream": '"a line 7"',
    "buffer": "tare::Buffer of 3, capacity",
    "buffer.data_[2]": "= 4",
    "*style.stored_": "weight = 700",
    "compressed": "(unsigned long *) 0x",
    "nowhere": "null",
    "text_value": "'s' \"a value\"",
    "number_value": "'u' 4711",
    "array_value": "'au' 4 bytes",
    "node": "(Node *) 0x",
    "node->next": "(Node *) 0x",
    "node->all": "tare::gc::HeapVector of 1, capacity",
    "node->number": "= 42",
}


def main() -> int:
    program, printers = sys.argv[1:3]
    commands = ["set confirm off", "set debuginfod enabled off", f"source {printers}", "break stop_here", "run", "up"]
    commands += [part for name in EXPECTED for part in (f"echo @{name}\\n", f"print {name}")]
    arguments = [part for command in commands for part in ("-ex", command)]
    gdb = ["gdb", "-nx", "-batch", *arguments, program]
    output = subprocess.run(gdb, capture_output=True, text=True, check=False, timeout=120)
    failed = False
    for name, wanted in EXPECTED.items():
        shown = output.stdout.partition(f"@{name}\n")[2].partition("\n@")[0]
        if wanted not in shown:
            print(f"{name}: {wanted} expected, shown was:\n{shown}", file=sys.stderr)
            failed = True
    if failed:
        print(output.stdout[-3000:], output.stderr[-3000:], file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
