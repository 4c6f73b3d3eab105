#!/bin/bash
# Builds the library under AddressSanitizer, and the Lua modules, with their C
# under UndefinedBehaviorSanitizer as well: build/stress/asan, where 5.4's is,
# with lua/VERSION for the others. In its folder `collecting` is a module for 5.4
# that collects at every allocation (collecting.h).
set -eu
cd "$(dirname "$0")/../.."
target=build/stress/asan

# VERSION FOLDER FLAG...
module() {
  local version=$1 folder=$2 name=libkvcodable_lua${1#5.4}
  shift 2
  mkdir -p "$folder"
  clang -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined \
    -shared-libasan -fPIC -fexceptions -fvisibility=hidden -Iinclude $(pkg-config --cflags "lua$version") "$@" \
    -shared -o "$folder/kvcodable.so" lua/src/*.c lua/src/*/*.c -L$target -lkvcodable \
    -Wl,-soname,"$name.so.1" -Wl,-z,nodelete -Wl,-rpath,"$PWD/$target"
  ln -sf kvcodable.so "$folder/$name.so.1"
  ln -sf kvcodable.so "$folder/$name.so"
}

mkdir -p $target
nice swift build -c release --product kvcodable --scratch-path .build-asan -Xswiftc -sanitize=address \
  -Xswiftc -use-ld=lld -Xlinker -soname -Xlinker libkvcodable.so.1
cp .build-asan/release/libkvcodable.so $target/libkvcodable.so
ln -sf libkvcodable.so $target/libkvcodable.so.1
for version in 5.1 5.2 5.3; do module $version $target/lua/$version; done
module 5.4 $target
module 5.4 $target/collecting -include Tests/Stress/collecting.h
