"""Stores of random recordings: sites with sizes of long tails, machines that differ from each other."""

import random
from pathlib import Path

from fleet_made import facts
from tare.fleet import adding, layout
from tare.fleet.adding import Origin


def fill(
    store: Path,
    seed: int,
    *,
    growth: float = 1.0,
    machines: int = 24,
    each: int = 4,
    sites: int = 30,
    noise: float = 0.03,
    shared: bool = False,
) -> None:
    """Builds `1` and `2`, on other machines each or on `shared` ones; build 2 has `growth` times the bytes at site 0. The noise is 3 % a
    machine and 5 % a recording; a third of the sites occur in half of the recordings."""
    generator = random.Random(seed)
    layout.create(store)
    made = []
    factors: dict[str, float] = {}
    for build in ("1", "2"):
        for number in range(machines):
            machine = f"m{number}" if shared else f"m{build}-{number}"
            factor = factors.setdefault(machine, generator.lognormvariate(0, noise))
            for recording in range(each):
                sizes = {
                    site: round(1e5 / (site + 1) * factor * generator.lognormvariate(0, 0.05))
                    * (growth if build == "2" and site == 0 else 1.0)
                    for site in range(sites)
                    if site % 3 or generator.random() < 0.5 or site == 0
                }
                key = f"{build}-{number}-{recording}"
                of = facts(sizes)
                of.rows["claims"].clear()  # comparisons read sums
                of.rows["sites"][:] = facts(dict.fromkeys(range(sites), 1.0)).rows["sites"] if not made else []
                made.append((key, f"/r/{key}", of, Origin(build, machine, {})))
    adding.add_facts(store, made, bucket=0)
