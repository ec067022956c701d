"""Files for services of code review have what `tare report`, `tare check` and `tare sql` state, and a file with one damaged value doesn't."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from conftest import HERE, Tare

UNITS = {"allocations": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
CHANGED = "changed"


class Shown(NamedTuple):
    """The fields of a finding or of a broken limit that every review format shows."""

    rule: str
    file: str
    line: int
    function: str
    amount: str
    text: str


class Truth(NamedTuple):
    """The same by another command, with the exact amount."""

    rule: str
    file: str
    line: int
    function: str
    amount: float
    text: str


def is_amount(text: str, amount: float) -> bool:
    """True if `1.36 MiB` or `1,204 allocations` is the amount, rounded to the digits that the text has."""
    number, unit = text.split(" ")
    digits = number.replace(",", "")
    half = 0.5 / 10 ** len(digits.partition(".")[2])
    return abs(float(digits) - amount / UNITS[unit]) <= half


def agree(shown: list[Shown], truths: list[Truth]) -> bool:
    """True if each is one of the other."""
    left = list(truths)
    for each in shown:
        of_it = [
            t
            for t in left
            if each._replace(amount="") == Shown(*t[:4], "", t.text) and is_amount(each.amount, t.amount)
        ]
        if not of_it:
            return False
        left.remove(of_it[0])
    return not left


@pytest.fixture(scope="module")
def trace(tare_module: Tare, program: Callable[..., Path]) -> Path:
    return tare_module.record(program("reviewed.c"), options=("--content",))


@pytest.fixture
def reviewing(tare_module: Tare, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs a command in the folder of the sources, as a service does; what it prints."""
    here = Tare(tare_module.command, HERE / "programs")

    def run(*arguments: str | Path, returncode: int = 0, **env: str) -> str:
        done = here(*arguments, env=env)
        assert done.returncode == returncode, done.stderr
        return done.stdout

    return run


def findings(tare: Tare, trace: Path) -> list[Truth]:
    """By `tare report`: a finding a line of source."""
    return [
        Truth(
            each["lens"], os.path.basename(each["file"]), each["line"], each["function"],
            each["bytes_peak"] or each["bytes_end"] or each["bytes_total"], each["remedy"],
        )
        for each in tare.report(trace)["findings"]
    ]  # fmt: skip


def is_still(read: Callable[[Any], list[Shown]], content: Any, wanted: list[Truth]) -> bool:
    try:
        return agree(read(content), wanted)
    except (AttributeError, LookupError, ValueError):
        return False  # of another form


# ---- SARIF


def of_sarif(document: Any) -> list[Shown]:
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    found = []
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        function, amount, text = re.fullmatch(r"(\S+): ([\d.,]+ \w+)\. (.*)", result["message"]["text"]).groups()  # type: ignore[union-attr]
        rule = result["ruleId"] if rules[result["ruleIndex"]]["id"] == result["ruleId"] else "of another index"
        rule = rule if is_amount(amount, result["properties"]["bytes"]) else "of another amount"
        rule = (
            rule
            if rules[result["ruleIndex"]]["defaultConfiguration"]["level"] == result["level"]
            else "of another level"
        )
        file, line = unquote(place["artifactLocation"]["uri"]), place["region"]["startLine"]
        found.append(Shown(rule, file, line, function, amount, text))
    return found


def damaged_documents(value: Any) -> Iterator[Any]:
    """Copies of the JSON value; in each, one number or text is another."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from ({**value, key: changed} for changed in damaged_documents(each))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from ([*value[:number], changed, *value[number + 1 :]] for changed in damaged_documents(each))
    elif isinstance(value, int):
        yield value + (1 << 16)
    elif isinstance(value, str):
        yield re.sub(r"\d(?=[\d.,]* )", lambda digit: str((int(digit[0]) + 1) % 10), value, count=1) + CHANGED


def test_sarif_has_each_finding(tare_module: Tare, trace: Path, reviewing: Callable[..., str]) -> None:
    wanted = findings(tare_module, trace)
    assert {each.rule for each in wanted} >= {"duplicates", "leaks"}
    document = json.loads(reviewing("export", trace, "--to", "sarif"))
    assert agree(of_sarif(document), wanted)
    (run,) = document["runs"]
    prints = [result["partialFingerprints"]["tareSite/v1"] for result in run["results"]]
    assert len(set(prints)) == len(prints)
    damages = 0
    for number, result in enumerate(run["results"]):
        for changed in damaged_documents({key: result[key] for key in result if key != "partialFingerprints"}):
            results = [*run["results"][:number], changed, *run["results"][number + 1 :]]
            assert not is_still(of_sarif, {"runs": [{**run, "results": results}]}, wanted), changed
            damages += 1
    assert damages >= 7 * len(wanted)


def test_sarifs_bytes_are_those_of_sql(
    tare_module: Tare, program: Callable[..., Path], reviewing: Callable[..., str]
) -> None:
    trace = tare_module.record(program("reviewed.c"), name="plain.tare")
    rows = tare_module.sql(
        trace,
        "select f.line, sum(peak_blocks * header_bytes) as headers from site_sizes"
        " join stacks using (stack_id) join frames f using (location_id) where f.file like '%reviewed.c' group by all",
    )
    headers = {row["line"]: round(row["headers"]) for row in rows}
    results = json.loads(reviewing("export", trace, "--to", "sarif", "--lens", "headers"))["runs"][0]["results"]
    assert results
    for result in results:
        line = result["locations"][0]["physicalLocation"]["region"]["startLine"]
        assert result["properties"]["bytes"] == headers[line]


def test_each_result_of_sarif_has_a_place(
    tare_module: Tare, program: Callable[..., Path], reviewing: Callable[..., str]
) -> None:
    """A service refuses the whole file otherwise. The program has no debug info, and its library's functions have no names."""
    trace = tare_module.record(program("exported.cc", "-g0", "-s"), name="stripped.tare", options=("--content",))
    results = json.loads(reviewing("export", trace, "--to", "sarif"))["runs"][0]["results"]
    assert results
    for result in results:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] and place["region"]["startLine"] >= 1


# ---- GitHub


def unescaped(text: str) -> str:
    for escape, character in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(escape, character)
    return text


def of_annotations(text: str) -> list[Shown]:
    found = []
    for line in text.splitlines():
        place, title, message = re.fullmatch(r"::warning (.*),title=(.*?)::(.*)", line).groups()  # type: ignore[union-attr]
        file, number = re.fullmatch(r"file=(.*),line=(\d+)", place).groups()  # type: ignore[union-attr]
        rule, amount = unescaped(title).split(": ")
        function, remedy = unescaped(message).split(": ", 1)
        found.append(Shown(rule, unescaped(file), int(number), function, amount, remedy))
    return found


def of_summary(text: str) -> list[Shown]:
    rows = re.findall(r"^\| ([^|]*) \| `(.*) \((.*):(\d+)\)` \| (.*) \| (.*) \|$", text, re.MULTILINE)
    return [
        Shown(rule, file, int(line), function, amount, remedy) for rule, function, file, line, amount, remedy in rows
    ]


def damaged_texts(text: str) -> Iterator[str]:
    """Copies; in each, one word or number is another."""
    for word in re.finditer(r"\w+", text):
        other = str(int(word[0]) + 1) if word[0].isdecimal() else word[0] + "x"
        yield text[: word.start()] + other + text[word.end() :]


def test_annotations_and_the_summary_have_each_finding(
    tare_module: Tare, trace: Path, reviewing: Callable[..., str], tmp_path: Path
) -> None:
    wanted, summary = findings(tare_module, trace), tmp_path / "summary.md"
    text = reviewing("export", trace, "--to", "github", GITHUB_STEP_SUMMARY=str(summary))
    head, _, table = summary.read_text().partition("|---|---|---|---|\n")
    assert agree(of_annotations(text), wanted) and agree(of_summary(table), wanted)
    whole = tare_module.report(trace)["peak"]["gross_bytes"]
    assert is_amount(re.search(r": ([\d.]+ \w+) at the peak", head)[1], whole)  # type: ignore[index]
    for read, right in ((of_annotations, text), (of_summary, table)):
        assert is_still(read, right, wanted)
        for wrong in damaged_texts(right):
            assert not is_still(read, wrong, wanted), wrong


# ---- Broken limits


def of_code_quality(issues: Any) -> list[Shown]:
    found = []
    for issue in issues:
        if issue["severity"] != "major" or not re.fullmatch(r"[0-9a-f]{32}", issue["fingerprint"]):
            raise ValueError(issue)
        function, file, line, amount, limit = re.fullmatch(  # type: ignore[union-attr]
            r"(\S+) \((.*):(\d+)\) has ([\d.,]+ \w+); (.*)", issue["description"]
        ).groups()
        if (file, int(line)) != (issue["location"]["path"], issue["location"]["lines"]["begin"]):
            raise ValueError(issue)
        found.append(Shown(issue["check_name"], file, int(line), function, amount, limit))
    return found


def of_errors(text: str) -> list[Shown]:
    lines = [line for line in text.splitlines() if line.startswith("::error ")]
    found = of_annotations(
        "\n".join(line.replace("::error", "::warning").replace(",title=", ",title=x: ", 1) for line in lines)
    )
    shown = []
    for each in found:
        function, file, line, amount, limit = re.fullmatch(  # type: ignore[union-attr]
            r"(\S+) \((.*):(\d+)\) has ([\d.,]+ \w+); (.*)", f"{each.function}: {each.text}"
        ).groups()
        if (file, int(line)) != (each.file, each.line):
            raise ValueError(each)
        shown.append(Shown(f"tare/{each.amount}", file, int(line), function, amount, limit))
    return shown


def test_broken_limits_have_their_lines(
    tare_module: Tare, trace: Path, reviewing: Callable[..., str], tmp_path: Path
) -> None:
    budget, file = tmp_path / "tare.toml", tmp_path / "quality.json"
    budget.write_text('[budget]\n"total.blocks" = 10\n"peak.gross_bytes" = "10K"\n')
    text = reviewing("check", trace, "--budget", budget, "--gitlab", file, "--github", returncode=1)
    rows = tare_module.sql(
        trace,
        "select f.function, f.line, sum(total_blocks) as calls, sum(peak_blocks * (usable_bytes + header_bytes)) as bytes"
        " from site_sizes join stacks using (stack_id) join frames f using (location_id)"
        " where f.file like '%reviewed.c' group by all",
    )
    limits = {}
    for name in ("total.blocks", "peak.gross_bytes"):
        (limits[name], *_) = re.findall(rf"{re.escape(name)}: .*, allowed .*", text)
    wanted = [
        Truth(f"tare/{limit}", "reviewed.c", row["line"], row["function"], row[column], limits[limit])
        for limit, column in (("total.blocks", "calls"), ("peak.gross_bytes", "bytes"))
        for largest in [max(row[column] for row in rows)]
        for row in rows
        if row[column] >= largest / 10
    ]
    issues = json.loads(file.read_text())
    assert len(wanted) == 5 and agree(of_code_quality(issues), wanted) and agree(of_errors(text), wanted)
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    for changed in damaged_documents(issues):
        assert not is_still(of_code_quality, changed, wanted), changed
    annotations = "".join(f"{line}\n" for line in text.splitlines() if line.startswith("::"))
    for wrong in damaged_texts(annotations):
        assert not is_still(of_errors, wrong, wanted), wrong
