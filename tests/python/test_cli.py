"""The command line: what a newcomer types wrong is answered in one line, and nothing heavy is imported for it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from tare import __version__, cli, schema
from tare.commands import GROUPS, VERBS, completion, module_of

HEAVY = {"duckdb", "_duckdb", "numpy", "rich", "argparse", "dataclasses", "inspect", "typing"}


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_tare_imports_nothing_heavy() -> None:
    assert not HEAVY & (modules_after("import tare") - modules_after("pass"))


def test_a_summary_needs_neither_the_duckdb_package_nor_numpy() -> None:
    code = "import tare.cli, tare.analysis.recording, tare.analysis.ledger, tare.reports.run_summary, tare.source.database\ntare.source.database.engine().connect(':memory:')"
    assert not {"duckdb", "numpy", "rich", "dataclasses", "inspect"} & modules_after(code)


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_help_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([*verb.split(), "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0] == f"tare {verb}: {VERBS[verb]}"
    command = import_module(module_of(verb))
    assert command.SYNOPSIS.startswith(f"tare {verb}")
    assert sum(f"tare {verb}" in line for line in command.EXAMPLES.splitlines()) >= 2 or verb == "completion"


# Options whose value belongs to one verb alone: `variant` has GVariant's types, `watch` limits of its own cost.
OWN_VALUES = {("check", "--budget"), ("variant", "--type"), ("fleet add", "--label"), ("fleet add", "--build")}


def test_an_option_has_one_meaning_in_all_verbs() -> None:
    """The same name of its value, and the same short form."""
    seen: dict[str, tuple[object, ...]] = {}
    for verb in VERBS:
        for action in cli.build_parser(verb, import_module(module_of(verb)))._actions:
            for option in action.option_strings:
                form = (action.metavar if action.choices is None else "choices", tuple(action.option_strings))
                if (verb, option) not in OWN_VALUES:
                    assert seen.setdefault(option, form) == form, f"{option} of {verb}"
    assert seen["-n"] == ("N", ("-n", "--rows"))


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_schema_keeps_to_the_width(width: int) -> None:
    from tare.commands import schema as command

    assert all(len(line) <= width for line in command.lines(list(schema.TABLES), width))


def test_version_and_overview(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"tare {__version__}\n"
    assert cli.main(["--help"]) == 0
    overview = capsys.readouterr().out
    assert all(f"  {verb} " in overview for verb in VERBS)
    assert all(len(line) <= 80 for line in overview.splitlines())
    assert cli.main([]) == 2


def test_the_first_group_is_short_and_groups_share_no_verb() -> None:
    assert len(GROUPS[""]) <= 8
    assert {"run", "report", "diff", "check", "top"} <= set(GROUPS[""])
    assert sum(map(len, GROUPS.values())) == len(VERBS)


def test_a_group_of_two_words_lists_its_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["gc", "--help"]) == 0
    text = capsys.readouterr().out
    assert "gc graph" in text and "gc check" in text
    assert cli.main(["gc"]) == 2


@pytest.mark.parametrize(
    ("arguments", "suggested"),
    [
        (["reprot"], "report"),
        (["record"], "run"),
        (["gc", "grph"], "gc graph"),
        (["gc-graph"], "gc graph"),
        (["report"], "FILE"),
        (["report", "x", "--sort", "block"], "blocks"),
        (["report", "x", "--sort", "age"], "requested"),
        (["report", "x", "--sort"], "--sort"),
        (["report", "x", "--dpeth", "3"], "--depth"),
        (["report", "x", "--dpeth=3"], "--depth"),
        (["report", "x", "--depth", "zero"], "--depth"),
        (["report", "x", "--depth", "0"], "--depth"),
        (["report", "x", "-n", "-1"], "--rows"),
        (["report", "x", "--lens", "grwth"], "growth"),
        (["report", "x", "y"], "'y'"),
        (["counts", "x", "--limit", "3"], "--limit"),
        (["schema", "site_size"], "site_sizes"),
        (["attach", "4711", "--for", "ten"], "--for"),
        (["attach"], "PID"),
        (["top", "4711", "--interval", "0"], "--interval"),
        (["tree", "x", "--threshold", "200"], "--threshold"),
        (["compare", "--runs", "0", "--", "a", "--", "b"], "--runs"),
        (["layout", "x", "--model", "jemaloc"], "jemalloc"),
        (["--verbose", "report"], "--verbose"),
    ],
)
def test_misuse_is_one_line_with_status_2(
    arguments: list[str], suggested: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert error.startswith("tare: ") and suggested in error


@pytest.mark.parametrize("arguments", [["run"], ["run", "--nonsense"], ["run", "--sample", "much", "--", "true"]])
def test_misuse_of_run_has_a_status_that_programs_dont_use(arguments: list[str]) -> None:
    assert cli.main(arguments) == 125


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


def completed(words: list[str]) -> list[str]:
    """The words that bash offers in place of the last one."""
    script = completion_of("bash")
    line = " ".join(map(shlex.quote, words))
    code = f"{script}\ncompopt() {{ :; }}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _tare; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def completion_of(shell: str) -> str:
    from tare.reports.shell_completion import SHELLS

    return SHELLS[shell](completion.verbs())


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["tare", "re"], {"report", "replay", "resume"}),
        (["tare", "gc", ""], {"graph", "check"}),
        (["tare", "report", "app.tare", "--lens", "gr"], {"growth"}),
        (["tare", "report", "app.tare", "--lens", "slop,gr"], {"slop,growth"}),
        (["tare", "report", "app.tare", "--mode", "r"], {"rss"}),
        (["tare", "report", "--at", ""], {"peak", "end"}),
        (["tare", "schema", "site_s"], {"site_sizes"}),
        (["tare", "sql", "app.tare", ".t"], {".tables"}),
        (["tare", "sql", "app.tare", "select * from site_s"], {"select * from site_sizes"}),
        (["tare", "gc", "graph", "--ty"], {"--type"}),
        (["tare", "variant", "du"], {"dump"}),
        (["tare", "counts", "--model", "jemalloc-2"], {"jemalloc-2011"}),
        (["tare", "report", "--dep"], {"--depth"}),
    ],
)
def test_bash_offers_values_before_files(words: list[str], offered: set[str]) -> None:
    assert set(completed(words)) == offered


def test_bash_offers_files_where_a_file_belongs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app.tare").touch()
    monkeypatch.chdir(tmp_path)
    assert completed(["tare", "report", "a"]) == ["app.tare"]
    assert completed(["tare", "diff", "app.tare", "a"]) == ["app.tare"]
    assert completed(["tare", "attach", "a"]) in ([], [""]), "a process number, not a file"


def test_an_interrupted_query_is_no_bug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """DuckDB makes an error of its own of Ctrl-C."""

    def interrupted(_arguments: object) -> int:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr(cli, "_dispatch", interrupted)
    assert cli.main(["report", "app.tare"]) == 130
    assert capsys.readouterr().err == ""
