#!/usr/bin/env bash
# clean.sh VAR [1]: without the 1, only says what would be removed.
set -euo pipefail

var=$1
yes=${2:-}
# Installed tools and secrets stay: without the address key, pseudonyms of later ingests would not compare.
for name in lake warehouse snapshots superset logs test test-studies test-superset figures screenshots; do
  [ -e "$var/$name" ] || continue
  size=$(du -sh "$var/$name" | cut -f1)
  if [ "$yes" = 1 ]; then
    rm -rf -- "${var:?}/$name"
    echo "removed $var/$name ($size)"
  else
    echo "would remove $var/$name ($size)"
  fi
done
[ "$yes" = 1 ] || echo "nothing was removed; run 'make clean YES=1' to do so"
