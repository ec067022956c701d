"""`tare completion`: a completion script for the shell, made from the verbs' own parsers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tare.commands import VERBS, module_of

if TYPE_CHECKING:
    import argparse

SYNOPSIS = "tare completion bash|zsh|fish"
HELP = "Prints a completion script for the shell."
EXAMPLES = """
source <(tare completion bash)
tare completion zsh > "${fpath[1]}/_tare"
tare completion fish > ~/.config/fish/completions/tare.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(options: argparse.Namespace) -> int:
    print({"bash": bash, "zsh": zsh, "fish": fish}[options.shell](), end="")
    return 0


def flags() -> dict[str, list[tuple[str, str, list[str]]]]:
    """verb -> (option, help, choices)."""
    from tare.cli import build_parser

    found: dict[str, list[tuple[str, str, list[str]]]] = {}
    for verb in VERBS:
        parser = build_parser(verb, import_module(module_of(verb)))
        found[verb] = [
            (option, (action.help or "").split("(")[0].strip(), [str(choice) for choice in action.choices or ()])
            for action in parser._actions
            for option in action.option_strings
        ]
    return found


def bash() -> str:
    cases = "\n".join(
        f'    {verb}) options="{" ".join(option for option, _, _ in options)}" ;;' for verb, options in flags().items()
    )
    return f"""# bash completion of tare
_tare() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options=""
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "{" ".join(VERBS)} --help --version" -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _tare tare
"""


def zsh() -> str:
    verbs = "\n".join(f"    '{verb}:{_quoted(what)}'" for verb, what in VERBS.items())
    cases = "\n".join(
        f"    {verb}) _arguments {' '.join(_zsh_option(*option) for option in options)} '*:file:_files' ;;"
        for verb, options in flags().items()
    )
    return f"""#compdef tare
_tare() {{
  local -a verbs=(
{verbs}
  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  case $words[2] in
{cases}
  esac
}}
_tare "$@"
"""


def _zsh_option(option: str, what: str, choices: list[str]) -> str:
    values = f":value:({' '.join(choices)})" if choices else ""
    text = _quoted(what).replace("[", "(").replace("]", ")").replace(":", " -")
    return f"'{option}[{text}]{values}'"


def fish() -> str:
    lines = ["# fish completion of tare", "complete -c tare -n __fish_use_subcommand -f"]
    lines += [
        f"complete -c tare -n __fish_use_subcommand -f -a {verb} -d '{_quoted(what)}'" for verb, what in VERBS.items()
    ]
    for verb, options in flags().items():
        for option, what, choices in options:
            name = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            values = f" -x -a '{' '.join(choices)}'" if choices else ""
            lines.append(
                f"complete -c tare -n '__fish_seen_subcommand_from {verb}' {name}{values} -d '{_quoted(what)}'"
            )
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("'", "’")
