#!/bin/sh
# Makes a virtual machine's disk with systemd, some services and a wheel of Tare: build.sh WHEEL OUT_FOLDER [SUITE]
#
# OUT_FOLDER gets disk.ext4, vmlinuz and initrd.img, which qemu boots without a boot loader. Needs root, mmdebstrap, mke2fs, pip's
# package index and 2 GiB below OUT_FOLDER. The file tests/packaging/machine/guest/agent.py runs commands in it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
wheel=$1
out=$2
suite=${3:-bookworm}
python=${PYTHON:-python3}
mkdir -p "$out"
root=$out/root
rm -rf "$root"
trap 'rm -rf "$root" "$out/wheels"' EXIT

# The index is reached from here, not from inside.
mkdir -p "$out/wheels"
cp "$wheel" "$out/wheels/"
version=3.11
[ "$suite" = trixie ] && version=3.13
architecture=$(uname -m)
"$python" -m pip download --quiet --disable-pip-version-check --only-binary=:all: --python-version "$version" --dest "$out/wheels" \
  --platform "manylinux_2_28_$architecture" --platform "manylinux_2_17_$architecture" --platform "manylinux2014_$architecture" \
  "$wheel"

packages=systemd,systemd-sysv,dbus,udev,kmod,apparmor,linux-image-cloud-amd64,initramfs-tools
packages=$packages,python3-venv,redis-server,curl,procps,gcc,libc6-dev
mmdebstrap --quiet --mode=root --variant=minbase --include="$packages" \
  --customize-hook="copy-in $out/wheels /" \
  --customize-hook="copy-in $here/guest /" \
  --customize-hook='chroot "$1" sh -ec "
    python3 -m venv /opt/tare
    /opt/tare/bin/pip install --quiet --no-index --no-cache-dir --find-links /wheels heaptare
    rm -r /wheels
    ln -s /opt/tare/bin/tare /usr/bin/tare
    mv /guest/machine-agent.service /etc/systemd/system/
    mkdir -p /programs
    gcc -O1 -g -Wl,--build-id -o /programs/leaking /guest/leaking.c
    useradd --create-home --shell /bin/bash someone
    printf \"/dev/vda / ext4 rw 0 1\n\" > /etc/fstab
    printf \"machine\n\" > /etc/hostname
    systemctl enable machine-agent.service
    systemctl disable redis-server.service apt-daily.timer apt-daily-upgrade.timer
    rm -rf /var/lib/apt/lists/* /usr/share/doc /usr/share/locale"' \
  "$suite" "$root"
cp "$root"/boot/vmlinuz-* "$out/vmlinuz"
cp "$root"/boot/initrd.img-* "$out/initrd.img"
rm -f "$out/disk.ext4"
mke2fs -q -t ext4 -L root -d "$root" "$out/disk.ext4" 3G
