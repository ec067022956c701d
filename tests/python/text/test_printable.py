"""Text for a terminal: no control characters but Tare's own styles."""

from __future__ import annotations

import io
import json

from tare.text.printable import PrintableStream, printable, printable_json, say
from tare.text.terminal import shorten, shorten_path

HOSTILE = "evil\x1b]0;OWNED\x07\x1b[31mred\x9b2J\x7f\u202egnp.exe\u2066\ufeff\udcff\U000e0041"
SHOWN = r"evil\x1b]0;OWNED\x07\x1b[31mred\u009b2J\x7f\u202egnp.exe\u2066\ufeff\xff\U000e0041"


def written(text: str) -> str:
    into = io.StringIO()
    PrintableStream(into).write(text)
    return into.getvalue()


def test_controls_are_shown_as_escapes() -> None:
    assert written(HOSTILE) == SHOWN
    assert written("line\n\tnext “Übung” 漢字 👍\n") == "line\n\tnext “Übung” 漢字 👍\n"
    assert written("\r\x00\x0b\x85\u2028") == r"\x0d\x00\x0b\u0085\u2028"


def test_a_name_stays_in_its_line() -> None:
    into = io.StringIO()
    say([f"a {HOSTILE}\n\tforged", "b"], into)
    assert into.getvalue() == f"a {SHOWN}\\x0a\\x09forged\nb\n"
    assert shorten("a\nb", 6) == r"a\x0ab" and shorten_path("/\x1b", 5) == r"/\x1b"
    assert printable(printable(HOSTILE)) == SHOWN


def test_json_stays_exact() -> None:
    text = printable_json(json.dumps({"name": HOSTILE}, ensure_ascii=False))
    assert written(text) == text
    assert json.loads(text) == {"name": HOSTILE}
