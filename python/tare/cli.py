"""The command `tare`: finds the verb, reads its options, turns failures into one line and an exit status."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from tare import interrupt
from tare.commands import GROUPS, PREFIXES, VERBS, module_of
from tare.errors import USAGE, TareError, did_you_mean
from tare.progress import shown_by
from tare.text.printable import printable_streams, say
from tare.text.terminal import TerminalDisplay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tare.commands.parser import Parser

# Verbs of other profilers, and likely guesses.
_SYNONYMS = {
    "record": "run",
    "start": "run",
    "print": "report",
    "show": "report",
    "analyze": "report",
    "stats": "report",
    "summary": "report",
    "leaks": "report",
    "flamegraph": "report --folded",
    "live": "top",
    "query": "sql",
    "detach": "pause",
    "stop": "pause",
    "sizes": "counts",
    "types": "layout",
    "tables": "schema",
    "dbus": "variant",
}
CANNOT_RUN = 125  # as env, nice and timeout: the program wasn't started


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        interrupt.remember()
    _open_missing_streams()
    with printable_streams(), shown_by(TerminalDisplay()):
        return _status(arguments, argv is None)


def _status(arguments: list[str], is_command: bool) -> int:
    try:
        status = _dispatch(arguments)
        sys.stdout.flush()
        if is_command and arguments[:1] == ["run"] and "_duckdb" not in sys.modules:  # its files on disk go with it
            _exit_at_once(status)
        return status
    except TareError as error:
        say([f"tare: {error.message}", *error.excerpt], sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has closed the pipe. Without this, Python's flush at exit prints an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except MemoryError:
        say(["tare: out of memory: raise the limit (ulimit -v), or use a smaller recording"], sys.stderr)
        return CANNOT_RUN if arguments[:1] == ["run"] else 4
    except OSError as error:
        name = f": {error.filename}" if error.filename else ""
        say([f"tare: {error.strerror or error}{name}"], sys.stderr)
        return 4
    except Exception as error:
        if str(error) == "Query interrupted":  # what DuckDB makes of Ctrl-C
            return 130
        if os.environ.get("TARE_DEBUG"):
            raise
        say([f"tare: bug: {type(error).__name__}: {error} (TARE_DEBUG=1 shows where)"], sys.stderr)
        return 70


def _exit_at_once(status: int) -> NoReturn:
    """Nothing is left to do: taking tables and modules apart is 12 ms of a run's CPU."""
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(status)


def _open_missing_streams() -> None:
    """Python has None for a stream whose descriptor was closed (`>&-`): a missing reader is no failure."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  (for good)


def _dispatch(arguments: list[str]) -> int:
    first = arguments[0] if arguments else "--help"
    if first in ("-h", "--help", "help"):
        if arguments[1:]:
            return _dispatch([*arguments[1:], "--help"])
        print(overview())
        return 0 if arguments else 2
    if first in ("-V", "--version"):
        from tare import __version__

        print(f"tare {__version__}")
        return 0
    if first in PREFIXES and arguments[1:2] in ([], ["-h"], ["--help"]):
        print("\n".join(_rows({verb: line for verb, line in VERBS.items() if verb.startswith(f"{first} ")})))
        return 0 if arguments[1:] else 2
    verb, rest = _find_verb(arguments)
    command = import_module(module_of(verb))
    before, separator, after = _split_command(rest)
    try:
        options = build_parser(verb, command).parse_args(before)
        options.after_dashes = after if separator else None
        status: int = command.run(options)
    except TareError as error:
        if verb == "run" and error.status is None:  # scripts must not take it for the program's own status
            error.status = CANNOT_RUN
        raise
    return status


def _find_verb(arguments: list[str]) -> tuple[str, list[str]]:
    """The verb, of one word or two, and the rest."""
    words = 2 if arguments[0] in PREFIXES else 1
    verb = " ".join(arguments[:words])
    if verb not in VERBS:
        if verb.startswith("-"):
            raise TareError(USAGE, f"no option '{verb}' before a verb (`tare --help` lists the verbs)")
        close = f": did you mean {_SYNONYMS[verb]}?" if verb in _SYNONYMS else did_you_mean(verb, VERBS)
        raise TareError(USAGE, f"no verb '{verb}'{close} (`tare --help` lists the verbs)")
    return verb, arguments[words:]


def _split_command(arguments: list[str]) -> tuple[list[str], str, list[str]]:
    """The words before and after the first `--`: the words after it belong to the program."""
    if "--" not in arguments:
        return arguments, "", []
    at = arguments.index("--")
    return arguments[:at], "--", arguments[at + 1 :]


def build_parser(verb: str, command: Any) -> Parser:
    from tare.commands.parser import Parser

    return Parser(verb, command)


def overview() -> str:
    """`tare --help`: the verbs of most users first."""
    lines = [
        "Tare records a program's heap. It reports how much of the heap is waste, and",
        "which source lines cause it.",
        "",
        "usage: tare VERB [options]",
    ]
    for title, verbs in GROUPS.items():
        lines += ["", *([f"{title}:"] if title else []), *_rows(verbs)]
    lines += [
        "",
        "examples:",
        "  tare run -o app.tare -- ./app --flag    record; print a summary at the end",
        "  tare report app.tare                    the whole report",
        "  tare diff before.tare after.tare        what a change of the program brought",
        "",
        "`tare VERB --help` lists the options and examples of a verb.",
    ]
    return "\n".join(lines)


def _rows(verbs: Mapping[str, str]) -> list[str]:
    width = max(11, *map(len, verbs))
    return [f"  {verb:<{width}} {line}" for verb, line in verbs.items()]
