#!/usr/bin/env bash
# Says which tools are missing and the one line that installs them on Debian 13. Everything else is installed by `make setup` itself.
set -euo pipefail

packages=()
root=$(cd "$(dirname "$0")/../.." && pwd)
# The only place that states the minimum version of Rust.
rust=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$root/native/Cargo.toml")

need() { # command, what it is, packages of Debian
  if ! command -v "$1" >/dev/null 2>&1; then
    echo "missing: $1 — $2" >&2
    read -ra named <<<"$3"
    packages+=("${named[@]}")
  fi
}

at_least() { # name, wanted, found
  if [ "$(printf '%s\n%s\n' "$2" "$3" | sort -V | head -n 1)" != "$2" ]; then
    echo "too old: $1 $3 — version $2 or newer is needed" >&2
    too_old=1
  fi
}

too_old=0
need python3 "Python 3.11 to 3.13" "python3 python3-venv"
need cc "a C compiler, which Rust links with" "gcc libc6-dev"
if ! command -v cargo >/dev/null 2>&1 || ! cargo --version >/dev/null 2>&1; then
  echo "missing: cargo — Rust $rust or newer" >&2
  packages+=(cargo)
else
  at_least Rust "$rust" "$(cargo --version | cut -d' ' -f2)"
fi
if command -v python3 >/dev/null 2>&1; then
  at_least Python 3.11 "$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    echo "missing: Python's venv module" >&2
    packages+=(python3-venv)
  fi
fi
if [ ${#packages[@]} -gt 0 ]; then
  echo "Debian 13: apt-get install --yes ca-certificates ${packages[*]}" >&2
  exit 1
fi
exit "$too_old"
