#!/usr/bin/env bash
# Says which tool is missing and how to get it. Everything else is installed by `make setup` itself.
set -euo pipefail

missing=0
root=$(cd "$(dirname "$0")/../.." && pwd)
# The one place where the least version of Rust stands.
rust=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$root/native/Cargo.toml")

need() { # name, how to get it
  if ! command -v "$1" >/dev/null 2>&1; then
    echo "missing: $1 — $2" >&2
    missing=1
  fi
}

at_least() { # name, wanted, found
  if [ "$(printf '%s\n%s\n' "$2" "$3" | sort -V | head -n 1)" != "$2" ]; then
    echo "too old: $1 $3 — version $2 or newer is needed" >&2
    missing=1
  fi
}

need python3 "Python 3.11 to 3.13 (Debian: apt-get install python3 python3-venv)"
need cargo "Rust $rust or newer, from rustup (https://rustup.rs)"
need cc "a C compiler, which Rust links with (Debian: apt-get install build-essential)"
[ "$missing" = 0 ] || exit 1

at_least Python 3.11 "$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
at_least Rust "$rust" "$(cargo --version | cut -d' ' -f2)"
if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
  echo "missing: Python's venv module (Debian: apt-get install python3-venv)" >&2
  missing=1
fi
exit "$missing"
