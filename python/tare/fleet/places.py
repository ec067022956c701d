"""The names of sites, which a store has for each build."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    from tare.fleet.store import Store


class Place(NamedTuple):
    function: str
    place: str
    stack: str


def places(store: Store, sites: Collection[int]) -> dict[int, Place]:
    """As in the newest build that has the site."""
    if not sites:
        return {}
    store.table("asked", "site bigint", [(site,) for site in sorted(sites)])
    newest = ", ".join(f"max_by(s.{name}, b.turn)" for name in Place._fields)
    rows = store.rows(
        f"""
        with builds as (
          select build_id, row_number() over (order by max(started_ns), build_id) as turn from recordings group by build_id
        )
        select s.site, {newest} from sites s join builds b on b.build_id = s.build_id
        where s.site in (select site from asked) group by s.site
        """
    )
    return {site: Place(*names) for site, *names in rows}
