#!/usr/bin/env bash
# Fuzz the parsers in Python with Atheris: run.sh SECONDS [TARGET…]. Without a TARGET, each of parsers.py is run; "all"
# is one that changes between them. Seeds are written from the inputs of the tests each time. What is found stays in
# artifacts/; a fixed one belongs into regressions/TARGET/, which tests read too.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:?seconds for each target}
shift
targets=("$@")
python=../../.venv/bin/python
if [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "fuzzing of the parsers in Python is left out: Atheris has wheels for Linux on x86-64 alone" >&2
  exit 0
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rm -rf seeds
mapfile -t known < <("$python" fuzz.py --seeds seeds)
if [ ${#targets[@]} -eq 0 ]; then
  mapfile -t targets < <(printf '%s\n' "${known[@]}" | grep -vx all)
fi
for target in "${targets[@]}"; do
  mkdir -p "corpus/$target" "artifacts/$target" "regressions/$target" "seeds/$target"
  echo "==> fuzz $target (Python) for $seconds s"
  ended=0
  "$python" fuzz.py "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
    -print_final_stats=1 -dict=seeds/tokens.dict -artifact_prefix="artifacts/$target/" \
    "corpus/$target" "seeds/$target" "regressions/$target" >"$log" 2>&1 || ended=$?
  ../../infra/fuzz/count.sh add python "$target" "$log"
  if [ "$ended" -ne 0 ]; then
    tail -n 60 "$log"
    exit "$ended"
  fi
  grep -E '^stat::(number_of_executed_units|peak_rss_mb)|DONE' "$log" || { cat "$log"; exit 1; }
done
../../infra/fuzz/count.sh sum
