#!/bin/sh
# Builds the library's smoke test with each compiler, optimization and way of linking, and runs it: make test-compilers.
#
#   tools/test_compilers.sh FOLDER [COMPILER...]     default: all supported ones that are here, in FOLDER for the objects
#
# Supported: gcc 11 to 13, clang 14 to 19. TARE_OPTIONS_OF_MATRIX="-O2" runs a slice. What a compiler says of the library
# with -Wall -Wextra -Werror is an error too; with -flto so are warnings of the linker's.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$1
shift
if [ $# = 0 ]; then
  for compiler in g++-11 g++-12 g++-13 clang++-14 clang++-15 clang++-16 clang++-17 clang++-18 clang++-19; do
    command -v "$compiler" >/dev/null 2>&1 && set -- "$@" "$compiler"
  done
fi
[ $# != 0 ] || { echo "test_compilers.sh: none of gcc 11 to 13 and clang 14 to 19 is here" >&2; exit 1; }
launcher=$(command -v ccache || true)
warnings="-Wall -Wextra -Wshadow -Werror"
failed=0

# $1: compiler, $2: options, $3: static or shared
test_one() {
  into=$folder/$(echo "$1$2-$3" | tr -c 'A-Za-z0-9+-' _)
  mkdir -p "$into"
  link=""
  # shellcheck disable=SC2086  # lists of words
  {
    common="-std=c++20 $2 -I$root/include -I$root/src -pthread"
    shared=""
    [ "$3" = shared ] && shared="-fPIC -fvisibility=hidden -DTARE_SHARED"
    (cd "$root/src/lib" && find . -name '*.cc') | sort | while read -r source; do
      object=$into/$(echo "$source" | tr / _).o
      echo "$launcher $1 $common $shared $warnings -DTARE_VERSION_STRING='\"matrix\"' -c $root/src/lib/$source -o $object"
    done | xargs -P "$(nproc)" -I{} sh -c '{}' || return 1
    if [ "$3" = shared ]; then
      "$1" $2 -shared -pthread "$into"/*.o -o "$into/libtare.so" || return 1
      link="$into/libtare.so -Wl,-rpath,$into"
    else
      rm -f "$into/libtare.a"
      archiver=ar
      case $1$2 in  # objects of -flto are for this compiler's own archiver
        g++*-flto) archiver=gcc-ar${1#g++} ;;
        clang*-flto) archiver=llvm-ar${1#clang++} ;;
      esac
      "$archiver" rc "$into/libtare.a" "$into"/*.o || return 1
      link=$into/libtare.a
    fi
    "$1" $common $shared $warnings "$root/tests/lib/matrix/smoke.cc" $link -o "$into/smoke" || return 1
  }
  "$into/smoke"
}

for compiler in "$@"; do
  for options in ${TARE_OPTIONS_OF_MATRIX:--O0 -O2 -O3 -flto}; do
    for way in static shared; do
      [ "$options" = -flto ] && options="-O2 -flto"
      case $compiler$options in
        clang*-flto)
          if ! command -v "ld.lld${compiler#clang++}" >/dev/null 2>&1; then
            echo "skip $compiler $options $way: no ld.lld${compiler#clang++}"
            continue
          fi
          options="$options -fuse-ld=lld${compiler#clang++}"
          ;;
      esac
      if test_one "$compiler" "$options" $way; then
        echo "ok   $compiler $options $way"
      else
        echo "FAIL $compiler $options $way"
        failed=1
      fi
    done
  done
done
exit $failed
