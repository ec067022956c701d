"""The page's one script and one style, without comments and without blanks that no browser needs: a quarter of their size."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

# In the order of their use: they are one script.
SCRIPTS = (
    *(
        "varints.js",
        "later.js",
        "lives.js",
        "store.js",
        "views_of_tree.js",
        "look.js",
        "flame.js",
        "treemap.js",
        "outline.js",
        "table.js",
    ),
    *("brush.js", "main.js"),
)

_TOKEN = re.compile(
    r"(?P<blank>(?:\s+|//[^\n]*|/\*.*?\*/)+)|(?P<text>'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")|(?P<quote>`)|(?P<slash>/)|(?P<brace>[{}])"
    r"|(?P<code>[^\s'\"`/{}]+)",
    re.DOTALL,
)
# A regular expression stands where no value has ended: behind an operator, an opening bracket or `return`.
_ENDED_VALUE = re.compile(r"\.[\w$]+$|(?<![\w$.])(?!(?:return|typeof|case|of|in)$)[\w$]+$|[)\]}'\"`]$")
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)
_WORD = re.compile(r"[\w$]")


def asset(name: str) -> str:
    return (files("tare.html") / "assets" / name).read_text(encoding="utf-8")


@cache
def script() -> str:
    code = "\n".join(asset(name) for name in SCRIPTS)
    return "(()=>{'use strict';" + without_blanks(code) + "})();"


@cache
def style() -> str:
    """Blanks matter in values and between selectors, but not beside these marks."""
    text = re.sub(r"/\*.*?\*/", "", asset("style.css"), flags=re.DOTALL)
    parts = re.split(r'("[^"]*")', text)
    parts[::2] = [re.sub(r"\s*([{};,>])\s*", r"\1", re.sub(r"\s+", " ", part)) for part in parts[::2]]
    return re.sub(r"([{;][\w-]+):\s+", r"\1:", "".join(parts)).replace(";}", "}").strip()


def without_blanks(code: str) -> str:
    """Of scripts whose statements end with semicolons: texts, templates and regular expressions stay as they are."""
    out: list[str] = []
    at = 0
    last = ""  # the token before, blanks aside
    parted = False  # by blanks or a comment
    braces: list[int] = []  # open ones within each template's `${`
    while at < len(code):
        match = _TOKEN.match(code, at)
        assert match
        kind, token = match.lastgroup, match[0]
        at = match.end()
        if kind == "blank":
            parted = True
            continue
        if kind == "slash" and not _ENDED_VALUE.search(last) and (found := _REGEX.match(code, match.start())):
            token, at = found[0], found.end()
        elif kind == "brace" and braces:
            braces[-1] += 1 if token == "{" else -1
        if kind == "quote" or (braces and braces[-1] < 0):  # a template begins, or goes on behind a value
            if kind != "quote":
                braces.pop()
            text = _TEMPLATE.match(code, at)
            at = text.end() if text else at
            inserts = code.startswith("${", at)
            if inserts:
                braces.append(0)
            token = code[match.start() : at + 1 + inserts]
            at += 1 + inserts
        elif token == "}" and last.endswith(";"):
            out[-1] = out[-1][:-1]
        if parted and last and _must_part(last[-1], token[0]):
            out.append(" ")
        out.append(token)
        last, parted = token, False
    return "".join(out)


def _must_part(before: str, after: str) -> bool:
    return bool(_WORD.match(before) and _WORD.match(after)) or (before == after and after in "+-")
