"""The change of the source that a remedy proposes, in the words of the language that the site is written in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

Language = Literal["C", "C++", "Rust", "Go", "Python", "JavaScript", "Java", "unknown"]
# Their own objects lie in heaps that the runtime manages. The blocks of malloc belong to buffers and to objects of native code.
CHANGE = "$change"  # in a remedy: the change in the language of its site


class Change(NamedTuple):
    """The plain change first. Only the text for C++ names the library, after the plain change."""

    plain: str  # for languages that `by` doesn't list, and for sites of unknown language
    by: Mapping[Language, str] = {}

    def wording(self, language: Language) -> str:
        return self.by.get(language, self.plain)
