"""Each verb has a page, and the page names exactly the options that the verb takes."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from tare.cli import build_parser
from tare.commands import VERBS, module_of

PAGES = Path(__file__).resolve().parents[2] / "docs/man"


@pytest.mark.parametrize("verb", VERBS)
def test_a_page_documents_the_verbs_options(verb: str) -> None:
    page = (PAGES / f"tare-{verb.replace(' ', '-')}.md").read_text()
    command = import_module(module_of(verb))
    parser = build_parser(verb, command)
    taken = {option for action in parser._actions for option in action.option_strings} - {"-h", "--help"}
    documented = set(re.findall(r"^\*\*(-[-\w]+)\*\*|, \*\*(-[-\w]+)\*\*", page, re.MULTILINE))
    assert {a or b for a, b in documented} == taken
    assert f"tare {verb} - {VERBS[verb]}" in page
    assert command.SYNOPSIS in page


def test_the_overview_names_every_verb() -> None:
    overview = (PAGES / "tare.md").read_text()
    rows = re.findall(r"^\| \[([-\w ]+)\]\(tare-([-\w]+)\.md\) \| (.*) \|$", overview, re.MULTILINE)
    assert {verb: line for verb, _, line in rows} == VERBS
    assert all(page == verb.replace(" ", "-") for verb, page, _ in rows)
