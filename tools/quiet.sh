#!/bin/bash
# Shows a build's count of steps as it goes, and its last line when it went well,
# or all of it when it did not. On a terminal the steps share a line.
set -u
log=
end=$'\n'
[ -t 1 ] && end=$'\e[K\r'
while IFS= read -r line; do
  log+=$line$'\n'
  [[ $line =~ ^\[[0-9]+/[0-9]+\] ]] && printf '%s%s' "${line:0:78}" "$end"
done
if grep -qE 'error:|fatal' <<<"$log"; then
  printf '%s\n' "$log"
  exit 1
fi
tail -n 1 <<<"${log%$'\n'}"
