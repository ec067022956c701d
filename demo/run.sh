#!/bin/sh
# Records demo/concordance.py under Debian's python3.11, whose debug files come in a package of their own, and explains its heap.
# PYTHONMALLOC=malloc turns off Python's own pools: each object is then one block, with the line of C that asked for it.
set -eu
cd "$(dirname "$0")/.."
tare=.venv/bin/tare
trace=build/demo/concordance.tare
mkdir -p build/demo

say() { printf '\n\033[1m$ %s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9]*m//g'; fi; }

say PYTHONMALLOC=malloc tare run -o $trace -- /usr/bin/python3.11 demo/concordance.py
PYTHONMALLOC=malloc $tare run -o $trace -- /usr/bin/python3.11 demo/concordance.py

say tare report $trace -n 3
$tare report $trace -n 3

say "tare counts $trace    (the first ten of its lines)"
$tare counts $trace | sed -n 1,12p

cat <<WORDS

Go on with:  .venv/bin/tare report $trace --lens growth
             .venv/bin/tare sql $trace "select api, sum(total_blocks) from site_sizes group by api"
             .venv/bin/tare run -o yours.tare -- ./your-program
WORDS
