"""`tare model`: the slop of a recording's requests under other size classes: allocators', your own, and the best there are."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.class_set import Best, Histogram, best_classes, given
from tare.errors import USAGE, TareError, warn
from tare.printable import say
from tare.sizes import parse_bytes
from tare.terminal import width_of
from tare.units import human_bytes, percent

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tare.recording import Recording

SYNOPSIS = (
    "tare model FILE [--classes SIZES] [--best N] [--for peak|total] [--largest BYTES] [--granule BYTES] [--json]"
)
HELP = (
    "What the size classes of other allocators would make of a program's requests, also of allocators that can't be run\n"
    "here, and which N classes would suit the program best. Slop and headers alone: what an allocator keeps beside blocks,\n"
    "and how it fragments, is in no model."
)
EXAMPLES = """
tare model app.tare                              every allocator there is a model of, and the best 32 classes
tare model app.tare --best 12 --for total        the best 12, for all requests of the run instead of the peak's
tare model app.tare --classes 16,32,64,128,256   your own classes beside them; past the last, whole pages
"""

_BEST = 32
_MOST = 256
_NAME_WIDTH = 16
_CELL_WIDTH = 21


class Sum(NamedTuple):
    requested_bytes: float
    taken_bytes: float  # of the heap: slop and headers included

    @property
    def packaging_bytes(self) -> float:
        return self.taken_bytes - self.requested_bytes


class Priced(NamedTuple):
    """All requests of a run under one set of size classes."""

    model: str
    peak: Sum
    total: Sum

    def at(self, aim: str) -> Sum:
        return self.peak if aim == "peak" else self.total


class Requests(NamedTuple):
    """How many blocks of each requested size there were."""

    peak: Histogram
    total: Histogram

    def of(self, aim: str) -> Histogram:
        return self.peak if aim == "peak" else self.total


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a trace")
    parser.add_argument("--classes", metavar="SIZES", help="your own classes: sizes with commas between them")
    parser.add_argument(
        "--best", type=int, default=_BEST, metavar="N", help=f"propose the best N classes (default: {_BEST}; 0: none)"
    )
    parser.add_argument(
        "--for", dest="aim", choices=("peak", "total"), default="peak", help="best for what (default: peak)"
    )
    parser.add_argument("--largest", default="32K", metavar="BYTES", help="no class above; pages there (default: 32K)")
    parser.add_argument("--granule", default="16", metavar="BYTES", help="classes are multiples of it (default: 16)")
    parser.add_argument("--json", action="store_true", help="everything as JSON")


def run(options: argparse.Namespace) -> int:
    from tare.core_source import CoreSource
    from tare.recording import Recording

    if not 0 <= options.best <= _MOST:
        raise TareError(USAGE, f"model: --best wants a number from 0 to {_MOST}, not {options.best}")
    largest = _positive(options.largest, "--largest")
    granule = _positive(options.granule, "--granule")
    own = parse_classes(options.classes) if options.classes is not None else None
    recording = Recording(CoreSource(options.file))
    warn(recording.source.warnings)
    requests = requests_of(recording)
    if not requests.total:
        raise TareError(USAGE, "model: the recording holds no requests to price")
    priced = [*price_models(requests), measured(recording)]
    if own is not None:
        priced.append(price_classes("your classes", requests, own))
    aim = requests.of(options.aim)
    best = best_classes(aim, options.best, largest=largest, granule=granule) if options.best else []
    if best:
        priced.append(price_classes(f"best {len(best)}", requests, best[-1].classes))
    priced.sort(key=lambda each: each.at(options.aim).taken_bytes)
    if options.json:
        from tare.reports.json_report import dump

        print(dump(as_json(priced, best, options.aim)))
        return 0
    columns = width_of(sys.stdout)
    say(_table(priced, options.aim, columns))
    if best:
        say(_proposal(best, aim, options.aim, columns))
    return 0


def _positive(text: str, option: str) -> int:
    size = parse_bytes(text, option)
    if size == 0:
        raise TareError(USAGE, f"model: {option} wants at least 1 byte")
    return size


def parse_classes(text: str) -> list[int]:
    sizes = [_positive(part, "--classes") for part in text.split(",") if part.strip()]
    if not sizes:
        raise TareError(USAGE, "model: --classes wants sizes with commas between them, such as 16,32,48,64")
    return sorted(set(sizes))


_NOT_POOLS = "api not in ('pool block', 'pool memory')"


def requests_of(recording: Recording) -> Requests:
    database = recording.database
    database.use("site_sizes")
    rows = database.rows(
        "select requested_bytes, sum(peak_blocks), sum(total_blocks) from site_sizes"
        f" where {_NOT_POOLS} group by requested_bytes"
    )
    return Requests(
        {size: blocks for size, blocks, _ in rows if blocks}, {size: blocks for size, _, blocks in rows if blocks}
    )


def price_models(requests: Requests) -> list[Priced]:
    """Under every model there is."""
    from tare import _core

    sizes = list(requests.total)
    return [
        _priced(name, requests, dict(zip(sizes, _core.slot_bytes(name, sizes), strict=True)))
        for name, _ in _core.size_models()
    ]


def price_classes(name: str, requests: Requests, classes: list[int]) -> Priced:
    """Blocks of a class lie side by side, without headers."""
    return _priced(name, requests, {size: given(size, classes) for size in requests.total})


def _priced(name: str, requests: Requests, taken: dict[int, int]) -> Priced:
    def total(histogram: Histogram) -> Sum:
        return Sum(
            sum(size * blocks for size, blocks in histogram.items()),
            sum(taken[size] * blocks for size, blocks in histogram.items()),
        )

    return Priced(name, total(requests.peak), total(requests.total))


def measured(recording: Recording) -> Priced:
    """As malloc_usable_size said in the program, and the headers of its allocator."""
    database = recording.database
    database.use("site_sizes")
    sums = database.row(
        "select coalesce(sum(requested_bytes * peak_blocks), 0),"
        " coalesce(sum((usable_bytes + header_bytes) * peak_blocks), 0),"
        " coalesce(sum(requested_bytes * total_blocks), 0),"
        " coalesce(sum((usable_bytes + header_bytes) * total_blocks), 0)"
        f" from site_sizes where {_NOT_POOLS}"
    )
    return Priced("as recorded", Sum(*sums[:2]), Sum(*sums[2:]))


def _table(priced: list[Priced], aim: str, columns: int) -> Iterator[str]:
    """Least first; where both columns don't fit, the one that was aimed at."""
    shown = ("peak", "total") if columns >= _NAME_WIDTH + 2 * _CELL_WIDTH else (aim,)
    order = "at the peak" if aim == "peak" else "in all"
    yield from textwrap.wrap(
        f"slop and headers of the same requests, by size classes alone: least {order} first", columns
    )
    heads = {"peak": "at the peak", "total": "in all"}
    yield " " * _NAME_WIDTH + "".join(f"{heads[each]:>{_CELL_WIDTH}}" for each in shown)
    for each in priced:
        cells = (_cell(each.at(one).packaging_bytes, each.at(one).taken_bytes) for one in shown)
        yield f"{each.model:<{_NAME_WIDTH}}" + "".join(cells)


def _cell(packaging_bytes: float, taken_bytes: float) -> str:
    share = percent(packaging_bytes, taken_bytes)
    return f"{human_bytes(packaging_bytes):>{_CELL_WIDTH - 9}}{share:>9}"


def _proposal(best: list[Best], aim: Histogram, name: str, columns: int) -> Iterator[str]:
    where = "at the peak" if name == "peak" else "over the whole run"
    requested = sum(size * blocks for size, blocks in aim.items())
    yield ""
    yield from textwrap.wrap(f"the least slop {where} that so many classes can have", columns)
    for number in steps(len(best)):
        one = best[number - 1]
        yield f"{number:>{_NAME_WIDTH - 1}} " + _cell(one.slop_bytes, requested + one.slop_bytes)
    yield ""
    line = f"the best {len(best)}:"
    for number, size in enumerate(best[-1].classes, start=1):
        part = f" {size}" + ("," if number < len(best[-1].classes) else "")
        if len(line) + len(part) > columns:
            yield line
            line = " "
        line += part
    yield line


def steps(most: int) -> list[int]:
    """1, 2, 4, ... and `most`."""
    return sorted({1 << power for power in range(most.bit_length())} | {most}) if most else []


def as_json(priced: list[Priced], best: list[Best], aim: str) -> dict[str, Any]:
    return {
        "models": [
            {
                "model": each.model,
                "requested_bytes": round(each.total.requested_bytes),
                "taken_bytes": round(each.total.taken_bytes),
                "peak_requested_bytes": round(each.peak.requested_bytes),
                "peak_taken_bytes": round(each.peak.taken_bytes),
            }
            for each in priced
        ],
        "best_for": aim,
        "best": [
            {"classes": one.classes, "slop_bytes": round(one.slop_bytes)}
            for one in (best[number - 1] for number in steps(len(best)))
        ],
    }
