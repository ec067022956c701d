"""A generated store for `fleet_scale.py`: one program on 2,000 machines, its sizes with long tails, all rows made by DuckDB.

Each recording has the given number of rows of `site_sums` and as many of `claims`. A machine's factor has 3 % noise, a recording's
site 5 %, and a third of the sites occur in half of the recordings.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tare.fleet import layout
from tare.fleet.adding import write_rows

if TYPE_CHECKING:
    from pathlib import Path

MACHINES = 2000
BUILDS = 20
# A lens: the share of its claims among a recording's rows. Slop and headers claim at nearly each site.
LENSES = {
    "leaks": 0.02,
    "duplicates": 0.03,
    "unwritten": 0.05,
    "slop": 0.4,
    "headers": 0.4,
    "growth": 0.04,
    "churn": 0.06,
}
_FRAMES = 12


def _uniform(*of: str) -> str:
    """In (0, 1), the same for the same arguments."""
    return f"((hash({', '.join(of)}) % 1000003 + 1) / 1000005.0)"


def _normal(*of: str) -> str:
    return f"(sqrt(-2 * ln({_uniform(*of, '1')})) * cos(6.283185307 * {_uniform(*of, '2')}))"


def fill(store: Path, recordings: int, rows: int) -> None:
    import duckdb

    layout.create(store)
    connection = duckdb.connect(":memory:", config={"memory_limit": "2GB"})
    try:
        sites = _sites(connection, store, rows)
        for bucket in range(min(layout.BUCKETS, recordings)):
            _bucket(connection, store, bucket, recordings, rows, sites)
    finally:
        connection.close()


def _sites(connection: object, store: Path, rows: int) -> str:
    """The names of all sites in all builds: one file, as after a compaction."""
    names = " || chr(10) || ".join(f"'namespace::function_' || (site * {frame + 7} % 9973)" for frame in range(_FRAMES))
    return write_rows(
        store,
        connection,
        "sites",
        f"""select cast(0 as bigint) as recording, cast((s + 1) * 1000003 as bigint) as site, 'build' || b as build_id,
        'namespace::function_' || s as function, 'file' || (s % 97) || '.cc:' || s as place, '/usr/bin/app' as module,
        'namespace::function_' || s || chr(10) || {names.replace("site", "s")} as stack
        from range({rows}) a(s), range({BUILDS}) c(b)""",
        0,
    )


def _bucket(connection: object, store: Path, bucket: int, recordings: int, rows: int, sites: str) -> None:
    execute = connection.execute  # type: ignore[attr-defined]
    execute(
        f"""create or replace table made as
        select i, cast((i + 1) * {layout.BUCKETS} + {bucket} as bigint) as recording, i % {MACHINES} as machine, i % {BUILDS} as build,
          exp(0.03 * {_normal(f"i % {MACHINES}", "7")}) as factor
        from range({bucket}, {recordings}, {layout.BUCKETS}) r(i)"""
    )
    execute(
        f"""create or replace table site_sums as
        select recording, cast((s + 1) * 1000003 as bigint) as site, 1.0 + s % 50 as peak_blocks, size as peak_gross_bytes, size * 0.6 as end_gross_bytes,
          10.0 + s % 1000 as calls, size / 10 as tare_bytes
        from (select *, round(1e6 / (s + 1) * factor * exp(0.05 * {_normal("i", "s")})) as size from made, range({rows}) a(s))"""
    )
    turns, start = [], 0
    for lens, share in LENSES.items():
        turns.append(f"when s < {start + round(share * rows)} then '{lens}'")
        start += round(share * rows)
    execute(
        f"""create or replace table claims as
        select recording, lens, cast((rank_of + 1) * 1000003 as bigint) as site, size as peak_bytes, size * 0.6 as end_bytes, size * 3 as total_bytes,
          10.0 + s % 1000 as calls, size > 500 as shown
        from (
          select *, round(1e5 / (rank_of + 1) * factor * exp(0.05 * {_normal("i", "s", "3")})) as size
          from (select *, case {" ".join(turns)} else 'churn' end as lens, s % {max(1, rows * 2 // 5)} as rank_of from made, range({rows}) a(s))
          where s % 3 > 0 or {_uniform("i", "s", "5")} < 0.5
        )"""
    )
    files = {
        table: write_rows(store, connection, table, f"select * from {table}", bucket)
        for table in ("site_sums", "claims")
    }
    files["sites"] = sites
    found = execute(
        """select recording, i, machine, build, gross, tare from made
        join (select recording, sum(peak_gross_bytes) as gross, sum(tare_bytes) as tare from site_sums group by recording) using (recording)"""
    ).fetchall()
    for recording, number, machine, build, gross, tare in found:
        key = f"{number:064x}"
        entry = {
            "recording": recording, "key": key, "path": f"/recordings/{number}.tare", "program": "app", "command_line": "app --serve",
            "build": f"1.{build}", "build_id": f"build{build}", "machine": f"machine-{machine}", "labels": {"canary": "yes" if number % 10 == 0 else "no"},
            "started_ns": 1_700_000_000_000_000_000 + build * 86_400_000_000_000 + number, "duration_ns": 60_000_000_000, "added_ns": 0,
            "sample_bytes": 0, "peak_gross_bytes": gross, "end_gross_bytes": gross * 0.6, "peak_tare_bytes": tare, "end_tare_bytes": tare * 0.6,
            "peak_rss_bytes": round(gross * 1.5), "tare_version": "0", "lenses": list(LENSES), "files": files,
        }  # fmt: skip
        (store / layout.RECORDINGS / f"{key}.json").write_text(json.dumps(entry, indent=1, sort_keys=True) + "\n")
