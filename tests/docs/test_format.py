"""src/trace/file/FORMAT.md is enough to read a trace: what was written from it alone reads the golden files as they are."""

import re
from itertools import product
from pathlib import Path
from random import Random

import pytest
from tare._core import open as open_recording
from tare.errors import TareError
from trace_decoder.document import entry_points, example
from trace_decoder.records import EVENTS, NewerVersion, read_bytes, read_trace
from trace_decoder.samples import record, records
from trace_decoder.tables import Trace

REPO = Path(__file__).resolve().parents[2]
GOLDEN = REPO / "tests/trace/file/golden"
RICH = (GOLDEN / "v1-rich.tare").read_bytes()


def described(trace: Trace) -> list[str]:
    """The text beside a golden file, in the words of the file."""
    status = trace.number(23) if 23 in trace.fields else -1
    lines = [
        f"pid {trace.number(1)} parent {trace.number(2)} image {trace.number(3)} exe {trace.text(7)}"
        f" words {len(trace.texts(9))} status {status} complete {int(trace.has_end)}"
    ]
    lines += [f"clock {stamp} {ns}" for stamp, ns in trace.clock]
    lines += [f"module {m.path.decode()} {m.start} {m.end} {len(m.build_id)}" for m in trace.modules]
    for s in trace.shapes:
        facts = f"{s.api} {s.align_log2} {int(s.is_mapping)} {s.requested} {s.usable} {s.weight:g}"
        lines.append(" ".join(["shape", facts, "from", *map(str, trace.addresses(s.stack))]))
    if trace.segment:
        before = [trace.sums[i] for i in (0, 1, 9, 11)]
        lines.append(" ".join(map(str, ["segment", *trace.segment, "after", *before])))
        lines += [" ".join(map(str, ["position", *position])) for position in trace.positions]
    own = trace.live.dictionary
    for address, number in trace.live.blocks:
        s = own.shapes[number]
        lines.append(
            " ".join(["live", f"{address} {s.requested} {s.weight:g} from", *map(str, own.addresses(s.stack))])
        )
    lines += [f"mapped {start} {end}" for start, end in trace.live.mappings]
    for e in trace.events:
        entry = e.entry if e.free_stack is None else e.free_stack
        lines.append(f"{e.stamp} {e.thread} {e.kind} {e.api} {e.address} {entry % 2**32}")
    return lines


@pytest.mark.parametrize("name", [path.stem for path in sorted(GOLDEN.glob("*.tare"))])
def test_golden_files_read_as_they_are(name: str) -> None:
    trace = read_trace(GOLDEN / f"{name}.tare")
    assert (trace.damage, trace.is_cut) == (None, False)
    said = (GOLDEN / f"{name}.txt").read_text().splitlines()
    assert described(trace) == [
        line for line in said if re.match(r"(pid|clock|module|shape|segment|position|live|mapped|\d+) ", line)
    ]


def test_the_worked_example_is_a_golden_file() -> None:
    assert example() == (GOLDEN / "v1-example.tare").read_bytes()


def test_every_entry_point_is_documented() -> None:
    defined = (REPO / "src/trace/model/apis.def").read_text()
    families = {"allocations": "ALLOC", "frees": "FREE", "mappings": "MAP"}
    assert entry_points() == {
        family: {
            int(code): name
            for code, name in re.findall(rf'^TARE_{macro}_API\((\d+), \w+, "(.*)"\)$', defined, re.MULTILINE)
        }
        for family, macro in families.items()
    }


def test_an_unknown_record_is_skipped_where_it_says_so() -> None:
    for _, at, _ in records(RICH):
        trace = read_bytes(RICH[:at] + record(999, 1, b"later") + RICH[at:])
        assert (trace.skipped, trace.damage) == ([999], None)
        assert described(trace) == described(read_bytes(RICH))
        with pytest.raises(NewerVersion):
            read_bytes(RICH[:at] + record(999, 0, b"later") + RICH[at:])


def test_what_follows_the_end_is_ignored() -> None:
    assert described(read_bytes(RICH + record(999, 0, b"later") + b"rest")) == described(read_bytes(RICH))


def test_a_file_that_ends_anywhere_is_read_to_its_last_whole_record() -> None:
    ends = [16, *(end for _, _, end in records(RICH))]
    for length in range(16, len(RICH)):
        trace = read_bytes(RICH[:length])
        assert (trace.damage, trace.has_end, trace.is_cut) == (None, False, length not in ends)
    blocks = [end for kind, _, end in records(RICH) if kind == EVENTS]
    assert [len(read_bytes(RICH[:end]).blocks) for end in blocks] == [1, 2]


def test_what_precedes_damage_is_good() -> None:
    whole = read_bytes(RICH)
    _, at, end = next(found for found in records(RICH) if found[0] == EVENTS)
    for place in (at, at + 8, at + 16, end - 1):
        trace = read_bytes(RICH[:place] + bytes([RICH[place] ^ 64]) + RICH[place + 1 :])
        assert trace.damage and not trace.blocks and not trace.has_end
        assert trace.shapes == whole.shapes


@pytest.mark.slow
def test_both_readers_agree_on_what_damage_is(tmp_path: Path) -> None:
    """A byte of a payload changed and its checksum made to fit: the reader proper ends where this one ends."""
    random = Random(1)
    path = tmp_path / "changed.tare"
    verdicts = set()
    for _ in range(400):
        kind, at, end = random.choice(records(RICH))
        place = random.randrange(at + 16, end)
        changed = bytes([random.choice([0, RICH[place] ^ 1 << random.randrange(8), random.randrange(256)])])
        payload = RICH[at + 16 : place] + changed + RICH[place + 1 : end]
        path.write_bytes(RICH[:at] + record(kind, 0, payload) + RICH[end:])
        damage = read_trace(path).damage
        assert (damage is not None) == is_damaged(path), f"{kind} at {place}: {changed!r} {damage}"
        verdicts.add((kind, damage is None))
    assert verdicts == {(kind, good) for kind, good in product({kind for kind, _ in verdicts}, (False, True))}


def is_damaged(path: Path) -> bool:
    try:
        warnings = open_recording(str(path), None, lambda done, all_: None).warnings
    except TareError as error:
        return "is damaged" in str(error)
    return any("is damaged" in warning for warning in warnings)
