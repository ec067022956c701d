#!/bin/sh
# Records a command, compares its heap with a budget or a baseline, and leaves the results as files. The GitHub Action runs it.
#
#   TARE_COMMAND    the command: words separated by spaces, without quotes (needed)
#   TARE_BUDGET     a TOML file with limits: docs/man/tare-check.md
#   TARE_BASELINE   a recording of an earlier state
#   TARE_ARTIFACTS  the folder for recording, report and results (default: tare-heap)
#
# Ends with the status of `tare check`: 1 if a limit is exceeded. Needs `tare` in PATH.
set -euf

: "${TARE_COMMAND:?set it to the command to record}"
artifacts=${TARE_ARTIFACTS:-tare-heap}
mkdir -p "$artifacts"

# shellcheck disable=SC2086  # words of a command
tare run -q -o "$artifacts/heap.tare" -- $TARE_COMMAND
tare report "$artifacts/heap.tare" >"$artifacts/report.txt"
tare report "$artifacts/heap.tare" --html -o "$artifacts/report.html" 2>/dev/null

set -- "$artifacts/heap.tare" --junit "$artifacts/junit.xml" --sarif "$artifacts/heap.sarif" --gitlab "$artifacts/code-quality.json"
[ -z "${TARE_BUDGET:-}" ] || set -- "$@" --budget "$TARE_BUDGET"
[ -z "${TARE_BASELINE:-}" ] || set -- "$@" --baseline "$TARE_BASELINE"
[ -z "${GITHUB_ACTIONS:-}" ] || set -- "$@" --github
tare check "$@"
