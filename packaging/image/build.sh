#!/bin/sh
# Builds the image without a container engine: packaging/image/build.sh WHEEL OUT.tar
#
# OUT.tar is a root file system, the same as the Containerfile's: podman import OUT.tar tare. Needs mmdebstrap, and pip's package index.
set -eu
wheel=$1
out=$2
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The index is reached from here, not from inside.
mkdir "$work/wheels"
cp "$wheel" "$work/wheels/"
architecture=$(uname -m)
"$python" -m pip download --quiet --disable-pip-version-check --only-binary=:all: --python-version 3.11 --dest "$work/wheels" \
  --platform "manylinux_2_28_$architecture" --platform "manylinux_2_17_$architecture" --platform "manylinux2014_$architecture" \
  "$wheel"
mmdebstrap --quiet --variant=minbase --include=python3-venv \
  --customize-hook="copy-in $work/wheels /" \
  --customize-hook='chroot "$1" sh -ec "
    python3 -m venv /opt/tare
    /opt/tare/bin/pip install --quiet --no-index --no-cache-dir --find-links /wheels heaptare
    rm -r /wheels
    ln -s /opt/tare/bin/tare /usr/local/bin/tare
    mkdir -p /tare /work
    ln -s \$(tare attach --library) /tare/libtare-record.so
    rm -rf /var/lib/apt/lists/*"' \
  bookworm "$out"
