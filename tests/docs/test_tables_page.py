"""docs/tables.md is the list of tables in src/core/columns/schema."""

import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


def test_the_page_is_up_to_date() -> None:
    made = subprocess.run(
        [sys.executable, REPO / "tools/tables_page.py"], capture_output=True, text=True, check=True
    ).stdout
    assert (REPO / "docs/tables.md").read_text(encoding="utf-8") == made, (
        "run: .venv/bin/python tools/tables_page.py > docs/tables.md"
    )
