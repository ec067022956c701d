"""`tare model`: the slop of a recording's requests under other size classes: allocators', your own, and the best there are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.allocator_replay.class_set import Best, Histogram, best_classes, given
from tare.commands.options import add_json
from tare.errors import USAGE, TareError, warn
from tare.reports.table import Column, table
from tare.text.printable import say
from tare.text.sizes import parse_bytes
from tare.text.terminal import width_of
from tare.text.units import human_bytes, percent
from tare.text.wrapping import wrap

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tare.analysis.recording import Recording

SYNOPSIS = (
    "tare model FILE [--classes SIZES] [--best N] [--best-at peak|total] [--largest BYTES] [--granule BYTES] [--json]"
)
HELP = (
    "Computes the slop and the headers of the recorded requests under the size classes of other allocators, installed or\n"
    "not, and the N size classes that suit the program best. Free lists and fragmentation aren't included: `tare replay`\n"
    "measures those."
)
EXAMPLES = """
tare model app.tare                              all allocators with a model, and the best 32 classes
tare model app.tare --best 12 --best-at total    the best 12 classes for all requests of the run
tare model app.tare --classes 16,32,64,128,256   also your own classes; larger requests get whole pages
"""

_BEST = 32
_MOST = 256


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
    parser.add_argument("--classes", metavar="SIZES", help="your own classes: sizes separated by commas")
    parser.add_argument(
        "--best", type=int, default=_BEST, metavar="N", help=f"compute the best N classes (default: {_BEST}; 0: none)"
    )
    parser.add_argument(
        "--best-at",
        dest="aim",
        choices=("peak", "total"),
        default="peak",
        help="the best classes for the live blocks at the peak, or for all requests of the run (default: peak)",
    )
    parser.add_argument(
        "--largest",
        default="32K",
        metavar="BYTES",
        help="the largest class; larger requests get whole pages (default: 32K)",
    )
    parser.add_argument(
        "--granule", default="16", metavar="BYTES", help="classes are multiples of this size (default: 16)"
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    from tare.analysis.recording import Recording
    from tare.schema.missing import lacks_slop, words_of
    from tare.source.core_source import CoreSource

    if not 0 <= options.best <= _MOST:
        raise TareError(USAGE, f"model: --best needs a number from 0 to {_MOST}: '{options.best}'")
    largest = _positive(options.largest, "--largest")
    granule = _positive(options.granule, "--granule")
    own = parse_classes(options.classes) if options.classes is not None else None
    recording = Recording(CoreSource(options.file))
    warn(recording.source.warnings)
    requests = requests_of(recording)
    if not requests.total:
        raise TareError(USAGE, "model: the recording has no requests")
    priced = price_models(requests)
    if not lacks_slop(words_of(recording.process["missing_facts"])):
        priced.append(measured(recording))
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
        raise TareError(USAGE, f"model: {option} needs at least 1 byte: '{text}'")
    return size


def parse_classes(text: str) -> list[int]:
    sizes = [_positive(part, "--classes") for part in text.split(",") if part.strip()]
    if not sizes:
        raise TareError(USAGE, f"model: --classes needs sizes separated by commas, such as 16,32,48,64: '{text}'")
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
    """By malloc_usable_size in the program, and the headers of its allocator."""
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
    """The least first."""
    order = "at the peak" if aim == "peak" else "in all"
    yield from wrap(f"slop and headers of the recorded requests, the least {order} first", columns)
    heads = {"peak": "at the peak", "total": "in all"}
    shown = sorted(heads, key=lambda each: each != aim)  # the other column is left out on a narrow terminal
    rows = [
        [
            each.model,
            *(text for one in shown for text in _cells(each.at(one).packaging_bytes, each.at(one).taken_bytes)),
        ]
        for each in priced
    ]
    columns_shown = [Column("", "left", keep=True)]
    for each in shown:
        columns_shown += [Column(heads[each], keep=each == aim), Column("", keep=each == aim)]
    yield from table(columns_shown, rows, columns)


def _cells(packaging_bytes: float, taken_bytes: float) -> list[str]:
    return [human_bytes(packaging_bytes), percent(packaging_bytes, taken_bytes)]


def _proposal(best: list[Best], aim: Histogram, name: str, columns: int) -> Iterator[str]:
    where = "at the peak" if name == "peak" else "over the whole run"
    requested = sum(size * blocks for size, blocks in aim.items())
    yield ""
    yield from wrap(f"the least possible slop {where}, by number of size classes", columns)
    rows = []
    for number in steps(len(best)):
        one = best[number - 1]
        rows.append([str(number), *_cells(one.slop_bytes, requested + one.slop_bytes)])
    yield from table([Column("classes", keep=True), Column("slop", keep=True), Column("", keep=True)], rows, columns)
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
