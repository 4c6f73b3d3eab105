#!/bin/bash
# Packages what make lib, make tool and make page have built, into build/dist: a tarball, and packages for Debian.
# Packaging the same commit twice gives the same files: times are the commit's, or SOURCE_DATE_EPOCH, and owner, order
# and rights do not depend on the machine.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
umask 022
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"

version=$(sed -n 's/.*libraryVersion = "\(.*\)"/\1/p' Sources/KVCodable/Version.swift)
# What comes before the release is older than it, for apt too.
packaged=$version
[ "$(git tag --points-at HEAD --list "$version")" ] ||
  packaged=$version~git$(date -d "@$SOURCE_DATE_EPOCH" +%Y%m%d.%H%M%S).$(git rev-parse --short=7 HEAD)

rm -rf build/dist
mkdir -p build/dist/stage build/dist/work

# ---- The tarball: what is in PREFIX, for any PREFIX

make -s install install-tool install-page DESTDIR="$source/build/dist/stage" PREFIX=/usr/local
install -D -m 644 -t build/dist/stage/usr/local/share/doc/kvcodable LICENSE README.md CHANGELOG.md
tar --directory build/dist/stage/usr/local --create --file - --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" \
  --owner=0 --group=0 --numeric-owner --mode=u+w,go-w --transform="s|^\.|kvcodable-$version|S" . |
  gzip -9n >"build/dist/kvcodable-$packaged-linux-$(uname -m).tar.gz"

# ---- The packages: debhelper's, of packaging/debian

cp -r packaging/debian build/dist/work/
maintainer=$(sed -n 's/^Maintainer: //p' packaging/debian/control)
cat >build/dist/work/debian/changelog <<CHANGELOG
kvcodable ($packaged-1) unstable; urgency=medium

  * What is new is in changelog.gz, beside this file.

 -- $maintainer  $(date -R -d "@$SOURCE_DATE_EPOCH")
CHANGELOG
(cd build/dist/work && SOURCE=$source debian/rules binary) >build/dist/debian.log 2>&1 || {
  cat build/dist/debian.log
  exit 1
}
rm -r build/dist/stage build/dist/work
ls build/dist/*.tar.gz build/dist/*.deb
