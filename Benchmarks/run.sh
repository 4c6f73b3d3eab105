#!/bin/sh
# Runs the benchmarks, each beside named peers in one run; results are checked
# equal before they are timed.
#
#   run.sh [PART…]     parts: tables coders formats store
set -eu
cd "$(dirname "$0")/.."
parts=${*:-tables coders formats store}
mkdir -p build/bench

swift_benchmark() {
  swift build -c release --package-path Benchmarks --scratch-path .build-bench --product "$1" | tail -n 1
  ".build-bench/release/$1"
}

for part in $parts; do
  echo "== $part"
  case $part in
    tables)
      gcc -std=c11 -O2 -Wall -Wextra -Werror -fPIC -shared $(pkg-config --cflags lua5.4) \
        -o build/bench/floor.so Benchmarks/lua/floor.c
      LUA_CPATH="build/?.so;build/bench/?.so;;" lua5.4 Benchmarks/lua/tables.lua
      ;;
    coders) swift_benchmark CoderBenchmarks ;;
    formats) swift_benchmark FormatBenchmarks ;;
    store) swift_benchmark StoreBenchmarks ;;
    *) echo "no part $part" && exit 1 ;;
  esac
done
