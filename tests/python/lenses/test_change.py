"""Remedies are in the words of the site's language: the library of C++ is named to C++ programs only, and after the plain change."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, get_args

import pytest
from tare import lenses
from tare.analysis.recording import Recording
from tare.lenses.change import CHANGE, Change, Language
from tare.lenses.lens import PARTNER

if TYPE_CHECKING:
    from handmade import Handmade

LIBRARY = re.compile(r"tare::|tare/|\b(AtomTable|TextStream|CompressedPtr|MemoryPressure|Cage|Bytes|Buffer|Arena)\b")
CPP = re.compile(r"std::(?!sync)|\breserve\(\) the|\bpush_back\b|unique_ptr|shared_ptr")
# Classes of the languages themselves that have a name of the library.
OWN = {"JavaScript": re.compile(r"\bBuffer\b")}


@pytest.mark.parametrize("name", lenses.NAMES)
@pytest.mark.parametrize("language", get_args(Language))
def test_remedies_name_the_library_to_cpp_only(name: str, language: Language, looked_into: Handmade) -> None:
    ledger = Recording(looked_into.with_contents()).ledger
    found = ledger.findings(lenses.load(name), all_claims="all")
    assert found
    for finding in found:
        text = finding.remedy_in(language)
        assert CHANGE not in text and PARTNER not in text
        if language == "C++":
            assert not LIBRARY.match(text), "the plain change is first"
            continue
        rest = OWN[language].sub("", text) if language in OWN else text
        assert not LIBRARY.search(rest), text
        assert not CPP.search(rest), text


def test_languages_without_words_of_their_own_have_the_plain_ones() -> None:
    change = Change("Free it", {"Rust": "Drop it"})
    assert change.wording("Rust") == "Drop it"
    assert change.wording("Go") == change.wording("unknown") == "Free it"
