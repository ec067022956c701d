"""The watcher's memory of processes it has seen alive, in a file, so that the watcher can be killed and restarted at any time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from tare.watch.oom import Counters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tare.watch.store import Store

NAME = "state.json"
_MOST_BYTES = 16 << 20
_MOST_GROUPS = 32


class Seen(NamedTuple):
    """Of a process, by its image."""

    namespace: int  # the PID namespace that it was visible from; 0: never visible
    group: str  # the folder of its control group
    counters: Counters  # while it was alive
    seen_ns: int  # since 1970


def load(store: Store) -> dict[str, Seen]:
    """A damaged or foreign file counts as none."""
    data = store.read_file(NAME, _MOST_BYTES)
    try:
        return {str(image): _seen(row) for image, row in json.loads(data or b"{}").items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def save(store: Store, known: Mapping[str, Seen]) -> None:
    rows = {image: [seen.namespace, seen.group, *seen.counters, seen.seen_ns] for image, seen in sorted(known.items())}
    store.write_file(NAME, json.dumps(rows).encode())


def _seen(row: Any) -> Seen:
    namespace, group, kills, system_kills, limit_bytes, inodes, seen_ns = row
    if len(kills) > _MOST_GROUPS or not isinstance(group, str):
        raise ValueError
    return Seen(
        int(namespace),
        group,
        Counters(
            {str(folder): int(count) for folder, count in kills.items()},
            _maybe(system_kills),
            _maybe(limit_bytes),
            {str(folder): int(inode) for folder, inode in inodes.items()},
        ),
        int(seen_ns),
    )


def _maybe(value: Any) -> int | None:
    return None if value is None else int(value)
