#!/bin/sh
# Runs each fuzz target of folder $1: first its seed corpus (fuzz/corpus/NAME), then new inputs for FUZZ_SECONDS.
set -eu
folder=$1
seconds=${FUZZ_SECONDS:-5}

# a target without seeds would be left out in silence
for source in $(grep -l LLVMFuzzerTestOneInput fuzz/*.cc); do
  name=$(basename "$source" .cc)
  [ -d "fuzz/corpus/$name" ] || { echo "fuzz: $source has no seed corpus (fuzz/corpus/$name)" >&2; exit 1; }
done

for seeds in fuzz/corpus/*/; do
  name=$(basename "$seeds")
  target=$folder/$name
  # finds stay in the build folder; one worth keeping is copied into the seed corpus by hand
  found=$folder/found/$name
  log=$folder/$name.log
  mkdir -p "$found"
  echo "fuzz: $name"
  if ! "$target" -runs=0 -artifact_prefix="$found/" "$seeds" >"$log" 2>&1 ||
     ! "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$found/" \
       "$found" "$seeds" >>"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "fuzz: $name failed; the input lies in $found" >&2
    exit 1
  fi
done
