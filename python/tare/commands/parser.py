"""The argument parser of a verb: its help, and its errors in the form of all other errors."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from tare.commands import VERBS
from tare.errors import USAGE, TareError, did_you_mean

_READ = ("FILE", "FILE|PID", "TRACE", "A", "B")
_NEEDS = {int: "a whole number", float: "a number"}


class Parser(argparse.ArgumentParser):
    """Raises TareError instead of printing argparse's own messages and ending the process."""

    def __init__(self, verb: str, command: Any) -> None:
        self.verb = verb
        examples = "\n".join(f"  {line}" if line else "" for line in command.EXAMPLES.strip().splitlines())
        super().__init__(
            prog=f"tare {verb}",
            usage=command.SYNOPSIS,
            description=command.HELP,
            epilog=f"examples:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add_arguments(self)

    def format_help(self) -> str:
        return f"tare {self.verb}: {VERBS[self.verb]}\n\n{super().format_help()}"

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        # argparse fills an optional FILE or SQL at the first positional, so that `sql FILE --json SQL` would fail.
        parse = self.parse_known_args if self._takes_rest() else self.parse_known_intermixed_args
        options, unknown = parse(args, namespace)
        if unknown:
            self._refuse(unknown[0])
        self._resolve(options)
        return options

    def _resolve(self, options: argparse.Namespace) -> None:
        """Files to read may be addresses of snapshots, such as FOLDER@1h: see tare.watch.addresses."""
        for action in self._actions:
            if action.metavar not in _READ or (action.option_strings and action.dest != "baseline"):
                continue
            given = getattr(options, action.dest)
            texts = given if isinstance(given, list) else [given]
            if any(isinstance(text, str) and ("@" in text or text.endswith(".watch")) for text in texts):
                from tare.watch.addresses import resolved

                found = [resolved(text) for text in texts]
                setattr(options, action.dest, found if isinstance(given, list) else found[0])

    def _takes_rest(self) -> bool:
        """True if the words after a positional belong to another program."""
        return any(action.nargs == argparse.REMAINDER for action in self._get_positional_actions())

    def _refuse(self, word: str) -> NoReturn:
        if word.startswith("-"):
            name = word.partition("=")[0]
            known = [option for action in self._actions for option in action.option_strings]
            advice = did_you_mean(name, known) or (": options of CMD come after --" if self._takes_rest() else "")
            self.fail(f"no option '{name}'{advice}")
        self.fail(f"unexpected argument '{word}'")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            suggestion = did_you_mean(str(value), choices)
            self.fail(f"{_name_of(action)} can't be '{value}'{suggestion or ': choose ' + ', '.join(choices)}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        convert: Any = action.type or str
        try:
            return convert(arg_string)
        except (TypeError, ValueError) as error:
            needs = _NEEDS.get(convert) or str(error)
        self.fail(f"{_name_of(action)} needs {needs}: '{arg_string}'")

    def error(self, message: str) -> NoReturn:
        """Rewords the errors that argparse itself finds: its sentences name the argument first."""
        if missing := re.fullmatch(r"the following arguments are required: (.*)", message):
            self.fail(f"missing {missing[1]}: {self.usage}")
        if wants := re.fullmatch(r"argument (\S+): expected (?:one|at least one) argument", message):
            option = wants[1].split("/")[-1]
            action = self._option_string_actions.get(option)
            self.fail(f"{option} needs a value{f': {action.metavar}' if action and action.metavar else ''}")
        self.fail(message)

    def fail(self, message: str) -> NoReturn:
        hint = "" if "did you mean" in message else f" (`tare {self.verb} --help` has examples)"
        raise TareError(USAGE, f"{self.verb}: {message}{hint}")


def _name_of(action: argparse.Action) -> str:
    """`--sort`, or `FILE` of a positional argument."""
    if action.option_strings:
        return action.option_strings[-1]
    return str(action.metavar or action.dest)
