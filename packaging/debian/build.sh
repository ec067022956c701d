#!/bin/sh
# Builds the Debian packages of a commit: packaging/debian/build.sh OUT_FOLDER [COMMIT]
#
# Needs git, dpkg-dev and the build dependencies in control (`apt-get build-dep packaging`). Inputs of fuzz targets are
# left out: many are binaries.
set -eu
source=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
out=$(mkdir -p "$1" && cd "$1" && pwd)
commit=${2:-HEAD}
version=$(git -C "$source" show "$commit:include/tare/version.h" |
  sed -n 's/.*TARE_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\)$/\2/p' | paste -sd.)
rm -rf "$out/tare-$version"
git -C "$source" archive --prefix="tare-$version/" "$commit" -- . ":!fuzz/corpus" | tar -x -C "$out"
cd "$out/tare-$version"
mv packaging/debian debian
rm debian/build.sh
tar -czf "../tare_$version.orig.tar.gz" --exclude="tare-$version/debian" -C .. "tare-$version"
date=$(git -C "$source" show -s --format=%cD "$commit")
cat > debian/changelog <<END
tare ($version-1) unstable; urgency=medium

  * Version $version. CHANGELOG.md has the changes.

 -- The Tare authors <maintainers@tare.invalid>  $date
END
dpkg-buildpackage -us -uc
ls -l "$out"/*.deb
