#!/bin/bash
# Runs the benchmarks, each beside named peers in one run; results are checked
# equal before they are timed. Their output is kept in build/bench/PART.out;
# report.py sets it against the targets.
#
#   run.sh [PART…]     parts: tables versions coders formats store tool page
set -euo pipefail
cd "$(dirname "$0")/.."
parts=${*:-tables versions coders formats store tool page}
mkdir -p build/bench

swift_benchmark() {
  rm -f .build-bench/release.yaml # SwiftPM does not notice files that come to a package beside it, or go
  swift build -c release --package-path Benchmarks --scratch-path .build-bench --product "$1" | tail -n 1
  ".build-bench/release/$1"
}

tables() {
  local flags="-std=c11 -O2 -Wall -Wextra -Werror"
  gcc $flags -fPIC -shared $(pkg-config --cflags lua5.4) -o build/bench/floor.so Benchmarks/lua/floor.c
  gcc $flags -fPIC -shared $(pkg-config --cflags lua5.4 msgpack) -o build/bench/messagepack.so \
    Benchmarks/lua/messagepack.c $(pkg-config --libs msgpack)
  gcc $flags -Iinclude $(pkg-config --cflags glib-2.0) -o build/bench/reads Benchmarks/c/reads.c \
    -Lbuild -lkvcodable $(pkg-config --libs glib-2.0) -Wl,-rpath,"$PWD/build"
  export LUA_CPATH="build/?.so;build/bench/?.so;;"
  # The addresses of code and data make some processes slower than others by a tenth.
  for process in 1 2 3 4 5; do lua5.4 Benchmarks/lua/tables.lua; done
  build/bench/reads
  python3 Benchmarks/require.py
}

# Set and get from each Lua; LuaJIT has the lua-cjson of 5.1.
versions() {
  local version process
  for version in 5.1 luajit 5.2 5.3 5.4; do
    for process in 1 2 3; do
      LUA_CPATH="build/lua/$version/?.so;;" "lua${version#lua}" Benchmarks/lua/versions.lua "$version"
    done
  done
}

# The records' floor is hand-written code, whose time differs by some percent from process to process.
coders() {
  local process
  swift_benchmark CoderBenchmarks
  for process in 2 3 4 5; do .build-bench/release/CoderBenchmarks records; done
}
formats() { swift_benchmark FormatBenchmarks; }
tool() { python3 Benchmarks/tool.py; }
page() { python3 Benchmarks/settings_page.py; }
store() {
  local folder
  swift_benchmark StoreBenchmarks
  gcc -std=c11 -O2 -Wall -Wextra -Werror -Iinclude -o build/bench/writers Benchmarks/c/writers.c \
    -Lbuild -lkvcodable -Wl,-rpath,"$PWD/build"
  folder=$(mktemp -d -p build/bench)
  build/bench/writers "$folder"
  rm -r "$folder"
}

for part in $parts; do
  case $part in
    tables | versions | coders | formats | store | tool | page) ;;
    *) echo "no part $part" && exit 1 ;;
  esac
  echo "-- $part"
  $part | tee "build/bench/$part.out" | sed '/^row/d'
done
python3 Benchmarks/report.py $parts
