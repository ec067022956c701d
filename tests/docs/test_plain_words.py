"""Messages, manual pages, decisions and documents have no sentence with a pattern that docs/style.md rules out."""

import re
from pathlib import Path

from tool_modules import load_tool

REPO = Path(__file__).resolve().parents[2]
PATTERNS = {
    "a who-clause": r"\bwhoever\b|(?:^|[.;:] )[Ww]ho\b(?![^.]*\?)",
    "a what-clause as the subject": r"(?:^|[.;] )What\b(?![^.]*\?)",
    "an object that speaks": r"\b(?:is|are|was|were|be|been) (?:told|asked)\b|\b(?:tells|says|asks)\b",
    "an object with a mind": r"\b(?:knows|believes|wants)\b",
    "words that need a second reading": r"\b(?:could|can|to) be had\b|\blets? go of\b|\bfor want of\b|\bas one likes\b",
    "a look": r"\blook(?:s|ed)? (?:at|into|after)\b",
}
# Sentences whose subject is a person, and quotations. Each is a part of one sentence.
ALLOWED = (
    "The subject of *know* is a person",
    'The body says "Before:',  # of a commit, whose author speaks
)


def found(texts: list[tuple[str, str]]) -> list[str]:
    """`texts`: place and sentence."""
    return [
        f"{place}: {name}: {text}"
        for place, text in texts
        if not any(each in text for each in ALLOWED)
        for name, pattern in PATTERNS.items()
        if re.search(pattern, re.sub(r"`[^`]*`|\"[^\"]*\"|\{\.\.\.\}", "", text))
    ]


def test_texts_have_no_pattern_that_the_style_rules_out() -> None:
    sentences = load_tool("sentences")
    texts = [each for kind in ("messages", "manual pages", "decisions") for each in sentences.all_of(kind)]
    pages = sentences.tracked("README.md", "HACKING.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md")
    pages = [page for page in pages if page.parent.name not in ("man", "decisions") and page.name != "style.md"]
    texts += [each for page in pages for each in sentences.paragraphs(page)]
    assert len(texts) > 2500
    assert found(texts) == [], (
        "rewrite these sentences by docs/style.md; a page made by a tool has its texts in the source"
    )


def test_each_pattern_is_found() -> None:
    wrong = [
        "Who lets go looks once more, as at an exit.",
        "What can't be written goes to GLib.",
        "A marked heap is told of every store.",
        "The filter knows the call.",
        "No memory is to be had.",
        "The launcher looks at the heap.",
    ]
    for text in wrong:
        assert found([("x.md:1", text)]), text
    assert found([("x.md:1", "What does it cost? `tare` says nothing here.")]) != []
    assert found([("x.md:1", "Detaching takes a final snapshot, as an exit does.")]) == []
