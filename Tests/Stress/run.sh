#!/bin/bash
# The long proofs: kills, faults, crash states, processes and full disks in full
# numbers, generated cases, and the sanitizers. Ends with a summary: the parts,
# and of each the rows that ran, with their counts. Fails when one fails. Takes
# about an hour on two cores.
#
#   run.sh [PART…]     parts: processes crowd store tool generated thread address lua c package
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

processes() { make lib && python3 Tests/suites/processes.py --kills 1000 --sets 1000 --rounds 25; }

crowd() { make lib && swift build --build-tests && python3 Tests/suites/crowd.py --seconds 60 --limit 200; }

store() {
  swift build --build-tests && python3 Tests/Stress/store.py --full
}

tool() { make lib tool && python3 Tests/suites/tool.py --seconds 60; }

generated() {
  KVCODABLE_CASES=100000 KVCODABLE_OPERATIONS=1000000 KVCODABLE_MERGES=250000 swift test 2>&1
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
address() (
  # With it the frames of the deepest values need more than the 8 MB that a thread has.
  ulimit -s 65536
  LSAN_OPTIONS=suppressions=Tests/Stress/leaks.txt \
    swift test --sanitize=address --scratch-path .build-address --disable-xctest 2>&1
)

# The Lua specs in each Lua with module and library under AddressSanitizer, which
# also looks for leaks, and the module's C under UndefinedBehaviorSanitizer as
# well; in 5.1, LuaJIT and 5.4 under valgrind, too, and in 5.4 once more with a
# collection at every allocation of the module.
lua() {
  local target=build/stress/asan version status=0
  make setup-test lib && Tests/Stress/sanitized.sh || return 1
  for version in 5.1 luajit 5.2 5.3; do
    sanitized_specs $version $target/lua/${version/luajit/5.1} || status=1
  done
  for version in 5.1 luajit; do valgrind_specs $version || status=1; done
  sanitized_specs 5.4 $target && sanitized_specs 5.4 $target/collecting &&
    make -s -C Tests/C lua-sanitized ASAN="$PWD/$target" && make -s -C Tests/C lua-valgrind && return $status
}

# VERSION FOLDER COMMAND...: the specs in one Lua, with the module of a folder.
specs() {
  local version=$1 modules=/usr/share/lua/${1/luajit/5.1} folder=$2 without=--exclude-pattern=close_spec
  shift 2
  [ "$version" = 5.4 ] && without=
  "$@" "lua${version#lua}" -e "package.path = './?.lua;$modules/?.lua;$modules/?/init.lua;' .. package.path
    package.cpath = '$folder/?.so;' .. package.cpath" /usr/bin/busted -o plainTerminal $without ${SPECS:-lua/spec}
}

sanitized_specs() {
  echo "# the specs in Lua $1 with the module of $2, under the sanitizers"
  specs "$1" "$2" env ASAN_OPTIONS=detect_leaks=1 LD_PRELOAD="$(clang -print-file-name=libclang_rt.asan-x86_64.so)"
}

# Without growth_spec, which measures memory, and would take longer than all others.
valgrind_specs() {
  local more=
  [ "$1" = 5.1 ] && more="--suppressions=Tests/C/lua/lua5.1.supp --num-callers=60"
  echo "# the specs in Lua $1 under valgrind"
  SPECS=$(find lua/spec -name "*_spec.lua" | sort | grep -v -e growth_ -e close_) \
    specs "$1" "build/lua/$1" valgrind -q --leak-check=full --error-exitcode=9 --suppressions=Tests/C/lua/lua.supp $more \
    --errors-for-leak-kinds=definite,indirect --show-leak-kinds=definite,indirect
}

# The C programs under AddressSanitizer and UndefinedBehaviorSanitizer and under
# valgrind, and what one call of a script can make its host use, in full, in each Lua.
c() {
  make lib && make -s -C Tests/C sanitized && make -s -C Tests/C valgrind && make -s -C Tests/C lua-attacks
}

# A package that depends on a clone of this one by URL and tag.
package() { python3 Tests/suites/packages.py --tag; }

for name in "${@:-processes crowd store tool generated thread address lua c package}"; do
  for one in $name; do part "$one"; done
done
printf '%s\n' "${summary[@]}"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
