#!/usr/bin/env bash
# Fuzz the parsers in Python with Atheris: run.sh SECONDS|smoke [TARGET…] [-OPTION=VALUE…], of libFuzzer. Without a TARGET, each of parsers.py
# is run; "all" is one that changes between them. Seeds are written from the inputs of the tests each time. What is found stays in
# artifacts/; a fixed one belongs into regressions/TARGET/, which tests read too.
set -euo pipefail
cd "$(dirname "$0")"
amount=${1:?seconds for each target, or smoke}
shift
# A smoke run tries the same contents every time, from no corpus, so that a failure belongs to the change it is seen with.
case $amount in
  smoke) bounds=(-seed=1 -runs=10000 -max_total_time=120) ;;
  *) bounds=(-max_total_time="$amount") ;;
esac
targets=()
options=(-timeout=10 -max_len=16384)
for word in "$@"; do
  case $word in
    -*) options+=("$word") ;;
    *) targets+=("$word") ;;
  esac
done
python=../../.venv/bin/python
if [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "fuzzing of the Python parsers is skipped: Atheris has wheels only for Linux on x86-64" >&2
  exit 0
fi
log=$(mktemp)
kept=corpus
[ "$amount" != smoke ] || kept=$(mktemp -d)
# libFuzzer ends the process at once, so that Python removes nothing.
memory=$(mktemp -d /dev/shm/sojourn-fuzz-XXXXXX 2>/dev/null || mktemp -d)
export TMPDIR=$memory
trap 'rm -rf "$log" "$memory"; [ "$kept" = corpus ] || rm -rf "$kept"' EXIT
rm -rf seeds
mapfile -t known < <("$python" fuzz.py --seeds seeds)
if [ ${#targets[@]} -eq 0 ]; then
  mapfile -t targets < <(printf '%s\n' "${known[@]}" | grep -vx all)
fi
for target in "${targets[@]}"; do
  mkdir -p "$kept/$target" "artifacts/$target" "regressions/$target" "seeds/$target"
  echo "==> fuzz $target (Python, $amount)"
  ended=0
  "$python" fuzz.py "$target" "${bounds[@]}" "${options[@]}" -rss_limit_mb=2048 \
    -print_final_stats=1 -dict=seeds/tokens.dict -artifact_prefix="artifacts/$target/" \
    "$kept/$target" "seeds/$target" "regressions/$target" >"$log" 2>&1 || ended=$?
  ../../infra/fuzz/count.sh add python "$target" "$log"
  if [ "$ended" -ne 0 ]; then
    # The trace stands before libFuzzer's progress.
    grep -nE -A 40 'Uncaught Python exception|Fatal Python error' "$log" || true
    tail -n 20 "$log"
    # A crash of the process may be one of Atheris, which is compiled and changes the code of what it watches.
    [ "$ended" -gt 128 ] && [ -e "artifacts/$target/last" ] || exit "$ended"
    cp --remove-destination "$(readlink "artifacts/$target/last")" "artifacts/$target/last"
    cp "artifacts/$target/last" "artifacts/$target/crashed-$(sha256sum "artifacts/$target/last" | cut -c1-16)"
    "$python" fuzz.py --again "$target" "artifacts/$target/last"
    echo "warning: the process crashed under Atheris but not without it; the input is in ingest/fuzz/artifacts/$target" >&2
    continue
  fi
  grep -E '^stat::(number_of_executed_units|peak_rss_mb)|DONE' "$log" || { cat "$log"; exit 1; }
done
../../infra/fuzz/count.sh sum
