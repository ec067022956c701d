"""The command line: what a newcomer types wrong is answered in one line, and nothing heavy is imported for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import import_module

import pytest
from tare import __version__, cli, schema
from tare.commands import VERBS, completion, module_of
from tare.errors import TareError

HEAVY = {"duckdb", "_duckdb", "numpy", "rich", "argparse", "dataclasses", "inspect", "typing"}


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_tare_imports_nothing_heavy() -> None:
    assert not HEAVY & (modules_after("import tare") - modules_after("pass"))


def test_a_summary_needs_neither_the_duckdb_package_nor_numpy() -> None:
    code = "import tare.cli, tare.recording, tare.ledger, tare.reports.run_summary, tare.database\ntare.database._engine().connect(':memory:')"
    assert not {"duckdb", "numpy", "rich", "dataclasses", "inspect"} & modules_after(code)


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_help_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([verb, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "examples:" in text and f"tare {verb}" in text
    command = import_module(module_of(verb))
    assert command.__doc__ and command.__doc__.startswith(f"`tare {verb}`")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_schema_keeps_to_the_width(width: int) -> None:
    from tare.commands import schema as command

    assert all(len(line) <= width for line in command.lines(list(schema.TABLES), width))


def test_version_and_overview(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"tare {__version__}\n"
    assert cli.main(["--help"]) == 0
    overview = capsys.readouterr().out
    assert all(verb in overview for verb in VERBS)
    assert cli.main([]) == 125


@pytest.mark.parametrize(
    "arguments", [["recrod"], ["report"], ["report", "x", "--sort", "age"], ["report", "x", "--dpeth", "3"]]
)
def test_misuse_raises_one_line(arguments: list[str]) -> None:
    with pytest.raises(TareError) as caught:
        cli._dispatch(arguments)
    assert caught.value.kind == "Usage"
    assert "\n" not in caught.value.message


def test_what_follows_two_dashes_is_the_programs() -> None:
    assert cli._split_command(["-o", "f", "--", "ls", "--", "-l"]) == (["-o", "f"], "--", ["ls", "--", "-l"])
    assert cli._split_command(["-o", "f"]) == (["-o", "f"], "", [])


def test_schema_prints_every_column(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["schema"]) == 0
    text = capsys.readouterr().out
    assert all(column.name in text for table in schema.TABLES for column in table.columns)


@pytest.mark.parametrize(("shell", "check"), [("bash", "-n"), ("zsh", "-n"), ("fish", "-n")])
def test_completion_scripts_parse(shell: str, check: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for option in ("--filter", "--sample", "--model"):
        assert option.lstrip("-") in script
    if shutil.which(shell):
        done = subprocess.run([shell, check], input=script, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr


def test_completion_knows_every_verb() -> None:
    assert set(completion.flags()) == set(VERBS)


def test_an_interrupted_query_is_no_bug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """DuckDB makes an error of its own of Ctrl-C."""

    def interrupted(_arguments: object) -> int:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr(cli, "_dispatch", interrupted)
    assert cli.main(["report", "app.tare"]) == 130
    assert capsys.readouterr().err == ""
