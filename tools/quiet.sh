#!/bin/bash
# Shows a build's last line when it went well, and all of it when it did not.
set -u
log=$(cat)
if grep -qE 'error:|fatal' <<<"$log"; then
  printf '%s\n' "$log"
  exit 1
fi
tail -n 1 <<<"$log"
