"""The demo's program: a concordance of a generated library, built the way such programs are often written.

Texts come as JSON, are parsed, split into words, and each word gets the list of places where it stands. The habits that
cost memory are real ones: lists that grow by one, a tuple a place, strings kept twice, copies that live for one line.
Run under PYTHONMALLOC=malloc, so that every object is a block of malloc's.
"""

from __future__ import annotations

import json
import random
from array import array
from collections.abc import Iterator

SYLLABLES = ["ba", "cor", "den", "fi", "gal", "hu", "ist", "jo", "kel", "lum", "mar", "no", "per", "qui", "ran", "sol"]


def vocabulary(size: int, state: random.Random) -> list[str]:
    return ["".join(state.choices(SYLLABLES, k=state.randrange(1, 6))) for _ in range(size)]


def write_library(books: int, state: random.Random) -> list[str]:
    """Each book as one line of JSON; word frequencies fall off as in a language."""
    words = vocabulary(6_000, state)
    # one entry a frequency: a random byte pair then picks a word without arithmetic on it
    urn = [word for rank, word in enumerate(words) for _ in range(1 + 8_000 // (rank + 3))][: 1 << 16]
    lines = []
    for number in range(books):
        pages = []
        for _ in range(20):
            picks = memoryview(state.randbytes(2 * 220)).cast("H")
            pages.append(" ".join([urn[pick % len(urn)] for pick in picks]))
        lines.append(json.dumps({"title": f"book {number}", "author": state.choice(words), "pages": pages}))
    return lines


def read_library(lines: list[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in lines]


def words_of(book: dict[str, object]) -> Iterator[tuple[str, int, int]]:
    pages = book["pages"]
    assert isinstance(pages, list)
    for page_number, page in enumerate(pages):
        for position, word in enumerate(page.split()):
            yield word, page_number, position


def build_concordance(books: list[dict[str, object]]) -> dict[str, list[tuple[str, int, int]]]:
    places: dict[str, list[tuple[str, int, int]]] = {}
    for book in books:
        title = str(book["title"])
        for word, page, position in words_of(book):
            places.setdefault(word, []).append((title, page, position))
    return places


def neighbours(books: list[dict[str, object]]) -> dict[str, dict[str, int]]:
    """How often each word follows each other one."""
    following: dict[str, dict[str, int]] = {}
    for book in books[: len(books) // 2]:
        previous = ""
        for word, _, _ in words_of(book):
            counts = following.setdefault(previous, {})
            counts[word] = counts.get(word, 0) + 1
            previous = word
    return following


def offsets(books: list[dict[str, object]]) -> list[array[int]]:
    """Where the words of each length begin in the text of all books; arrays, to save memory. They grow in each other's way."""
    found = [array("I") for _ in range(16)]
    at = 0
    for book in books:
        for word, _, _ in words_of(book):
            found[len(word)].append(at)
            at += len(word) + 1
    return found


def print_page(places: dict[str, list[tuple[str, int, int]]]) -> str:
    lines = []
    for word in sorted(places)[:500]:
        entries = ", ".join(f"{title} p.{page}:{position}" for title, page, position in places[word][:200])
        lines.append(f"{word:<20} {len(places[word]):>6}  {entries}")
    return "\n".join(lines)


def main() -> None:
    state = random.Random(4)
    books = read_library(write_library(400, state))
    places = build_concordance(books)
    following = neighbours(books)
    begins = offsets(books)
    text = print_page(places)
    print(f"{len(books)} books, {len(places)} words, {sum(map(len, begins))} places,", end=" ")
    print(f"{sum(map(len, following.values()))} pairs, {len(text)} characters")


if __name__ == "__main__":
    main()
