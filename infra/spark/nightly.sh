#!/usr/bin/env bash
# New files below the given folders into the lake, small lake files together, the lake into marts. Each step does nothing
# where nothing is new, so a night that was cut short is completed by the next.
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: $0 FOLDER… (what to ingest)" >&2; exit 2; }
sojourn ingest --engine spark "$@"
sojourn maintain compact --engine spark
sojourn build --engine spark
