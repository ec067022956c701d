"""The part of a recording that an export has: a time, a measure, lenses and filters, as in the report."""

from __future__ import annotations

from typing import NamedTuple

from tare.analysis import records
from tare.errors import USAGE, TareError


class Selection(NamedTuple):
    at: str = "peak"  # peak, end or a time: of blocks in use and of their tare
    measure: str = ""  # that files with one number a stack have; "": inuse_space, or tare_space with lenses
    lenses: tuple[str, ...] = ()  # whose bytes are tare_space; none: of all whose bytes leave net
    filters: tuple[str, ...] = ()  # of sites

    @property
    def shown(self) -> str:
        return self.measure or ("tare_space" if self.lenses else "inuse_space")

    @property
    def blocks(self) -> str:
        """The column of site_sizes that counts blocks in use."""
        return {"peak": "peak_blocks", "end": "end_blocks"}.get(self.at, "at_blocks")

    @property
    def claimed(self) -> str | None:
        """The column of claims; None: lenses claim nothing at a time between."""
        return {"peak": "bytes_peak", "end": "bytes_end"}.get(self.at)

    @property
    def at_ns(self) -> int | None:
        return None if self.at in ("peak", "end") else records.parse_time(self.at)

    def check(self) -> None:
        if self.claimed is None and (self.lenses or self.measure == "tare_space"):
            raise TareError(USAGE, f"export: lenses know the peak and the end; give --at peak or end, not {self.at}")


ALL = Selection()
