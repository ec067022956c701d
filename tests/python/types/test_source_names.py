"""Types named by a line of source."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from tare.types.layouts import Type
from tare.types.source_names import head_in, line_of, type_in
from tare.types.type_sites import BEFORE_MORE, Caller, Types, type_of_blocks

if TYPE_CHECKING:
    from pathlib import Path

IDS = count()
BEGUN_NS = 2_000_000_000_000_000_000


def made(name: str, size: int, saved: int = 0) -> Type:
    values: dict[str, Any] = {
        "type_id": next(IDS),
        "name": name,
        "file": "/src/a.cc",
        "size_bytes": size,
        "reordered_bytes": size - saved,
        "order_state": "movable",
    }
    return Type(*(values.get(field, 0) for field in Type._fields))


HERE = Caller([], Types([made("zoo::Reading", 40, 8), made("zoo::Leaf", 48), made("zoo::Reading::Part", 8)]))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("    arrays[i] = new Reading[kEach];", "Reading"),
        ("  auto** arrays = new Reading*[kArrays];", None),
        ("  return new (std::nothrow) zoo::Reading{1, 2};", "zoo::Reading"),
        ("  p = xmalloc(n * sizeof(struct reading));", "reading"),
        ("  p = calloc(n, sizeof (Reading));", "Reading"),
        ("  p = malloc(sizeof(Reading) + length);", None),
        ("  p = malloc(sizeof(char *) * n);", None),
        ("  p = malloc(sizeof(*p));", None),
        ("  swap(new Reading(), new Leaf());", None),
        ("  log(\"new Reading\");  // sizeof(Leaf)", None),
        ("  renew Reading;", None),
        ("", None),
    ],
)  # fmt: skip
def test_lines_name_the_types_that_they_allocate(line: str, name: str | None) -> None:
    assert type_in(line) == name


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("  p = malloc(sizeof(Reading) + length);", "Reading"),
        ("  auto* p = (Reading*)g_malloc0(n * sizeof(Leaf) + sizeof(struct Reading));", "Reading"),
        ("  p = calloc(1, sizeof(zoo::Reading) + n - 1);", "zoo::Reading"),
        ("  p = malloc(4 + sizeof(Reading) + n);", "Reading"),
        ("  p = malloc(sizeof(Reading) * n);", None),
        ("  p = malloc(sizeof(Reading) * n + 1);", None),
        ("  p = malloc((sizeof(Reading) + n) * 2);", None),
        ("  return (sizeof(Reading) + n);", None),
        ("  p = malloc(sizeof(Reading) + sizeof(Leaf));", None),
        ("  p = malloc(n - sizeof(Reading) + m);", None),
        ("  p = malloc(sizeof(char *) + n);", None),
        ("  p = malloc(sizeof(*p) + n);", None),
        ("  fill(new Leaf(), sizeof(Reading) + n);", None),
        ("  p[i + 1] = malloc(sizeof(Reading));", None),
        ("  // malloc(sizeof(Reading) + length)", None),
        ("sizeof(Reading) + length);", None),
        ("", None),
    ],
)  # fmt: skip
def test_lines_name_the_type_before_more_bytes(line: str, name: str | None) -> None:
    assert head_in(line) == name


def test_a_type_before_more_bytes_is_probable_if_a_variable_points_to_it() -> None:
    sizes = [40, 47, 99]
    seen = Caller([(0, "Reading", 40, 0)], HERE.types)
    guessed = type_of_blocks(["f"], [HERE], 47, sizes, None, "Reading")
    probable = type_of_blocks(["f"], [seen], 47, sizes, None, "Reading")
    assert guessed is not None and probable is not None
    assert (guessed.type.name, guessed.objects, guessed.certainty, guessed.by) == (
        "zoo::Reading",
        1,
        "low",
        BEFORE_MORE,
    )
    assert (probable.type.name, probable.objects, probable.certainty) == ("zoo::Reading", 1, "medium")
    other = Caller([(0, "Leaf", 48, 0)], HERE.types)
    wrong = type_of_blocks(["f"], [other], 48, [48], None, "Reading")
    assert wrong is not None and wrong.type.name == "zoo::Reading"  # not what has the whole block's size
    assert wrong.certainty == "low"


def test_a_size_without_room_for_the_type_disproves_the_line() -> None:
    assert type_of_blocks(["f"], [HERE], 47, [39, 47], None, "Reading") is None
    assert type_of_blocks(["f"], [HERE], 47, [47], None, "Unknown") is None


def test_an_array_of_the_named_type_is_probable() -> None:
    typed = type_of_blocks(["operator new[](unsigned long)", "main"], [HERE], 4000, [4000], "Reading")
    assert typed is not None
    assert (typed.type.name, typed.objects, typed.certainty) == ("zoo::Reading", 100, "medium")


def test_sizes_that_the_named_type_does_not_divide_disprove_the_line() -> None:
    assert type_of_blocks(["main"], [HERE], 4000, [4000, 4001], "Reading") is None
    assert type_of_blocks(["main"], [HERE], 4000, [4000], "Unknown") is None


def test_a_file_that_changed_after_the_recording_names_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.cc"
    file.write_text("first\nsecond\n")
    os.utime(file, ns=(BEGUN_NS, BEGUN_NS))
    assert line_of(str(file), 2, BEGUN_NS) == "second"
    assert line_of(str(file), 9, BEGUN_NS) == ""
    assert line_of(str(file), 2, BEGUN_NS - 1) == ""


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert line_of(str(tmp_path / "pipe"), 1, BEGUN_NS) == ""
    assert line_of(str(tmp_path / "missing"), 1, BEGUN_NS) == ""
    assert line_of("a\0b", 1, BEGUN_NS) == ""
