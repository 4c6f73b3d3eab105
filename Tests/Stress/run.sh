#!/bin/bash
# The long proofs: kills, faults, crash states, processes and full disks in full
# numbers, generated cases, and the sanitizers. Ends with a summary: the parts,
# and of each the rows that ran, with their counts. Fails when one fails. Takes
# about an hour on two cores.
#
#   run.sh [PART…]     parts: processes crowd store generated thread address lua c package
set -u
cd "$(dirname "$0")/../.."
mkdir -p build/stress
passed=0
failed=0
summary=()

# The lines of a log that say what ran, and how often.
figures() {
  grep -E '^(ok|not ok|FAIL) |Test run with|[0-9]+ success|[0-9]+ passed' "build/stress/$1.log" |
    grep -vE '^ok [0-9]+ - writer ' | sed 's/^/       /'
}

part() {
  local name=$1 started=$SECONDS outcome
  if "$name" >"build/stress/$name.log" 2>&1; then
    passed=$((passed + 1))
    outcome="ok  "
  else
    failed=$((failed + 1))
    outcome="FAIL"
    tail -n 20 "build/stress/$name.log"
  fi
  summary+=("$outcome $name ($((SECONDS - started)) s), build/stress/$name.log" "$(figures "$name" | head -n 40)")
  printf '%s\n' "${summary[@]: -2}"
}

processes() { make lib && python3 Tests/processes.py --kills 1000 --sets 1000; }

crowd() { make lib && swift build --build-tests && python3 Tests/crowd.py --seconds 60 --limit 200; }

store() {
  swift build --build-tests && python3 Tests/Stress/store.py --full
}

generated() {
  KVCODABLE_CASES=100000 KVCODABLE_OPERATIONS=1000000 swift test 2>&1
}

thread() {
  swift test --sanitize=thread --scratch-path .build-thread \
    --filter 'DefaultsStorageTests|KVCodableTests|KeyValueCodingTests|CodableTypesTests' >build/stress/thread.out 2>&1
  local status=$?
  cat build/stress/thread.out
  [ $status = 0 ] && ! grep -q 'WARNING: ThreadSanitizer' build/stress/thread.out
}

# What Foundation, XCTest and the tests' own constants keep is not looked at: a
# pointer with a tag in it, as an enum with a payload keeps one, is hidden from
# the sanitizer.
address() {
  LSAN_OPTIONS=suppressions=Tests/Stress/leaks.txt \
    swift test --sanitize=address --scratch-path .build-address --disable-xctest 2>&1
}

# The Lua specs with module and library under AddressSanitizer, which also looks
# for leaks, and the module's C under UndefinedBehaviorSanitizer as well; once
# more with a collection at every allocation of the module.
lua() {
  local target=build/stress/asan
  Tests/Stress/sanitized.sh || return 1
  specs $target && specs $target/collecting &&
    make -s -C Tests/C lua-sanitized ASAN="$PWD/$target" && make -s -C Tests/C lua-valgrind
}

specs() {
  ASAN_OPTIONS=detect_leaks=1 LD_PRELOAD=$(clang -print-file-name=libclang_rt.asan-x86_64.so) \
    lua5.4 -e "package.cpath='$1/?.so;'..package.cpath" /usr/bin/busted --cpath="$1/?.so" lua/spec
}

# The C programs under AddressSanitizer and UndefinedBehaviorSanitizer, and what
# one call of a script can make its host use, in full.
c() {
  make lib && make -s -C Tests/C sanitized && make -s -C Tests/C "$PWD/build/c-tests/lua_attacks" &&
    build/c-tests/lua_attacks --full
}

# A package that depends on a clone of this one by URL and tag.
package() { python3 Tests/packages.py --tag; }

for name in "${@:-processes crowd store generated thread address lua c package}"; do
  for one in $name; do part "$one"; done
done
printf '%s\n' "${summary[@]}"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
