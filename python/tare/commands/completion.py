"""`tare completion`: a completion script for the shell, made from the verbs' own parsers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tare.commands import VERBS, module_of

if TYPE_CHECKING:
    import argparse

    from tare.reports.shell_completion import Values, Verb

SYNOPSIS = "tare completion bash|zsh|fish"
HELP = "Prints a script that completes verbs, options, and their values: lenses, tables, models, recorded processes, files."
EXAMPLES = """
source <(tare completion bash)
tare completion zsh > "${fpath[1]}/_tare"
tare completion fish > ~/.config/fish/completions/tare.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def run(options: argparse.Namespace) -> int:
    from tare.reports import shell_completion

    print(shell_completion.SHELLS[options.shell](verbs()), end="")
    return 0


def verbs() -> list[Verb]:
    from tare.cli import build_parser
    from tare.reports.shell_completion import Option, Values, Verb

    known = _known_values()

    def values_of(action: argparse.Action) -> Values:
        if action.choices is not None:
            return Values("words", [str(choice) for choice in action.choices])
        nothing = Values("none" if action.nargs == 0 else "text", [])
        return known.get(str(action.metavar), nothing)

    found = []
    for verb, line in VERBS.items():
        actions = build_parser(verb, import_module(module_of(verb)))._actions
        options = [
            Option(tuple(action.option_strings), (action.help or "").partition(" (default")[0], values_of(action))
            for action in actions
            if action.option_strings
        ]
        positional = [values_of(action) for action in actions if not action.option_strings]
        found.append(Verb(verb, line, options, positional))
    return found


def _known_values() -> dict[str, Values]:
    """By the name of the value in the help."""
    from tare import _core, lenses, schema
    from tare.reports.shell_completion import Values

    files = Values("files", [])
    tables = [table.name for table in schema.TABLES]
    return {
        "LENS,...": Values("list", list(lenses.NAMES)),
        "PID": Values("pids", []),
        "TABLE": Values("words", tables),
        "SQL": Values("sql", [".help", ".tables", ".schema", *tables]),
        "MODEL": Values("words", [name for name, _ in _core.size_models()]),
        "peak|end|TIME": Values("words", ["peak", "end"]),
        "SIGNAL": Values("words", ["USR1", "USR2"]),
        "CMD": Values("command", []),
        **dict.fromkeys(("FILE", "A", "B", "TOML", "BINARY", "OUT", "PATH", "DIR", "FOLDER", "BUILD"), files),
    }
