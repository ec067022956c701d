"""The command `tare`: finds the verb, reads its options, turns failures into one line and an exit status."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from tare.commands import VERBS, module_of
from tare.errors import USAGE, TareError
from tare.printable import printable_streams, say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_missing_streams()
    with printable_streams():
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
        # whoever read the report has seen enough; keep Python from complaining when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except MemoryError:
        print(
            "tare: no memory left for this; raise the limit (ulimit -v), or look at a smaller recording",
            file=sys.stderr,
        )
        return 125 if arguments[:1] == ["run"] else 4  # the program wasn't started: else its status is kept
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
    """Python has None for a stream whose descriptor was closed (`>&-`): then nobody listens, which is no failure."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  (for good)


def _dispatch(arguments: list[str]) -> int:
    verb = arguments[0] if arguments else "--help"
    if verb in ("-h", "--help", "help"):
        if len(arguments) > 1 and arguments[1] in VERBS:
            return _dispatch([arguments[1], "--help"])
        print(_overview())
        return 0 if arguments else 125
    if verb == "--version":
        from tare import __version__

        print(f"tare {__version__}")
        return 0
    if verb not in VERBS:
        raise TareError(USAGE, f"there is no verb '{verb}': {', '.join(VERBS)} (`tare --help` says what they do)")
    command = import_module(module_of(verb))
    before, separator, after = _split_command(arguments[1:])
    parser = build_parser(verb, command)
    options = parser.parse_args(before)
    options.after_dashes = after if separator else None
    status: int = command.run(options)
    return status


def _split_command(arguments: list[str]) -> tuple[list[str], str, list[str]]:
    """What stands before and after the first `--`: what follows belongs to the program."""
    if "--" not in arguments:
        return arguments, "", []
    at = arguments.index("--")
    return arguments[:at], "--", arguments[at + 1 :]


def build_parser(verb: str, command: Any) -> argparse.ArgumentParser:
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise TareError(USAGE, f"{verb}: {message} (`tare {verb} --help` has examples)")

    examples = "\n".join(f"  {line}" if line else "" for line in command.EXAMPLES.strip().splitlines())
    parser = Parser(
        prog=f"tare {verb}",
        usage=command.SYNOPSIS,
        description=command.HELP,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    return parser


def _overview() -> str:
    lines = [
        "tare: weighs a program's heap, names what of it is packaging and the line that bought it",
        "",
        "usage: tare VERB ...",
        "",
        *(f"  {name:<11} {what}" for name, what in VERBS.items()),
        "",
        "examples:",
        "  tare run -- ./app --flag              record, and end with a one-screen summary",
        "  tare report tare.app.4711.tare        the whole of it",
        "  tare diff before.tare after.tare      what a change brought",
        "",
        "`tare VERB --help` has the options and examples of a verb.",
    ]
    return "\n".join(lines)
