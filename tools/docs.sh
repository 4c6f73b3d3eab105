#!/bin/bash
# The documentation of the Swift modules, in build/docs; warnings are errors.
set -euo pipefail
cd "$(dirname "$0")/.."
modules=(PropertyLists KeyedArchives KeyValueCoding CodableTypes DefaultsStorage KVCodable KeyValueCoder)
graphs=$PWD/.build/symbol-graphs
built=.build/debug
rm -rf build/docs "$graphs"
mkdir -p build/docs "$graphs"

# Of these modules alone: `swift package dump-symbol-graph` wants the tests' too,
# and fails where they have not been built.
swift build --target KVCodable
swift build --target KeyValueCoder
options=(-I "$built/Modules" -I include)
for module in CKVSystem CKVSQLite; do
  options+=(-Xcc "-fmodule-map-file=$built/$module.build/module.modulemap")
done

dependencies=()
for module in "${modules[@]}"; do
  mkdir -p "$graphs/$module"
  swift symbolgraph-extract -module-name "$module" "${options[@]}" -minimum-access-level public \
    -skip-synthesized-members -omit-extension-block-symbols -output-dir "$graphs/$module"
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
