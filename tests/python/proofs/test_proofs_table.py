"""The table of bench/proofs.py: rows that are measured again replace the old ones, and the sums are those of all rows."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[3] / "bench"))

proofs: Any = importlib.import_module("proofs")  # a script of the benches, not of a package
table: Any = importlib.import_module("harness.results").table


def row(name: str, rss: str, measured: str, of_proof: str = "yes") -> list[str]:
    cells = [
        name,
        "a, b",
        "-5",
        "-4",
        rss,
        "-5",
        of_proof,
        "3",
        "3",
        "exact",
        "-1.0",
        "-0.9",
        "yes",
        "yes",
        "-0.9",
        "yes",
        "yes",
        measured,
    ]
    assert len(cells) == len(proofs.PAIR_HEADER)
    return cells


OLD = [
    row("01-clownshoes", "yes", "2026-11-01"),
    row("05-duplicates", "**no**", "2026-11-01"),
    row("05-duplicates: remedy alone", "at least", "2026-11-01", "**no**"),
]


def test_rows_are_read_as_they_were_written() -> None:
    cases = [["git", "1 churn operator\\|(a, b)", "-1", "-1", "-1", "-1", "-1", "2026-11-01"]]
    text = f"text\n\n{table(proofs.PAIR_HEADER, OLD)}\nmore\n\n{table(proofs.CASE_HEADER, cases)}\nRemarks:\n\n- a: | b |\n"
    assert proofs.rows_in(text, proofs.PAIR_HEADER) == OLD
    assert proofs.rows_in(text, proofs.CASE_HEADER) == cases
    assert proofs.rows_in("| pair | lenses |\n|---|---|\n| a | b |\n", proofs.PAIR_HEADER) == [], "an older table"


def test_a_part_replaces_the_rows_of_its_pairs() -> None:
    new = [row("05-duplicates", "yes", "2026-11-02"), row("03-eager-buffers", "yes", "2026-11-02")]
    found = proofs.with_rows(OLD, new, lambda name: name.split(":")[0])
    assert [(each[0], each[-1]) for each in found] == [
        ("01-clownshoes", "2026-11-01"),
        ("03-eager-buffers", "2026-11-02"),
        ("05-duplicates", "2026-11-02"),
    ]


def test_sums_tell_pairs_that_change_more_from_remedies_alone() -> None:
    text = proofs.summaries(OLD)
    of_list, of_proof = text.split("Met by the proof:")
    assert (
        "all rows: RSS within 20 % or 1 % of the peak: 1 of 3, 1 more as lower bounds; calls exact: 3 of 3" in of_list
    )
    assert "no other change: RSS within 20 % or 1 % of the peak: 1 of 2, 1 more as lower bounds" in of_list
    assert "pairs that change more: RSS within 20 % or 1 % of the peak: 0 of 1" in of_list
    assert "all rows: RSS within 20 % or 1 % of the peak: 2 of 3" in of_proof


def test_every_remark_is_about_a_row() -> None:
    assert {name.split(":")[0] for name in proofs.REASONS} <= set(proofs.PAIRS)
    assert set(proofs.CHANGE_MORE) <= set(proofs.PAIRS)
