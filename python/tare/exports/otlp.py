"""OpenTelemetry's profiles (opentelemetry-proto, profiles/v1development): one ProfilesData message, with a profile for each measure.

That format is still in development: a later version of it may have other numbers for its fields. Entry 0 of each table is empty.
"""

from __future__ import annotations

import hashlib
from typing import IO, TYPE_CHECKING

from tare import __version__
from tare._core import placed_amounts
from tare.exports.samples import MEASURES, Samples
from tare.exports.wire import Strings, data, fixed64, number, packed, varint

if TYPE_CHECKING:
    from collections.abc import Callable

    from tare.analysis.recording import Recording
    from tare.exports.selection import Selection

    Entry = Callable[[int, bytes], None]

# Fields of ProfilesData, of the dictionary, and of a profile.
_RESOURCE_PROFILES, _DICTIONARY = 1, 2
_MAPPINGS, _LOCATIONS, _FUNCTIONS, _LINKS, _STRINGS, _ATTRIBUTES, _STACKS = 1, 2, 3, 4, 5, 6, 7
_TYPE, _SAMPLES, _TIME, _DURATION, _PERIOD_TYPE, _PERIOD, _ID = 1, 2, 3, 4, 5, 6, 7
_BATCH = 8192  # stacks that are written at once


def write(recording: Recording, selection: Selection, out: IO[bytes]) -> None:
    samples = Samples(recording, selection, with_tare=True)
    string = Strings()

    def entry(table: int, value: bytes) -> None:
        """An entry of a table. Readers join the pieces of the dictionary, so that it never lies in memory."""
        out.write(data(_DICTIONARY, data(table, value)))

    for table in (_MAPPINGS, _LOCATIONS, _FUNCTIONS, _LINKS, _ATTRIBUTES, _STACKS):
        entry(table, b"")
    module_of = _write_modules(recording, string, entry)
    position = _write_locations(recording, samples, module_of, string, entry)
    texts = samples.stacks.row_texts(lambda row: varint(position[row]), outermost_first=False)
    numbers: dict[int, int] = {}  # of stacks' entries, by the stack's id
    profiles = b""
    for measure in MEASURES:
        stacks, amounts = samples.of_measure(measure)
        new = [stack for stack in stacks if stack not in numbers]
        numbers.update(zip(new, range(len(numbers) + 1, len(numbers) + len(new) + 1), strict=True))
        for at in range(0, len(new), _BATCH):
            out.write(texts.messages(new[at : at + _BATCH], [_DICTIONARY, _STACKS, 1]))
        encoded = placed_amounts(_SAMPLES, [numbers[stack] for stack in stacks], amounts)
        profiles += data(2, _profile(recording, measure, string, encoded))
    scope = data(1, data(1, b"tare") + data(2, __version__.encode()))
    out.write(data(_RESOURCE_PROFILES, data(1, _resource(recording)) + data(2, scope + profiles)))
    for word in string.numbers:
        entry(_STRINGS, word.encode("utf-8", "replace"))


def _profile(recording: Recording, measure: str, string: Strings, encoded: bytes) -> bytes:
    process = recording.process
    identity = f"{process['host']}\0{process['pid']}\0{process['start_realtime_ns']}\0{measure}"
    return (
        data(_TYPE, number(1, string(measure)) + number(2, string(MEASURES[measure][1])))
        + encoded
        + fixed64(_TIME, process["start_realtime_ns"])
        + number(_DURATION, process["duration_ns"] or 0)
        + data(_PERIOD_TYPE, number(1, string("space")) + number(2, string("bytes")))
        + number(_PERIOD, process["sample_bytes"] or 1)
        + data(_ID, hashlib.sha256(identity.encode("utf-8", "replace")).digest()[:16])
    )


def _resource(recording: Recording) -> bytes:
    process = recording.process
    texts = {
        "process.executable.name": process["program"],
        "process.executable.path": process["exe"],
        "process.command_line": process["command_line"],
        "host.name": process["host"],
    }
    values = {name: data(1, text.encode("utf-8", "replace")) for name, text in texts.items()}
    values["process.pid"] = varint(3 << 3) + varint(process["pid"])
    return b"".join(data(1, data(1, name.encode()) + data(2, value)) for name, value in values.items())


def _write_modules(recording: Recording, string: Strings, entry: Entry) -> dict[int, int]:
    """Their positions, by id. The build id is an attribute."""
    recording.database.use("modules")
    rows = recording.database.rows(
        "select module_id, path, build_id, start_address, end_address from modules order by module_id"
    )
    positions = {}
    key = string("process.executable.build_id.gnu")
    for position, (module_id, path, build_id, start, end) in enumerate(rows, 1):
        entry(_ATTRIBUTES, number(1, key) + data(2, data(1, build_id.encode())))
        mapping = number(1, start) + number(2, end) + number(4, string(path))
        entry(_MAPPINGS, mapping + (packed(5, (position,)) if build_id else b""))
        positions[module_id] = position
    return positions


def _write_locations(
    recording: Recording, samples: Samples, module_of: dict[int, int], string: Strings, entry: Entry
) -> dict[int, int]:
    """Their positions, by row."""
    functions: dict[tuple[str, str, str], int] = {}
    positions: dict[int, int] = {}
    used = set(samples.stacks.rows)
    recording.database.use("locations")
    for row, module_id, address in recording.database.rows(
        "select location_id, module_id, address from locations order by location_id"
    ):
        if row not in used:
            continue
        positions[row] = len(positions) + 1
        location = number(1, module_of.get(module_id, 0)) + number(2, address)
        for frame in recording.names.frames(row):
            function = functions.setdefault((frame.name, frame.mangled, frame.file), len(functions) + 1)
            location += data(3, number(1, function) + number(2, frame.line or 0))
        entry(_LOCATIONS, location)
    for name, mangled, file in functions:
        entry(_FUNCTIONS, number(1, string(name)) + number(2, string(mangled or name)) + number(3, string(file)))
    return positions
