"""The arguments of a bench that runs named cases in rounds."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def rounds_and_cases(description: str | None, cases: Iterable[str], noun: str = "case") -> tuple[int, list[str]]:
    """--runs (5 where it isn't given), and the names after --case in their order, or all."""
    names = list(cases)
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help=f"rounds a {noun} (default 5)")
    parser.add_argument("--case", action="append", choices=sorted(names), help=f"only this {noun}; may be repeated")
    arguments = parser.parse_args()
    return arguments.runs, arguments.case or names
