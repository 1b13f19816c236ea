#!/usr/bin/env bash
# Poll the counters of a device's queue disciplines for `sojourn ingest`: tc_polls.sh DEVICE [SECONDS] > qdisc_stats.jsonl
# One JSON object per poll: the times before and after it, in ns since the epoch, and the output of tc.
set -euo pipefail
device=${1:?missing DEVICE; give a device such as eth0}
pause=${2:-0.1}
while true; do
  start=$(date +%s%N)
  qdiscs=$(tc -s -j qdisc show dev "$device")
  printf '{"ts_ns":%s,"ts_end_ns":%s,"qdiscs":%s}\n' "$start" "$(date +%s%N)" "$qdiscs"
  sleep "$pause"
done
