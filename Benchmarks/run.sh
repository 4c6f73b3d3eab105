#!/bin/sh
# Runs the benchmarks: each compares with named peers in one run.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/bench
gcc -std=c11 -O2 -Wall -Wextra -Werror -fPIC -shared $(pkg-config --cflags lua5.4) \
  -o build/bench/floor.so Benchmarks/lua/floor.c
echo "== Lua tables"
LUA_CPATH="build/?.so;build/bench/?.so;;" lua5.4 Benchmarks/lua/tables.lua
