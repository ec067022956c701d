"""The page: one file that loads nothing. A content security policy allows its one script and its one style by their hashes."""

from __future__ import annotations

import base64
import hashlib
import shlex
from typing import IO, TYPE_CHECKING

from tare.html.balance import HATCH, balance, resident
from tare.html.findings import findings, listed_findings
from tare.html.markup import Markup, element, joined
from tare.html.sections import contents, head, over_time, site_frames, sites
from tare.html.shell import script, style
from tare.html.source_lines import SourceLines
from tare.html.sums import stack_tree
from tare.naming.own_code import is_own

if TYPE_CHECKING:
    from tare.analysis.recording import Recording


def write(recording: Recording, out: IO[bytes], *, with_sources: bool = False) -> None:
    listed = listed_findings(recording)
    lines = SourceLines(recording, [*listed.frames, *site_frames(recording)]) if with_sources else None
    body = joined(
        head(recording),
        contents(with_sources=with_sources),
        element(
            "main",
            element("section", element("h2", "Balance"), balance(recording), id="balance"),
            findings(recording, listed, lines),
            over_time(recording),
            views(),
            sites(recording, lines),
            lines.section() if lines else "",
            resident(recording),
        ),
    )
    tree = stack_tree(recording)
    own = {
        function: is_own(recording.process["exe"], function.module, function.file, function.name)
        for function in tree.functions
    }
    facts = {
        "file": shlex.quote(recording.path),
        "moments": moment_names(recording),
        "peak_ns": recording.process["peak_time_ns"],
        "lenses": [each.lens for each in recording.ledger.tare_totals],
    }
    out.write(document(f"{recording.title} - Tare", body, tree.encode(own, facts)))


def document(title: str, body: Markup, data: str | None) -> bytes:
    """`data`: of the script; None: the page has no script."""
    look, code = style(), script() if data is not None else ""
    allowed = f"script-src {_hash(code)}; " if code else ""
    policy = f"default-src 'none'; {allowed}style-src {_hash(look)}; base-uri 'none'; form-action 'none'"
    ending = (
        f'<script type="application/octet-stream" id="store">{data}</script>\n<script>{code}</script>' if code else ""
    )
    page = joined(
        Markup('<!doctype html>\n<html lang="en"><head>'),
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        Markup(f"<style>{look}</style></head>\n<body>"),
        HATCH,
        body,
        Markup(f"{ending}</body></html>\n"),
    )
    return page.encode("utf-8", "backslashreplace")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def views() -> Markup:
    """Filled by the script; without one, a reader learns of it."""
    return element(
        "section",
        element("h2", "Explore"),
        element(
            "noscript", element("p", "The graphs need JavaScript. All other parts of this page don't.", class_="note")
        ),
        element("div", id="app"),
        id="views",
    )


def moment_names(recording: Recording) -> dict[str, str]:
    names = {"peak": "at the peak", "end": "at the end", "total": "whole run"}
    return {name: label for name, label in names.items() if getattr(recording.moments[name], "blocks", 0)}
