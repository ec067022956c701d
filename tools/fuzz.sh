#!/bin/sh
# Runs each fuzz target found in folder $1: first its seed corpus (fuzz/corpus/NAME), then new inputs for FUZZ_SECONDS.
set -eu
folder=$1
seconds=${FUZZ_SECONDS:-5}
ran=0
for target in "$folder"/*; do
  [ -f "$target" ] && [ -x "$target" ] || continue
  name=$(basename "$target")
  seeds=fuzz/corpus/$name
  # finds stay in the build folder; one worth keeping is copied into the seed corpus by hand
  found=$folder/found/$name
  mkdir -p "$found"
  [ -d "$seeds" ] || { echo "fuzz: $name has no seed corpus ($seeds)" >&2; exit 1; }
  echo "fuzz: $name"
  log=$folder/$name.log
  if ! "$target" -runs=0 -artifact_prefix="$found/" "$seeds" >"$log" 2>&1 ||
     ! "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$found/" \
       "$found" "$seeds" >>"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "fuzz: $name failed; the input lies in $found" >&2
    exit 1
  fi
  ran=$((ran + 1))
done
[ $ran -gt 0 ] || { echo "fuzz: no targets in $folder" >&2; exit 1; }
