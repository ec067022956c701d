"""docs/lenses.md is what the lenses say of themselves."""

import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


def test_the_catalogue_is_up_to_date() -> None:
    made = subprocess.run(
        [sys.executable, REPO / "tools/lens_catalogue.py"], capture_output=True, text=True, check=True
    ).stdout
    assert (REPO / "docs/lenses.md").read_text() == made, (
        "run: .venv/bin/python tools/lens_catalogue.py > docs/lenses.md"
    )
