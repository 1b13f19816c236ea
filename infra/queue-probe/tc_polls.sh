#!/usr/bin/env bash
# The counters of a device's queue disciplines, over and over, for `sojourn ingest`: tc_polls.sh DEVICE [SECONDS] > qdisc_stats.jsonl
# One JSON object a poll: times before and after in ns since the epoch, and tc's own output.
set -euo pipefail
device=${1:?device, for instance eth0}
pause=${2:-0.1}
while true; do
  start=$(date +%s%N)
  qdiscs=$(tc -s -j qdisc show dev "$device")
  printf '{"ts_ns":%s,"ts_end_ns":%s,"qdiscs":%s}\n' "$start" "$(date +%s%N)" "$qdiscs"
  sleep "$pause"
done
