"""Writes keyfiles for `dconf compile`: 20,000 keys with values as desktops have them. settings.py FOLDER"""

import sys
from pathlib import Path

VALUES = [
    "true",
    "uint32 {n}",
    "'a text of the setting number {n}'",
    "['<Super>{n}', '<Alt>Tab', 'XF86AudioPlay']",
    "({n}, {n}, 640, 480)",
    "{{'name': <'window {n}'>, 'size': <(uint32 640, uint32 {n})>, 'visible': <true>, 'opacity': <0.75>}}",
    "[('xkb', 'us'), ('xkb', 'de+nodeadkeys'), ('ibus', 'engine-{n}')]",
    "@as []",
]

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for group in range(100):
    lines = [f"[org/example/part-{group}]"]
    lines += [f"key-{n}={VALUES[n % len(VALUES)].format(n=n)}" for n in range(200)]
    (folder / f"{group:02}-settings").write_text("\n".join(lines) + "\n")
