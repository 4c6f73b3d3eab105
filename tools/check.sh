#!/bin/bash
# Format, lint, headers under four compilers, exports. Says what it checks.
set -u
cd "$(dirname "$0")/.."
failed=0

step() {
  local name=$1
  shift
  if output=$("$@" 2>&1); then
    echo "ok - $name"
  else
    echo "not ok - $name"
    printf '%s\n' "$output"
    failed=1
  fi
}

swift_format() {
  swift format lint --strict --recursive Package.swift Sources Tests Benchmarks Tool Page Fleet Configuration
}

c_format() {
  if ! command -v clang-format >/dev/null; then
    echo "clang-format is not installed: C formatting not checked"
    return 0
  fi
  clang-format --dry-run -Werror include/*.h include/*.hpp include/*.c {,Fleet/}Sources/C*/*.c {,Fleet/}Sources/C*/include/*.h lua/src/*.c lua/src/*/*.[ch] \
    lua/src/*.h lua/examples/hosts/*.{c,cpp} Tests/Support/*.c Tests/C/*.h Tests/C/*/*.[ch] Tests/C/*/*.cpp \
    Tests/{Fuzz,Packages/c}/*.c Tests/Stress/*.h Benchmarks/{c,lua}/*.c
}

# A header alone, in C and in C++, with every warning.
header() {
  local compiler=$1 language=$2 standard=$3
  local headers=(include/kvcodable*.h)
  [ "$language" = c ] || headers+=(include/kvcodable.hpp)
  for header in "${headers[@]}"; do
    printf '#include "%s"\n' "$(basename "$header")" |
      "$compiler" -x "$language" -std="$standard" -Iinclude -Wall -Wextra -Wpedantic -Werror \
        -fsyntax-only - || return 1
  done
}

export_list() {
  cp include/kvcodable.map build/kvcodable.map.old
  python3 tools/exports.py --write && cmp include/kvcodable.map build/kvcodable.map.old
}

# What the library needs of the system: nothing of Swift's.
needed() {
  objdump -p build/libkvcodable.so | awk '/NEEDED/ { print $2 }' |
    grep -vE '^(libc|libm|libstdc\+\+|libgcc_s|ld-linux-x86-64|ld-linux-aarch64)\.so' &&
    return 1
  return 0
}

# The library has no construct that can stop a host program.
no_traps() {
  ! grep -rnE 'try!| as! |fatalError\(|@_cdecl|unsafeFlags|preconditionFailure\(' Sources Package.swift
}

# A function of the C API that is no implementation of a declaration compiles,
# whatever the header says.
no_bare_exports() {
  ! grep -rnE '@c\b' Sources --include='*.swift' | grep -vE '@c @implementation public func|`@c|///|//'
}

mkdir -p build
step "Swift is formatted" swift_format
step "C is formatted" c_format
step "Lua passes luacheck" luacheck -q lua Benchmarks/lua Tests/C Tests/Fuzz
for compiler in gcc clang; do
  step "headers under $compiler" header $compiler c c11
  step "headers under $compiler, in C99" header $compiler c c99
done
step "headers under g++" header g++ c++ c++17
step "headers under clang++" header clang++ c++ c++17
step "the export list is the headers'" export_list
step "headers, export list, library and C tests agree" python3 tools/exports.py \
  build/libkvcodable.so build/kvcodable.so
step "the C files of the Lua module stand in layers" python3 tools/layers.py
step "the contract is the recorded one" python3 tools/contract.py
step "the library needs nothing of Swift's" needed
step "no forced unwrapping of errors or casts, no unsafe flags" no_traps
step "the unsafe code is what CONTRIBUTING.md lists" python3 tools/unsafe.py
step "each guarantee has its test, and the architecture names files that exist" python3 tools/guarantees.py
step "every exported function implements a declaration" no_bare_exports
step "the C API has a file for each section of the headers" python3 tools/sections.py
step "every public name of the Swift modules has a doc comment, and every type an example" python3 tools/documented.py
step "no function has more than 60 lines" python3 tools/lengths.py
exit $failed
