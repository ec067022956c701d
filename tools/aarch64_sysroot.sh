#!/bin/sh
# Unpacks Debian 12's headers, libraries and Python for aarch64: tools/aarch64_sysroot.sh OUT_FOLDER
#
# apt-get works in folders of its own: this machine's list of packages and its architectures stay as they are, and none of the
# unpacked programs is run here. Needs apt and the mirror that apt is configured for. Without them, it prints why and fails.
set -eu
out=$1
packages="libc6-dev libstdc++-12-dev libgtest-dev libdw-dev libzstd-dev zlib1g-dev libunwind-dev libfmt-dev libglib2.0-dev
  libpython3.11-dev python3.11"
[ "$(cat "$out/complete" 2>/dev/null)" = "$packages" ] && exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  echo "aarch64_sysroot.sh: the headers and libraries for aarch64 come from Debian's packages, and this machine has no apt-get." >&2
  exit 1
fi
rm -rf "$out"
mkdir -p "$out/apt/lists/partial" "$out/apt/cache/archives/partial"
out=$(cd "$out" && pwd)
: >"$out/apt/status"
private_apt() {
  apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Default-Release= -o APT::Sandbox::User="$(id -un)" \
    -o Dir::State="$out/apt" -o Dir::State::lists="$out/apt/lists" -o Dir::State::status="$out/apt/status" \
    -o Dir::Cache="$out/apt/cache" -o Dir::Log="$out/apt" -o Debug::NoLocking=1 -o APT::Install-Recommends=0 "$@"
}
# shellcheck disable=SC2086  # a list of words
if ! { private_apt update && private_apt --yes --download-only install $packages; } >"$out/apt/log" 2>&1; then
  cat "$out/apt/log" >&2
  echo "aarch64_sysroot.sh: apt couldn't fetch Debian's packages for arm64 (the messages above), so nothing can be built for aarch64." >&2
  exit 1
fi
for package in "$out"/apt/cache/archives/*.deb; do dpkg-deb --extract "$package" "$out"; done
rm -rf "$out/apt"
# absolute links lead out of the sysroot
find "$out" -lname '/*' | while read -r link; do ln -sfr "$out$(readlink "$link")" "$link"; done
echo "$packages" >"$out/complete"
