#!/bin/sh
# Runs each fuzz target of folder $1, and with the Python $2 those of the importers, a target a core: first its seed corpus (fuzz/corpus/NAME),
# then new inputs: FUZZ_RUNS of them, always the same, so that what passed once passes again; or, given FUZZ_SECONDS, for that long ever
# others on top of the finds of earlier runs. `fuzz.sh FOLDER PYTHON --only NAME` runs one target.
set -eu
folder=$1
python=${2:-}

# Any input of up to 1 MB is read within 10 s and 1 GiB. What the sanitizer itself keeps of freed memory is limited, so that
# the rest is the reader's.
of_readers="-timeout=10 -rss_limit_mb=1024 -max_len=1048576"
# Inputs that are programs of calls mean as much work as they say.
of_programs="-timeout=10 -rss_limit_mb=2048"
export ASAN_OPTIONS="quarantine_size_mb=64${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

# Finds stay in the build folder; one worth keeping is copied into the seed corpus by hand. libFuzzer adds inputs to the first
# folder that it gets.
run_one() {
  name=$1
  found=$folder/found/$name
  log=$folder/$name.log
  added=${FUZZ_SECONDS:+$found}
  added=${added:-$folder/course/$name}
  [ -n "${FUZZ_SECONDS:-}" ] || rm -rf "$added"
  mkdir -p "$found" "$added"
  bounds=$of_readers
  case $name in
    # Importers are Python code: 2 seconds each. Their seeds are the files of tests/python/imports/goldens.py.
    import_*)
      course="-seed=1 -runs=700 -max_total_time=2"
      target="$python fuzz/importers/fuzz_importer.py ${name#import_}"
      seeds=$folder/seeds/$name
      corpus="--seeds $seeds"
      ;;
    *)
      course="-seed=1 -runs=${FUZZ_RUNS:-20000} -max_total_time=20"
      target=$folder/$name
      seeds=fuzz/corpus/$name
      corpus="-runs=0 -artifact_prefix=$found/ $seeds"
      case $name in arena | atom_table | buffer | gc_graph | text_stream) bounds=$of_programs ;; esac
      corpus="$corpus $bounds"
      ;;
  esac
  extent=$course
  [ -z "${FUZZ_SECONDS:-}" ] || extent="-max_total_time=$FUZZ_SECONDS"
  echo "fuzz: $name"
  if ! $target $corpus >"$log" 2>&1 ||
     ! $target $extent $bounds -artifact_prefix="$found/" "$added" "$seeds" >>"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "fuzz: $name failed; the input lies in $found" >&2
    exit 1
  fi
}

if [ "${3:-}" = --only ]; then
  # libFuzzer ends its process at once: temporary files would stay.
  TMPDIR=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
  export TMPDIR
  trap 'rm -rf "$TMPDIR"' EXIT
  run_one "$4"
  exit 0
fi

# a target without seeds would be left out in silence
for source in $(grep -l LLVMFuzzerTestOneInput fuzz/*.cc); do
  name=$(basename "$source" .cc)
  [ -d "fuzz/corpus/$name" ] || { echo "fuzz: $source has no seed corpus (fuzz/corpus/$name)" >&2; exit 1; }
done
{
  for seeds in fuzz/corpus/*/; do basename "$seeds"; done
  [ -z "$python" ] || printf 'import_%s\n' heaptrack memray pprof dhat massif jeprof ltrace
} | xargs -n 1 -P "${JOBS:-$(nproc)}" "$0" "$folder" "$python" --only
