#!/bin/sh
# Compares the shared library's binary interface with that of the last release: check_abi.sh [--accept].
# --accept: makes the present one the reference, as for a release, or for a change before the first one.
# 0: the same, or only additions; 1: something that compiled programs use was changed or removed.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
build=${TARE_ABI_BUILD:-$here/build/abi}
version=$(sed -n 's/^#define TARE_VERSION_\(MAJOR\|MINOR\) //p' "$here/include/tare/version.h" | paste -sd.)
reference=$here/packaging/abi/libtare-$version.abi.xz

for tool in abidw abidiff; do
  command -v $tool >/dev/null || { echo "check_abi: $tool isn't installed; install abigail-tools" >&2; exit 2; }
done
# Another compiler instantiates and describes other types.
compiler=$(${CXX:-c++} -dumpfullversion -dumpversion)
case $compiler in
  12.*) ;;
  *) echo "check_abi: the references were made by gcc 12, and ${CXX:-c++} is $compiler: nothing is compared"; exit 0 ;;
esac

cmake -G Ninja -S "$here" -B "$build" -DTARE_LIBRARY_ONLY=ON -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_FLAGS="-O1 -g" >/dev/null
cmake --build "$build" --target tare
abidw --no-corpus-path --no-comp-dir-path --no-show-locs --drop-private-types --exported-interfaces-only \
  --headers-dir "$here/include" "$build/src/lib/libtare.so" >"$build/new.abi"
if [ "${1:-}" = --accept ]; then
  xz -9 -c "$build/new.abi" >"$reference"
  echo "check_abi: $reference was written"
  exit 0
fi
[ -f "$reference" ] || { echo "check_abi: no reference for version $version: run tools/check_abi.sh --accept" >&2; exit 2; }
xz -dc "$reference" >"$build/reference.abi"
if abidiff --no-added-syms "$build/reference.abi" "$build/new.abi"; then
  echo "check_abi: programs that were compiled with $version run with this library"
else
  echo "check_abi: the binary interface changed. In a patch version, undo the change. Before a release, or for a new minor" \
    "version: make accept-abi, and write it into CHANGELOG.md" >&2
  exit 1
fi
