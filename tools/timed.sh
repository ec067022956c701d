#!/bin/sh
# Runs make targets one after the other, stops at the first that fails, and says at the end what each took.
set -u
report=""
for target in "$@"; do
  start=$(date +%s)
  ${MAKE:-make} --no-print-directory "$target"
  status=$?
  report="$report$(printf '%-14s %4d s' "$target" $(($(date +%s) - start)))"
  if [ $status != 0 ]; then
    printf '%s  FAILED\n' "$report"
    exit $status
  fi
  report="$report
"
done
printf '%s' "$report"
