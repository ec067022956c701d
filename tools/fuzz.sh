#!/bin/sh
# Runs each fuzz target of folder $1, and with the Python $2 those of the importers: first its seed corpus (fuzz/corpus/NAME), then new inputs: FUZZ_RUNS of them, always
# the same, so that what passed once passes again; or, given FUZZ_SECONDS, for that long ever others on top of the finds
# of earlier runs.
set -eu
folder=$1
python=${2:-}
if [ -n "${FUZZ_SECONDS:-}" ]; then
  extent="-max_total_time=$FUZZ_SECONDS"
else
  extent="-seed=1 -runs=${FUZZ_RUNS:-20000} -max_total_time=20"
fi

# Any input of up to 1 MB is read within 10 s and 1 GiB. What the sanitizer itself keeps of freed memory is limited, so that
# the rest is the reader's.
of_readers="-timeout=10 -rss_limit_mb=1024 -max_len=1048576"
# Inputs that are programs of calls mean as much work as they say.
of_programs="-timeout=10 -rss_limit_mb=2048"
export ASAN_OPTIONS="quarantine_size_mb=64${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

# a target without seeds would be left out in silence
for source in $(grep -l LLVMFuzzerTestOneInput fuzz/*.cc); do
  name=$(basename "$source" .cc)
  [ -d "fuzz/corpus/$name" ] || { echo "fuzz: $source has no seed corpus (fuzz/corpus/$name)" >&2; exit 1; }
done

for seeds in fuzz/corpus/*/; do
  name=$(basename "$seeds")
  target=$folder/$name
  case $name in
    arena | atom_table | buffer | gc_graph | text_stream) bounds=$of_programs ;;
    *) bounds=$of_readers ;;
  esac
  # finds stay in the build folder; one worth keeping is copied into the seed corpus by hand
  found=$folder/found/$name
  log=$folder/$name.log
  # what libFuzzer adds to its inputs goes to the first folder it's given
  added=${FUZZ_SECONDS:+$found}
  added=${added:-$folder/course/$name}
  [ -n "${FUZZ_SECONDS:-}" ] || rm -rf "$added"
  mkdir -p "$found" "$added"
  echo "fuzz: $name"
  if ! "$target" -runs=0 $bounds -artifact_prefix="$found/" "$seeds" >"$log" 2>&1 ||
     ! "$target" $extent $bounds -artifact_prefix="$found/" "$added" "$seeds" \
       >>"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "fuzz: $name failed; the input lies in $found" >&2
    exit 1
  fi
done

# Importers are Python code: a second each. Their seeds are the files of tests/python/imports/goldens.py.
[ -n "$python" ] || exit 0
[ -n "${FUZZ_SECONDS:-}" ] || extent="-seed=1 -runs=700 -max_total_time=2"
for name in heaptrack memray pprof dhat massif jeprof ltrace; do
  found=$folder/found/import_$name
  log=$folder/import_$name.log
  added=${FUZZ_SECONDS:+$found}
  added=${added:-$folder/course/import_$name}
  [ -n "${FUZZ_SECONDS:-}" ] || rm -rf "$added"
  mkdir -p "$found" "$added"
  echo "fuzz: import $name"
  target="$python fuzz/importers/fuzz_importer.py $name"
  if ! $target --seeds "$folder/seeds/import_$name" >"$log" 2>&1 ||
     ! $target $extent $of_readers -artifact_prefix="$found/" "$added" "$folder/seeds/import_$name" >>"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "fuzz: the importer of $name failed; the input lies in $found" >&2
    exit 1
  fi
done
