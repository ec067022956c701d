"""Only the command line prints: reports return lines, and modules below them hand over warnings."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import tare

ROOT = Path(tare.__file__).resolve().parent
# Commands print. Reports may, and so may the screen. printable.py has `say`, terminal.py the progress line, errors.py `warn`.
MAY_PRINT = ("commands/", "reports/", "tui/", "cli.py")
PRINTERS = {"printable.py", "terminal.py", "errors.py"}


def prints(source: str) -> list[int]:
    """Lines that call print or say, or that write to a standard stream."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        call = node.func
        if isinstance(call, ast.Name) and call.id in ("print", "say"):
            found.append(node.lineno)
        if isinstance(call, ast.Attribute) and call.attr in ("write", "writelines"):
            owner = ast.unparse(call.value)
            if owner.startswith(("sys.stdout", "sys.stderr")):
                found.append(node.lineno)
    return found


def below_reports() -> list[Path]:
    names = sorted(ROOT.rglob("*.py"))
    return [
        path for path in names if not str(path.relative_to(ROOT)).startswith(MAY_PRINT) and path.name not in PRINTERS
    ]


@pytest.mark.parametrize("path", below_reports(), ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_below_reports_prints(path: Path) -> None:
    assert prints(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source", ["print(1)", "say(['x'])", "sys.stderr.write('x')", "def f():\n    sys.stdout.buffer.write(b'')"]
)
def test_the_test_sees_each_way_to_print(source: str) -> None:
    assert prints(source)
