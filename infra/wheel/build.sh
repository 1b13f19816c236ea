#!/usr/bin/env bash
# build.sh OUT [TARGET…]  builds the wheel of each target, a triple of Rust (default: this machine's), into OUT.
# Zig is the linker, whose libc is old enough for every distribution since 2018 and is there for other architectures too.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
uv=$("$root/infra/setup/uv.sh" path)
out=$1
shift
[ $# -gt 0 ] || set -- "$(uname -m)-unknown-linux-gnu"
maturin='maturin[zig]==1.16.*'
platform=manylinux_2_28

case $out in /*) ;; *) out=$PWD/$out ;; esac
mkdir -p "$out"
echo "==> models, compiled for both engines"
"$root/.venv/bin/python" -m sojourn_transforms.running.compiled "$root/var/wheels/compiled"
for target in "$@"; do
  if command -v rustup >/dev/null 2>&1; then
    rustup target list --installed | grep -qx "$target" || rustup target add "$target"
  fi
  built=$root/var/wheels/$target
  rm -rf "$built"
  for package in ingest transforms/statistics; do
    echo "==> extension module of $package for $target"
    (
      cd "$root/$package"
      "$uv" tool run --quiet --from "$maturin" maturin build --quiet --release --locked --zig \
        --compatibility "$platform" --target "$target" --out "$built"
    )
  done
  echo "==> wheel for $target"
  (cd "$root/infra/wheel" && SOJOURN_NATIVE_WHEELS=$built "$uv" build --quiet --wheel --out-dir "$out" .)
done
ls -1 "$out"/sojourn-*.whl
