"""Completion scripts of bash, zsh and fish."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Processes that have the recorder loaded.
_PIDS = "grep -l libtare-record /proc/[0-9]*/maps 2>/dev/null | cut -d/ -f3"


class Values(NamedTuple):
    """The candidates for a place on the command line: `words` one of a list, `list` several with commas, `files`, `pids`, `command`, `sql` words of
    a statement, `text` anything, `none` nothing."""

    kind: str
    words: list[str]


class Option(NamedTuple):
    names: tuple[str, ...]
    meaning: str
    values: Values


class Verb(NamedTuple):
    name: str  # one word or two
    meaning: str
    options: list[Option]
    positional: list[Values]


def bash(verbs: Sequence[Verb]) -> str:
    cases = "\n".join(_bash_verb(verb) for verb in verbs)
    first, second = _first_words(verbs), _second_words(verbs)
    groups = "\n".join(
        f'    {word}) [[ $COMP_CWORD -eq 2 ]] && {{ COMPREPLY=($(compgen -W "{" ".join(following)}" -- "$word")); return; }}\n'
        f'       verb="{word} ${{COMP_WORDS[2]}}"; first=3 ;;'
        for word, following in second.items()
    )
    return f"""# bash completion of tare
_tare_values() {{  # KIND WORDS: fills COMPREPLY for $word
  local start
  case $1 in
    words) COMPREPLY=($(compgen -W "$2" -- "$word")) ;;
    list) start=""; [[ $word == *,* ]] && start="${{word%,*}},"
          COMPREPLY=($(compgen -P "$start" -W "$2" -- "${{word##*,}}")) ;;
    sql) start=""; [[ $word == *[[:space:]]* ]] && start="${{word% *}} "
         local IFS=$'\\n'; COMPREPLY=($(compgen -P "$start" -W "${{2// /$IFS}}" -- "${{word##* }}")) ;;
    pids) COMPREPLY=($(compgen -W "$({_PIDS})" -- "$word")) ;;
    files) compopt -o filenames; COMPREPLY=($(compgen -f -- "$word")) ;;
    command) compopt -o filenames; COMPREPLY=($(compgen -c -f -- "$word")) ;;
    *) COMPREPLY=() ;;
  esac
}}
_tare() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}} first=2 place=0 i
  local options="" taking=""
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "{" ".join(first)} --help --version" -- "$word"))
    return
  fi
  case $verb in
{groups}
  esac
  local -a positional=()
  case $verb in
{cases}
  esac
  [[ $word == -* ]] && {{ COMPREPLY=($(compgen -W "$options" -- "$word")); return; }}
  for ((i = first; i < COMP_CWORD; i++)); do
    [[ ${{COMP_WORDS[i]}} == -- ]] && {{ place=${{#positional[@]}}; break; }}
    [[ ${{COMP_WORDS[i]}} == -* ]] || [[ " $taking " == *" ${{COMP_WORDS[i-1]}} "* ]] || ((place++))
  done
  ((place >= ${{#positional[@]}})) && ((place = ${{#positional[@]}} - 1))
  ((place >= 0)) && _tare_values ${{positional[place]%%:*}} "${{positional[place]#*:}}"
}}
complete -F _tare tare
"""


def _bash_verb(verb: Verb) -> str:
    names = " ".join(name for option in verb.options for name in option.names)
    taking = " ".join(name for option in verb.options if option.values.kind != "none" for name in option.names)
    positional = " ".join(f'"{values.kind}:{" ".join(values.words)}"' for values in verb.positional)
    valued = "\n".join(
        f'      {"|".join(option.names)}) _tare_values {option.values.kind} "{" ".join(option.values.words)}"; return ;;'
        for option in verb.options
        if option.values.kind != "none"
    )
    case = f"\n      case $previous in\n{valued}\n      esac" if valued else ""
    return f'    "{verb.name}") options="{names}"; taking="{taking}"; positional=({positional}){case} ;;'


def zsh(verbs: Sequence[Verb]) -> str:
    cases = "\n".join(
        f'    "{verb.name}") _arguments {" ".join(_zsh_parts(verb))} ;;' for verb in verbs
    )  # fmt: skip
    second = "\n".join(
        f'    {word}) (( CURRENT == 3 )) && {{ _values verb {" ".join(following)}; return }}; verb="{word} $words[3]";'
        " shift words; (( CURRENT-- )) ;;"
        for word, following in _second_words(verbs).items()
    )
    described = "\n".join(f"    '{word}:{_quoted(meaning)}'" for word, meaning in _first_words(verbs).items())
    return f"""#compdef tare
_tare_pids() {{
  compadd -- ${{(f)"$({_PIDS})"}}
}}
_tare() {{
  local -a verbs=(
{described}
  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  case $verb in
{second}
  esac
  shift words
  (( CURRENT-- ))
  case $verb in
{cases}
  esac
}}
_tare "$@"
"""


def _zsh_parts(verb: Verb) -> list[str]:
    parts = []
    for option in verb.options:
        text = _quoted(option.meaning).replace("[", "(").replace("]", ")").replace(":", " -")
        values = "" if option.values.kind == "none" else f":value:{_zsh_values(option.values)}"
        parts += [f"'{name}[{text}]{values}'" for name in option.names]
    parts += [f"'{number}:value:{_zsh_values(values)}'" for number, values in enumerate(verb.positional, start=1)]
    return [*parts, "'*:file:_files'"]


def _zsh_values(values: Values) -> str:
    words = " ".join(values.words)
    return {
        "words": f"({words})",
        "sql": f"({words})",
        "list": f"_values -s , value {words}",
        "pids": "_tare_pids",
        "files": "_files",
        "command": "_command_names -e",
    }.get(values.kind, " ")


def fish(verbs: Sequence[Verb]) -> str:
    lines = ["# fish completion of tare", "complete -c tare -f"]
    lines += [
        f"complete -c tare -n __fish_use_subcommand -a {word} -d '{_quoted(meaning)}'"
        for word, meaning in _first_words(verbs).items()
    ]
    for word, following in _second_words(verbs).items():
        unless = f"__fish_seen_subcommand_from {word}; and not __fish_seen_subcommand_from {' '.join(following)}"
        lines.append(f"complete -c tare -n '{unless}' -a '{' '.join(following)}'")
    for verb in verbs:
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in verb.name.split())
        for values in verb.positional:
            lines.append(f"complete -c tare -n '{seen}'{_fish_values(values)}")
        for option in verb.options:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            values_of = "" if option.values.kind == "none" else " -r" + _fish_values(option.values)
            lines.append(f"complete -c tare -n '{seen}' {names}{values_of} -d '{_quoted(option.meaning)}'")
    return "\n".join(lines) + "\n"


def _fish_values(values: Values) -> str:
    if values.kind in ("files", "command"):
        return " -F"
    if values.kind == "pids":
        return f" -a '({_PIDS})'"
    return f" -a '{' '.join(values.words)}'" if values.words else ""


def _first_words(verbs: Sequence[Verb]) -> dict[str, str]:
    found: dict[str, str] = {}
    for verb in verbs:
        found.setdefault(verb.name.split()[0], verb.meaning)
    return found


def _second_words(verbs: Sequence[Verb]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for verb in verbs:
        word, _, following = verb.name.partition(" ")
        if following:
            found.setdefault(word, []).append(following)
    return found


def _quoted(text: str) -> str:
    return text.replace("'", "’")


SHELLS: dict[str, Callable[[Sequence[Verb]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
