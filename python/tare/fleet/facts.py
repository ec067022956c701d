"""The facts that a store keeps of a recording: its totals, and the sums and claims of each site, as its own report has them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

from tare import __version__

if TYPE_CHECKING:
    from tare.analysis.difference import Key
    from tare.analysis.recording import Recording

# Table -> its columns with types. Rows of all but `sites` have the number of their recording.
TABLES = {
    "site_sums": (
        "recording bigint, site bigint, peak_blocks double, peak_gross_bytes double, end_gross_bytes double, calls double,"
        " tare_bytes double"
    ),
    "claims": (
        "recording bigint, lens varchar, site bigint, peak_bytes double, end_bytes double, total_bytes double, calls double,"
        " shown boolean"
    ),
    "sites": "recording bigint, site bigint, build_id varchar, function varchar, place varchar, module varchar, stack varchar",
}
ORDER = {"site_sums": "site, recording", "claims": "lens, site, recording", "sites": "build_id, site"}


class Facts(NamedTuple):
    totals: dict[str, Any]
    rows: dict[str, list[tuple[Any, ...]]]  # by table, without the recording's number


def facts_of(recording: Recording) -> Facts:
    from tare.analysis.difference import site_sums

    process = recording.process
    by_key = site_sums(recording)
    site_of = {site_id: site_number(key) for key, (_, _, ids) in by_key.items() for site_id in ids}
    build_id = main_build_id(recording)
    sums, sites = [], []
    for key, (stack, each, _) in by_key.items():
        number = site_number(key)
        sums.append((number, *each))
        first = stack[0] if stack else None
        sites.append(
            (
                number,
                build_id,
                first.name if first else "(unknown)",
                first.place if first else "",
                first.module if first else "",
                "\n".join(str(frame) for frame in stack),
            )
        )
    claims = []
    for lens in recording.ledger.lenses:
        found: dict[int, list[Any]] = {}
        for site_id, *amounts, shown in recording.ledger.site_claims(lens):
            site = site_of.get(site_id)
            if site is None:  # a site that only maps memory
                continue
            row = found.setdefault(site, [0.0, 0.0, 0.0, 0.0, False])
            for column, amount in enumerate(amounts):
                row[column] += amount or 0.0
            row[4] = row[4] or bool(shown)
        claims += [(lens.name, site, *row) for site, row in found.items()]
    peak, end = recording.moments["peak"], recording.moments["end"]
    totals = {
        "program": process["program"],
        "command_line": process["command_line"],
        "build_id": build_id,
        "host": process["host"] or "",
        "started_ns": process["start_realtime_ns"] or 0,
        "duration_ns": process["duration_ns"] or 0,
        "lenses": [lens.name for lens in recording.ledger.lenses],
        "sample_bytes": process["sample_bytes"] or 0,
        "peak_gross_bytes": peak.gross_bytes or 0.0,
        "end_gross_bytes": end.gross_bytes or 0.0,
        "peak_tare_bytes": peak.tare_bytes or 0.0,
        "end_tare_bytes": end.tare_bytes or 0.0,
        "peak_rss_bytes": process["peak_rss_bytes"],
        "tare_version": __version__,
    }
    return Facts(totals, {"site_sums": sums, "claims": claims, "sites": sites})


def site_number(key: Key) -> int:
    """Equal for equal names of functions, in every recording: 63 bits of a hash, 1e-10 for a collision among 40,000 sites."""
    return int.from_bytes(hashlib.sha256("\n".join(key).encode()).digest()[:8], "big") >> 1


def main_build_id(recording: Recording) -> str:
    """Of the executable; empty: it has none."""
    recording.database.use("modules")
    rows = dict(recording.database.rows("select path, build_id from modules order by generation desc, module_id desc"))
    return str(rows.get(recording.process["exe"]) or "")
