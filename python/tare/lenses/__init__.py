"""The lenses, in the order in which bytes are granted to them: a byte that two claim goes to the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tare.errors import USAGE, TareError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tare.lenses.lens import Lens

# A new lens is one file with a LENS and one name here. Lenses of weight `tare` come first: unused contents, then slop, then the
# allocator's own bytes. Lenses of weight `potential` follow.
NAMES = (
    "leaks",
    "duplicates",
    "unwritten",
    "slop",
    "headers",
    "growth",
    "headroom",
    "churn",
    "recreated",
    "twins",
    "wide-pointers",
    "padding",
    "hoards",
    "mappings",
    "unshared",
)

# Run only if they are named. twins and unshared need another pass over the trace, 100 ns an event, which doubled the CPU time of a report. The sites
# of mappings allocate no blocks, and its thresholds haven't been judged on real programs yet.
ON_REQUEST = ("twins", "mappings", "unshared")
# twins runs in a report without being named if calls abound: an allocation in 5 us, with its free, takes some 1 % of the run.
_MANY_CALLS = 100_000
_MANY_CALLS_A_NS = 2e-4


def load(name: str) -> Lens:
    """The lens of that name; imports only its file."""
    from importlib import import_module

    if name not in NAMES:
        close = did_you_mean(name, NAMES)
        raise TareError(USAGE, f"no lens '{name}'{close} (lenses: {', '.join(NAMES)})")
    lens: Lens = import_module(f"tare.lenses.{name.replace('-', '_')}").LENS
    return lens


def load_named(names: str) -> list[Lens]:
    """Those of a comma-separated list, in the order of NAMES."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    return sorted((load(name) for name in dict.fromkeys(wanted)), key=lambda lens: NAMES.index(lens.name))


def load_all() -> list[Lens]:
    return [load(name) for name in NAMES]


def names_for(chosen: Sequence[Lens], process: Mapping[str, Any] | None = None) -> list[str]:
    """The lenses of a report: all but those on request, and of these the chosen ones. `process`: of a report that has time for a second walk."""
    wanted = {lens.name for lens in chosen}
    return [name for name in NAMES if name in wanted or is_in_reports(name, process)]


def is_in_reports(name: str, process: Mapping[str, Any] | None) -> bool:
    """True if a report runs the lens without its name."""
    return name not in ON_REQUEST or (name == "twins" and process is not None and _calls_abound(process))


def _calls_abound(process: Mapping[str, Any]) -> bool:
    calls = process["alloc_events"] or 0
    return calls >= _MANY_CALLS and calls >= _MANY_CALLS_A_NS * (process["duration_ns"] or 0)


def tare_names(chosen: Sequence[Lens]) -> list[str]:
    """The lenses whose bytes leave net, and the chosen ones."""
    return [lens.name for lens in load_all() if lens.weight == "tare" or lens in chosen]


def load_runnable(names: Sequence[str], process: Mapping[str, Any]) -> list[Lens]:
    """Those of `names` that a recording has something for, in the order of NAMES."""
    found = [load(name) for name in NAMES if name in names]
    return [lens for lens in found if not _what_is_missing(lens, process)]


def check_runnable(lens: Lens, process: Mapping[str, Any]) -> None:
    """A lens that was requested by name and can't run is an error."""
    if missing := _what_is_missing(lens, process):
        raise TareError(USAGE, f"lens {lens.name} needs {missing}")


def lacking_facts(lens: Lens, process: Mapping[str, Any]) -> list[str]:
    """Facts that the lens needs and an imported file doesn't have."""
    lacking = (process["missing_facts"] or "").split(",")
    return [fact for fact in lens.facts if fact in lacking]


def _what_is_missing(lens: Lens, process: Mapping[str, Any]) -> str:
    if absent := lacking_facts(lens, process):
        return f"facts that {process['imported_from']} doesn't record ({', '.join(absent)}): record with tare run"
    if lens.sampling == "unavailable" and process["sample_bytes"]:
        return "every allocation, but this recording is a sample: record without --sample"
    if lens.needs == "contents" and not process["contents_recorded"]:
        return "the contents of blocks: record with tare run --content"
    if lens.needs == "snapshots" and not process["snapshots"]:
        return "a snapshot of live blocks: record with tare run --snapshots"
    return ""
