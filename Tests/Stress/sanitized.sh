#!/bin/bash
# Builds the library under AddressSanitizer, and the Lua module, with its C under
# UndefinedBehaviorSanitizer as well: build/stress/asan. In its folder
# `collecting` is a module that collects at every allocation (collecting.h).
set -eu
cd "$(dirname "$0")/../.."
target=build/stress/asan

module() {
  local folder=$1
  shift
  clang -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined \
    -shared-libasan -fPIC -fvisibility=hidden -Iinclude $(pkg-config --cflags lua5.4) "$@" \
    -shared -o "$folder/kvcodable.so" lua/src/*.c -L$target -lkvcodable \
    -Wl,-soname,libkvcodable_lua.so.1 -Wl,-z,nodelete -Wl,-rpath,"$PWD/$target"
  ln -sf kvcodable.so "$folder/libkvcodable_lua.so.1"
  ln -sf kvcodable.so "$folder/libkvcodable_lua.so"
}

mkdir -p $target/collecting
python3 tools/embed.py lua/src/chunks.h
nice swift build -c release --product kvcodable --scratch-path .build-asan -Xswiftc -sanitize=address \
  -Xswiftc -use-ld=lld -Xlinker -soname -Xlinker libkvcodable.so.1
cp .build-asan/release/libkvcodable.so $target/libkvcodable.so
ln -sf libkvcodable.so $target/libkvcodable.so.1
module $target
module $target/collecting -include Tests/Stress/collecting.h
