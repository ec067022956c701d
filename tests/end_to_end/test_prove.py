"""tare prove: remedies of planted waste return what is known of them, and what can't be performed is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Tare


@pytest.fixture
def prove(tare: Tare, program: Callable[..., Path]) -> Callable[..., dict[str, Any]]:
    def proven(waste: str, lens: str, *options: str) -> dict[str, Any]:
        trace = tare.record(program("remedies.c"), waste, options=options)
        done = tare("prove", trace, "--lens", lens, "--runs", "1", "--json")
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    return proven


def test_headers_go_with_slabs(prove: Callable[..., dict[str, Any]]) -> None:
    told = prove("nodes", "headers")
    (finding,) = told["findings"]
    assert (finding["function"], finding["not_performed"]) == ("make_node", None)
    proof = finding["proof"]
    assert proof["rewritten_blocks"] == 200_000
    assert proof["calls"]["before"] - proof["calls"]["after"] == pytest.approx(400_000, rel=0.01)
    # 8 bytes of 200,000 blocks
    assert proof["peak_rss_bytes"]["change"] == pytest.approx(-1_600_000, abs=500_000)
    assert proof["faults"]["change"] == pytest.approx(-1_600_000 / 4096, abs=120)
    assert told["together"] is None


def test_churn_goes_with_a_kept_block(prove: Callable[..., dict[str, Any]]) -> None:
    (finding,) = prove("temporaries", "churn")["findings"]
    proof = finding["proof"]
    assert proof["rewritten_blocks"] == 50_000
    assert proof["calls"]["change"] == -99_999  # the first allocation stays


def test_the_numbers_are_those_of_the_list(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("remedies.c"), "nodes")
    every = json.loads(tare("prove", trace, "--all", "--runs", "1", "--json").stdout)["findings"]
    for each in every:
        done = tare("prove", trace, "--finding", str(each["number"]), "--runs", "1")
        if each["not_performed"]:
            assert done.returncode == 2
            assert each["not_performed"] in done.stderr
        else:
            assert done.returncode == 0, done.stderr
            assert f"finding {each['number']}: {each['lens']} at {each['function']}" in done.stdout
    beyond = tare("prove", trace, "--finding", str(len(every) + 1))
    assert beyond.returncode == 2
    assert f"no finding {len(every) + 1}" in beyond.stderr


def test_the_text_fits(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("remedies.c"), "nodes")
    for columns in (60, 80, 120):
        done = tare("prove", trace, "--runs", "1", env={"COLUMNS": str(columns)})
        assert done.returncode == 0, done.stderr
        assert all(len(line) <= columns for line in done.stdout.splitlines()), done.stdout


def test_a_program_without_findings_has_nothing_to_prove(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("remedies.c"), "nothing")
    done = tare("prove", trace)
    assert done.returncode == 0, done.stderr
    assert "no findings" in done.stdout


def test_a_sampled_recording_is_refused(tare: Tare, program: Callable[..., Path]) -> None:
    trace = tare.record(program("remedies.c"), "nodes", options=("--sample", "4K"))
    done = tare("prove", trace)
    assert done.returncode == 2
    assert "sampled" in done.stderr
    assert done.stderr.count("\n") == 1
