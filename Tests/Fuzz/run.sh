#!/bin/sh
# Fuzzes the readers, the flattener, write-then-read and the Lua module, each for a number of seconds:
#   Tests/Fuzz/run.sh SECONDS [TARGET…]
# Seeds come from Tests/Vectors and, where KVCODABLE_CORPUS names it, from the corpus. What is found is kept in
# build/fuzz/TARGET/findings, and makes the script fail. Needs the toolchain's libFuzzer.
#
# The target lua makes programs from seeds, one after the other from the time on, or from LUA_SEED. Its findings are
# SEED.lua, the program, and SEED.log; `build/fuzz/lua/fuzz seed SEED` runs one again.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:?usage: run.sh SECONDS [TARGET…]}
shift
targets=${*:-xml binary json openStep archive roundTrip lua}
scratch=.build-fuzz

# The readers' targets need the objects of both rooms made for libFuzzer.
if [ "$targets" != lua ]; then
  nice swift build -c release --target KeyedArchives --scratch-path $scratch -Xswiftc -sanitize=fuzzer,address
  release=$(swift build -c release --scratch-path $scratch --show-bin-path)
fi

# What the package manager calls the package: targets look into what is package-internal.
package=$(basename "$PWD" | tr "[:upper:]" "[:lower:]")

seeds() {
  mkdir -p "build/fuzz/$1/seeds"
  python3 Tests/Fuzz/seeds.py "$1" "build/fuzz/$1/seeds"
}

lua_target() {
  asan=$PWD/build/stress/asan
  Tests/Stress/sanitized.sh
  # shellcheck disable=SC2046
  clang -std=c11 -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=undefined \
    -shared-libasan -Iinclude $(pkg-config --cflags lua5.4) -o build/fuzz/lua/fuzz Tests/Fuzz/lua.c \
    -L"$asan" -lkvcodable_lua -lkvcodable $(pkg-config --libs lua5.4) -Wl,-rpath,"$asan" \
    -Wl,-rpath,"$(dirname "$(clang -print-file-name=libclang_rt.asan-x86_64.so)")"
}

for target in $targets; do
  mkdir -p "build/fuzz/$target/corpus" "build/fuzz/$target/findings"
  if [ "$target" = lua ]; then
    lua_target
    continue
  fi
  seeds "$target"
  nice swiftc -O -swift-version 6 -sanitize=fuzzer,address -parse-as-library -use-ld=lld -I "$release/Modules" \
    -I include -package-name "$package" "Tests/Fuzz/$target.swift" Tests/Fuzz/Check.swift \
    "$release"/PropertyLists.build/*.o "$release"/KeyedArchives.build/*.o -o "build/fuzz/$target/fuzz"
done

status=0
for target in $targets; do
  echo "== $target"
  if [ "$target" = lua ]; then
    nice build/fuzz/lua/fuzz "$seconds" build/fuzz/lua/findings ${LUA_SEED:-} || status=1
    continue
  fi
  SWIFT_BACKTRACE=enable=no nice "build/fuzz/$target/fuzz" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=1024 \
    -max_len=16384 -print_final_stats=1 -artifact_prefix="build/fuzz/$target/findings/" \
    "build/fuzz/$target/corpus" "build/fuzz/$target/seeds" >"build/fuzz/$target/log" 2>&1 || status=1
  grep -E "stat::number_of_executed_units|SUMMARY|Fatal error" "build/fuzz/$target/log" || true
done
exit $status
