#!/bin/sh
# Whether make lib has nothing to do: no source is newer than its last run.
cd "$(dirname "$0")/.." || exit 1
[ -e build/compiled ] && [ -e build/kvcodable.so ] || exit 1
[ -z "$(find Sources include lua/src lua/embedded Package.swift Makefile \
  -newer build/compiled -print -quit)" ]
