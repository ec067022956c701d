#!/bin/sh
# Builds the library with each compiler, optimization and way of linking, and runs its smoke test and two plug-ins of one
# process: make test-compilers.
#
#   tools/test_compilers.sh FOLDER [COMPILER...]     default: all supported ones that are here, in FOLDER for the objects
#
# Supported: gcc 11 to 13, clang 14 to 19. TARE_OPTIONS_OF_MATRIX="-O2 -fsanitize=thread" runs a slice. Static libraries
# have default visibility, as builds without CMake make them. Warnings of -Wall -Wextra, and of the linker with -flto, are
# errors.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
if [ $# = 0 ]; then
  for compiler in g++-11 g++-12 g++-13 clang++-14 clang++-15 clang++-16 clang++-17 clang++-18 clang++-19; do
    command -v "$compiler" >/dev/null 2>&1 && set -- "$@" "$compiler"
  done
fi
[ $# != 0 ] || { echo "test_compilers.sh: none of gcc 11 to 13 and clang 14 to 19 is here" >&2; exit 1; }
launcher=$(command -v ccache || true)
warnings="-Wall -Wextra -Wshadow -Werror -Wno-unused-command-line-argument"  # clang compiles with -fuse-ld, too
failed=0
plug_ins=$root/tests/lib/plug_ins
echo '#define TARE_VERSION_STRING "matrix"' >"$folder/version_string.h"
export root

# $1: compiler, $2: options, $3: static or shared
# shellcheck disable=SC2086  # lists of words
test_one() {
  into=$folder/$(printf '%s%s-%s' "$1" "$2" "$3" | tr -c 'A-Za-z0-9+-' _)
  rm -rf "$into"
  mkdir -p "$into"
  shared=""
  [ "$3" = shared ] && shared="-fvisibility=hidden -DTARE_SHARED"
  common="-std=c++20 $2 -fPIC -I$root/include -I$root/src -pthread $shared $warnings"
  compile="$launcher $1 $common -include $folder/version_string.h"
  export compile into
  # shellcheck disable=SC2016  # the inner shell's variables
  (cd "$root/src/lib" && find . -name '*.cc') | sed 's,^\./,,' | sort |
    xargs -P "$(nproc)" -n 1 sh -c '$compile -c "$root/src/lib/$0" -o "$into/$(echo "$0" | tr / _).o"' || return 1
  if [ "$3" = shared ]; then
    "$1" $2 -shared -pthread "$into"/*.o -o "$into/libtare.so" || return 1
    link="$into/libtare.so -Wl,-rpath,$into"
  else
    archiver=ar
    case $1$2 in  # objects of -flto are for this compiler's own archiver
      g++*-flto) archiver=gcc-ar${1#g++} ;;
      clang*-flto*) archiver=llvm-ar${1#clang++} ;;
    esac
    "$archiver" rc "$into/libtare.a" "$into"/*.o || return 1
    link=$into/libtare.a
  fi
  rm -f "$into"/*.o
  "$1" $common "$root/tests/lib/matrix/smoke.cc" $link -o "$into/smoke" || return 1
  for name in a b; do
    "$1" $common -DPLUG_IN=$name -shared "-Wl,-soname,libplug_in_$name.so" "$plug_ins/plug_in.cc" $link \
      -o "$into/libplug_in_$name.so" || return 1
  done
  "$1" $common "$plug_ins/linked_host.cc" "$into/libplug_in_a.so" "$into/libplug_in_b.so" "-Wl,-rpath,$into" \
    -o "$into/linked_host" || return 1
  "$1" $common "$plug_ins/loading_host.cc" -ldl -o "$into/loading_host" || return 1
  # The variables that copies share are defined in each plug-in: what the check of one definition is for.
  export ASAN_OPTIONS=detect_odr_violation=0
  "$into/smoke" && "$into/linked_host" >/dev/null || return 1
  for mode in local global; do
    "$into/loading_host" $mode "$into/libplug_in_a.so" "$into/libplug_in_b.so" || return 1
  done
}

# $1: compiler, $2: options
has_sanitizer() {
  printf '#include <sanitizer/asan_interface.h>\nint main() {}\n' >"$folder/sanitizer.cc"
  "$1" "$2" "$folder/sanitizer.cc" -o "$folder/sanitizer" 2>/dev/null
}

default="-O0 -O2 -O3 -flto -fsanitize=address,undefined -fsanitize=thread"
for compiler in "$@"; do
  for options in ${TARE_OPTIONS_OF_MATRIX:-$default}; do
    for way in static shared; do
      full=$options
      case $compiler$options in
        clang*-flto)
          if ! command -v "ld.lld${compiler#clang++}" >/dev/null 2>&1; then
            echo "skip $compiler $options $way: no ld.lld${compiler#clang++}"
            continue
          fi
          full="-O2 -flto -fuse-ld=lld${compiler#clang++}"
          ;;
        *-flto) full="-O2 -flto" ;;
        *-fsanitize=*)
          if ! has_sanitizer "$compiler" "$options"; then
            echo "skip $compiler $options $way: no library or header of it; clang's are in libclang-rt-VERSION-dev"
            continue
          fi
          full="-O1 -g $options"
          ;;
      esac
      if test_one "$compiler" "$full" $way; then
        echo "ok   $compiler $full $way"
        rm -rf "$into"
      else
        echo "FAIL $compiler $full $way: see $into"
        failed=1
      fi
    done
  done
done
exit $failed
