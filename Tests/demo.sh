#!/bin/sh
# The demonstration: a script reads and changes a typed part of a preferences
# file, and Python's plistlib shows that exactly that changed.
set -eu
cd "$(dirname "$0")/.."
folder=build/demo
rm -rf "$folder"
mkdir -p "$folder"
cp Tests/Data/com.example.launcher.plist "$folder/before.plist"
cp "$folder/before.plist" "$folder/preferences.plist"

echo "\$ lua5.4 lua/examples/target_applications.lua $folder/preferences.plist"
lua5.4 lua/examples/target_applications.lua "$folder/preferences.plist"

echo
echo "What changed, as Python's plistlib reads it:"
python3 Tests/plist_difference.py "$folder/before.plist" "$folder/preferences.plist"
