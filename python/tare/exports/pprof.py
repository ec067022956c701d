"""pprof's profile (github.com/google/pprof, proto/profile.proto), gzip-compressed.

The sample types are always the same five, so that `-diff_base` works between any two recordings. Each sample has the usable
size of its blocks as label `bytes`, as heap profiles of Go have it.
"""

from __future__ import annotations

import gzip
from typing import IO, TYPE_CHECKING

from tare.analysis.folded import WHOLE_STACK
from tare.exports.samples import MEASURES, prepare_names, samples
from tare.exports.wire import data, number, packed

if TYPE_CHECKING:
    from tare.analysis.recording import Recording

# Fields of Profile.
_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING = 1, 2, 3, 4, 5, 6
_TIME_NS, _DURATION_NS, _PERIOD_TYPE, _PERIOD, _COMMENT, _DEFAULT_TYPE = 9, 10, 11, 12, 13, 14


class _Strings:
    def __init__(self) -> None:
        self.numbers = {"": 0}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def write(recording: Recording, out: IO[bytes]) -> None:
    found = samples(recording)
    prepare_names(recording, found)
    process, database, names, string = recording.process, recording.database, recording.names, _Strings()
    database.use("rows", "modules")
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as profile:
        for measure, (_, unit) in MEASURES.items():
            profile.write(data(_SAMPLE_TYPE, _value_type(string(measure), string(unit))))
        used: dict[int, None] = {}
        for sample in found:
            rows = names.rows(sample.stack_id, WHOLE_STACK)
            used.update(dict.fromkeys(rows))
            label = number(1, string("bytes")) + number(3, sample.usable_bytes) + number(4, string("bytes"))
            values = [getattr(sample, field) for field, _ in MEASURES.values()]
            profile.write(data(_SAMPLE, packed(1, (row + 1 for row in rows)) + packed(2, values) + data(3, label)))
        modules = database.rows(
            "select module_id, path, build_id, start_address, end_address from modules order by module_id"
        )
        # pprof takes the first mapping for the program.
        for module_id, path, build_id, start, end in sorted(modules, key=lambda each: each[1] != process["exe"]):
            mapping = number(1, module_id + 1) + number(2, start) + number(3, end) + number(5, string(path))
            flags = b"".join(number(field, 1) for field in (7, 8, 9, 10))  # functions, files, lines, inlined frames
            profile.write(data(_MAPPING, mapping + number(6, string(build_id)) + flags))
        functions: dict[tuple[str, str, str], int] = {}
        for row, module_id, address in database.rows("select row_id, module_id, address from rows order by row_id"):
            if row not in used:
                continue
            location = number(1, row + 1) + (number(2, module_id + 1) if module_id is not None else b"")
            location += number(3, address)
            for frame in names.frames(row):
                function = functions.setdefault((frame.name, frame.mangled, frame.file), len(functions) + 1)
                location += data(4, number(1, function) + number(2, frame.line or 0))
            profile.write(data(_LOCATION, location))
        for (name, mangled, file), function in functions.items():
            text = number(1, function) + number(2, string(name)) + number(3, string(mangled or name))
            profile.write(data(_FUNCTION, text + number(4, string(file))))
        profile.write(
            number(_TIME_NS, process["start_realtime_ns"]) + number(_DURATION_NS, process["duration_ns"] or 0)
        )
        profile.write(data(_PERIOD_TYPE, _value_type(string("space"), string("bytes"))))
        profile.write(number(_PERIOD, process["sample_bytes"] or 1))
        profile.write(number(_COMMENT, string(process["command_line"])))
        profile.write(number(_DEFAULT_TYPE, string("inuse_space")))
        for word in string.numbers:
            profile.write(data(_STRING, word.encode("utf-8", "replace")))


def _value_type(type_: int, unit: int) -> bytes:
    return number(1, type_) + number(2, unit)
