#!/usr/bin/env bash
# Fuzz the decoder: run.sh SECONDS|smoke [TARGET…] [-OPTION=VALUE…]. Without a TARGET, all binaries of Cargo.toml run. It needs
# stable Rust and a C++ compiler: libFuzzer is built from its crate, and instrument.sh passes the coverage flags of cargo-fuzz. No
# sanitizer, since the decoder has no unsafe code. Options are libFuzzer's: -max_len=512 tries short inputs several times as
# often; -timeout=60 suits a busy machine. Failing inputs are kept in artifacts/; once fixed, they belong in regressions/.
set -euo pipefail
cd "$(dirname "$0")"
amount=${1:?seconds for each target, or smoke}
shift
# A smoke run tries the same contents every time, from no corpus, so that a failure belongs to the change it is seen with.
case $amount in
  smoke) bounds=(-seed=1 -runs=10000 -max_total_time=30) ;;
  *) bounds=(-max_total_time="$amount") ;;
esac
targets=()
options=(-timeout=10 -max_len=65536)
for word in "$@"; do
  case $word in
    -*) options+=("$word") ;;
    *) targets+=("$word") ;;
  esac
done
if [ ${#targets[@]} -eq 0 ]; then
  mapfile -t targets < <(sed -n '/^\[\[bin\]\]$/,/^name = /s/^name = "\(.*\)"$/\1/p' Cargo.toml)
fi
RUSTC_WRAPPER=$PWD/instrument.sh RUSTFLAGS="--cfg fuzzing" \
  cargo build --quiet --release --locked --target "$(rustc -vV | sed -n 's/host: //p')"
log=$(mktemp)
kept=corpus
[ "$amount" != smoke ] || kept=$(mktemp -d)
trap 'rm -rf "$log"; [ "$kept" = corpus ] || rm -rf "$kept"' EXIT
binaries="target/$(rustc -vV | sed -n 's/host: //p')/release"
for target in "${targets[@]}"; do
  mkdir -p "$kept/$target" "artifacts/$target" "regressions/$target"
  echo "==> fuzz $target ($amount)"
  "$binaries/$target" "${bounds[@]}" "${options[@]}" -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="artifacts/$target/" "$kept/$target" "seeds/$target" "regressions/$target" 2>&1 |
    tee "$log" | grep -E "^stat::|ERROR|SUMMARY|panicked|DONE|cov:.*(DONE|REDUCE.*00000 )" | tail -n 12
  ../../infra/fuzz/count.sh add rust "$target" "$log"
done
../../infra/fuzz/count.sh sum
