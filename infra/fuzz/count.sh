#!/usr/bin/env bash
# Keep how often fuzz targets were executed: count.sh add KIND TARGET LOG appends the executions that libFuzzer states at
# the end of a log; count.sh sum prints them, by kind and in all. They are kept in var/fuzz/executions.tsv, one row a run.
set -euo pipefail
kept="${SOJOURN_VAR:-$(cd "$(dirname "$0")/../.." && pwd)/var}/fuzz/executions.tsv"
case ${1:?add or sum} in
add)
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$4" | tail -n 1)
  if [ -n "$executions" ]; then
    mkdir -p "$(dirname "$kept")"
    commit=$(git -C "$(dirname "$0")" rev-parse --short HEAD 2>/dev/null || echo unknown)
    printf '%s\t%s\t%s\t%s\t%s\n' "$(date -u +%FT%TZ)" "$commit" "$2" "$3" "$executions" >>"$kept"
  fi
  ;;
sum)
  if [ -f "$kept" ]; then
    awk -F '\t' '{ of[$3] += $5; runs[$3] += 1; all += $5 }
      END { for (kind in of) printf "%s: %d executions in %d runs\n", kind, of[kind], runs[kind]
            printf "all: %d executions, from %s\n", all, FILENAME }' "$kept"
  fi
  ;;
esac
