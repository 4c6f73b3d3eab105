#!/bin/bash
# The documentation of the Swift modules, in build/docs; warnings are errors.
set -euo pipefail
cd "$(dirname "$0")/.."
modules=(PropertyLists KeyValueCoding CodableTypes DefaultsStorage KVCodable KeyValueCoder)
graphs=$PWD/.build/symbol-graphs
rm -rf build/docs "$graphs"
mkdir -p build/docs "$graphs"

swift package dump-symbol-graph --minimum-access-level public --skip-synthesized-members >/dev/null
find .build -path '*symbolgraph*' -name '*.symbols.json' -exec cp {} "$graphs" \;

dependencies=()
for module in "${modules[@]}"; do
  mkdir -p "$graphs/$module"
  cp "$graphs/$module".symbols.json "$graphs/$module/"
  cp "$graphs/$module"@*.symbols.json "$graphs/$module/" 2>/dev/null || true
  catalog=Sources/$module/$module.docc
  [ -d "$catalog" ] || catalog=
  docc convert $catalog --additional-symbol-graph-dir "$graphs/$module" \
    --fallback-display-name "$module" --fallback-bundle-identifier "org.kvcodable.$module" \
    --output-path "build/docs/$module.doccarchive" --warnings-as-errors \
    --enable-experimental-external-link-support "${dependencies[@]}"
  dependencies+=(--dependency "$PWD/build/docs/$module.doccarchive")
done
docc merge build/docs/*.doccarchive --output-path build/docs/kvcodable.doccarchive
echo "build/docs/kvcodable.doccarchive"
