"""`tare counts`: the concordance of sizes: the number of requests of each, and the allocator's size for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tare.commands.options import add_json, add_rows
from tare.errors import USAGE, TareError, warn
from tare.text.printable import say
from tare.text.units import exact, percent

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tare.analysis.recording import Recording

SYNOPSIS = "tare counts FILE [options]"
HELP = (
    "Prints the requested sizes of the whole run, the most frequent first, as lines ( n ) COUNT ( share, running share)\n"
    "CLASS: REQUESTED -> USABLE ( SLOP ). A clownshoe is a request just above a size class: much of its block is slop.\n"
    "To compare allocators by their total, use `tare model` (computed) or `tare replay` (measured)."
)
EXAMPLES = """
tare counts app.tare
tare counts app.tare -n 50
tare counts app.tare --model jemalloc-2011     the same requests with another allocator's size classes
tare counts --model list                       the allocators with a model
"""

_LINES = 10


class Count(NamedTuple):
    blocks: float
    kind: str
    requested_bytes: int
    usable_bytes: int
    clownshoe: bool

    @property
    def slop_bytes(self) -> int:
        return self.usable_bytes - self.requested_bytes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="a trace")
    parser.add_argument(
        "--model", metavar="MODEL", help="use the size classes of this allocator; list: print the models"
    )
    add_rows(parser, _LINES, "sizes")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    from tare.analysis.recording import Recording
    from tare.source.core_source import CoreSource

    if options.model == "list":
        from tare import _core

        say(f"{name:<16} {meaning}" for name, meaning in _core.size_models())
        return 0
    if options.file is None:
        raise TareError(USAGE, "counts: missing FILE: give a trace (`tare counts --help` has examples)")
    recording = Recording(CoreSource(options.file, model=options.model or ""))
    warn(recording.source.warnings)
    counts = concordance(recording, modelled=options.model is not None)
    if options.json:
        from tare.reports.json_report import dump

        print(dump(as_json(counts, options.model or recording.process["allocator"])))
    else:
        say(lines(counts, options.rows))
    return 0


def concordance(recording: Recording, *, modelled: bool) -> list[Count]:
    """Sizes by their number of requests. Measured usable sizes, unless another allocator's model is chosen."""
    database = recording.database
    database.use("site_sizes", "size_classes")
    usable = "coalesce(c.usable_bytes, z.usable_bytes)" if modelled else "z.usable_bytes"
    rows = database.rows(
        f"""
        with sized as (
          select coalesce(c.class, '?') as class, z.requested_bytes, {usable} as usable_bytes,
                 coalesce(c.clownshoe, 0) as clownshoe, z.total_blocks
          from site_sizes z left join size_classes c on c.requested_bytes = z.requested_bytes
          where z.api not in ('pool block', 'pool memory')
        )
        select sum(total_blocks) as blocks, class, requested_bytes, usable_bytes, clownshoe = 1
        from sized where total_blocks > 0
        group by class, requested_bytes, usable_bytes, clownshoe
        order by blocks desc, requested_bytes, usable_bytes
        """
    )
    return [Count(*row) for row in rows]


def lines(counts: list[Count], limit: int | None) -> Iterator[str]:
    """The seed's table: its columns, and its widths where the numbers fit them."""
    total = sum(count.blocks for count in counts)
    yield f"{round(total)} numbers:"
    shown = counts[:limit]
    wide = _Widths(shown)
    running = 0.0
    for number, count in enumerate(shown, start=1):
        running += count.blocks
        mark = "  clownshoe" if count.clownshoe else ""
        yield (
            f"({number:>{wide.number}} ) {round(count.blocks):>{wide.blocks}} ({percent(count.blocks, total):>5}, {percent(running, total):>5}) "
            f"{count.kind + ':':<{wide.kind}} {count.requested_bytes:>{wide.bytes}} -> {count.usable_bytes:>{wide.bytes}} "
            f"({count.slop_bytes:>{wide.bytes}} ){mark}"
        )
    if len(counts) > len(shown):
        yield f"  ({len(counts) - len(shown)} more)"
    slop = sum(count.slop_bytes * count.blocks for count in counts)
    usable = sum(count.usable_bytes * count.blocks for count in counts)
    yield f"slop: {exact(slop)} of {exact(usable)} usable bytes ({percent(slop, usable)})"
    clownshoes = [count for count in counts if count.clownshoe]
    if clownshoes:
        wasted = sum(count.slop_bytes * count.blocks for count in clownshoes)
        largest = sorted(clownshoes, key=lambda count: -count.slop_bytes * count.blocks)[:5]
        named = ", ".join(f"{exact(c.requested_bytes)} -> {exact(c.usable_bytes)} x {exact(c.blocks)}" for c in largest)
        more = f", {len(clownshoes) - len(largest)} more" if len(clownshoes) > len(largest) else ""
        yield f"clownshoes: {exact(wasted)} bytes of it: {named}{more}"


class _Widths:
    def __init__(self, shown: list[Count]) -> None:
        self.number = max(2, len(str(len(shown))))
        self.blocks = max((len(str(round(count.blocks))) for count in shown), default=1)
        self.kind = max((len(count.kind) + 1 for count in shown), default=1)
        self.bytes = max(6, max((len(str(count.usable_bytes)) for count in shown), default=1))


def as_json(counts: list[Count], model: str) -> dict[str, Any]:
    return {
        "model": model,
        "count": round(sum(count.blocks for count in counts)),
        "sizes": [
            {
                "count": round(count.blocks),
                "class": count.kind,
                "requested_bytes": count.requested_bytes,
                "usable_bytes": count.usable_bytes,
                "slop_bytes": count.slop_bytes,
                "clownshoe": count.clownshoe,
            }
            for count in counts
        ],
    }
