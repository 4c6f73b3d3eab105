#!/bin/sh
# Installs the Debian packages named, where they are missing, and says so.
# Without the right to install, says which ones to ask for.
missing=
for package in "$@"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
    grep -q 'install ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root=sudo
else
  echo "These packages are needed:$missing"
  echo "Install them with: sudo apt-get install$missing"
  exit 1
fi
echo "Installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{
  $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $missing ||
    { $as_root apt-get update && $as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends $missing; }
} >"$log" 2>&1 || {
  cat "$log"
  echo "Could not install:$missing"
  exit 1
}
