"""The library's error enums follow one convention: XError, whose first value is None, and describe(XError)."""

import re
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
ENUM = re.compile(
    r"^enum class (\w*(?:Error|Problem|Failure|Status)) : std::uint8_t \{\s*(?://.*\s*)*(\w+)", re.MULTILINE
)
DESCRIBED_BY_PARSE_ERROR = "TextError"  # ParseError::message has the place, too


def broken_enums(headers: dict[str, str]) -> list[str]:
    wrong = []
    for header, text in headers.items():
        for name, first in ENUM.findall(text):
            if not name.endswith("Error"):
                wrong.append(f"{header}: {name} isn't called ...Error")
            if first != "None":
                wrong.append(f"{header}: {name} doesn't begin with None")
            described = f"TARE_API const char* describe({name} error) noexcept;"
            if described not in text and name != DESCRIBED_BY_PARSE_ERROR:
                wrong.append(f"{header}: no {described}")
    return wrong


def test_error_enums_follow_the_convention() -> None:
    headers = {str(path): path.read_text(encoding="utf-8") for path in (REPO / "include/tare").rglob("*.h")}
    assert sum(len(ENUM.findall(text)) for text in headers.values()) >= 7
    assert broken_enums(headers) == []


def test_a_broken_enum_is_found() -> None:
    text = "enum class CageProblem : std::uint8_t {\n  // why\n  NoMemory,\n};\n"
    assert len(broken_enums({"cage.h": text})) == 3
