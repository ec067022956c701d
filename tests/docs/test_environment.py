"""docs/recording.md names every environment variable of ours that the source reads."""

import re
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


def test_every_variable_is_in_the_tables() -> None:
    read = set()
    for folder, ending in (("src", "*.h"), ("src", "*.cc"), ("include", "*.h"), ("python", "*.py")):
        for path in (REPO / folder).rglob(ending):
            text = path.read_text(encoding="utf-8")
            read |= set(re.findall(r'(?:getenv\(|kEnv\w+\[\] = |environ\.get\(|ENVIRONMENT = )"(TARE_\w+)"', text))
    documented = set(re.findall(r"^\| (TARE_\w+) \|", (REPO / "docs/recording.md").read_text(), re.MULTILINE))
    assert {"TARE_SPOOL_DIR", "TARE_REPORT_SHARING", "TARE_DEBUG", "TARE_SUPPRESSIONS"} <= read
    assert documented == read
