"""The heap of a watched process as it is now, again and again, without snapshots in the folder: for `tare top`."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from tare.analysis.watched import LiveSite, live_sites
from tare.errors import IO, USAGE, TareError
from tare.watch import addresses, reader
from tare.watch.folder import Folder

if TYPE_CHECKING:
    from tare.analysis.difference import Key
    from tare.watch.reader import Facts


class Heap(NamedTuple):
    facts: Facts
    sites: dict[Key, LiveSite]


def is_watched(text: str) -> bool:
    """A folder, or an address in one; a process number is none."""
    return os.path.isdir(text) or "@" in text or addresses.place_of(text)[1] != 0


class WatchedHeap:
    """Of the process with the largest heap at the first reading."""

    def __init__(self, text: str) -> None:
        where, at, when = text.rpartition("@")
        if at and when != "now":
            raise TareError(USAGE, f"top shows a process as it is now: `tare report {text}` shows an earlier time")
        path, self._pid = addresses.place_of(where if at else text)
        self._folder = Folder(path)
        self._is_first = True

    def read(self) -> Heap | None:
        """None: the process has ended. A first reading without a process is an error."""
        from tare.analysis.recording import Recording
        from tare.source.core_source import CoreSource

        found = addresses.largest_living(self._folder, self._pid)
        if found is None:
            if self._pid and not self._is_first:
                return None
            of = f" of process {self._pid}" if self._pid else ""
            raise TareError(IO, f"{self._folder.path} has no watched file{of} of a running process")
        entry, facts = found
        self._is_first, self._pid = False, facts.process_id
        with tempfile.TemporaryDirectory(prefix="tare-top-") as scratch:
            out = os.path.join(scratch, "now.tare")
            with self._folder.opened(entry.name) as opened:
                reader.write_trace(opened, out, f"{self._folder.path}/{entry.name}")
            return Heap(facts, live_sites(Recording(CoreSource(out))))
