"""How often `tare prove` performs each script, unless --runs sets it."""

from __future__ import annotations

# A script of 10 million calls takes 1 s a run, and each run is made twice, once without an allocator: fewer runs bound the wait.
MOST_RUNS = 5
LEAST_RUNS = 3
ENOUGH_S = 8.0
