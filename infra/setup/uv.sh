#!/usr/bin/env bash
# uv.sh path     prints the uv to use: the one on PATH, or the one installed below var/tools
# uv.sh install  installs it below var/tools where there is none
set -euo pipefail

version=0.13.8
root=$(cd "$(dirname "$0")/../.." && pwd)
tools=$root/var/tools

if command -v uv >/dev/null 2>&1; then
  uv=$(command -v uv)
else
  uv=$tools/bin/uv
fi

case "${1:-}" in
  path) echo "$uv" ;;
  install)
    if [ ! -x "$uv" ]; then
      echo "==> uv $version (into var/tools)"
      python3 -m venv "$tools"
      "$tools/bin/pip" install --quiet --disable-pip-version-check "uv==$version"
    fi
    ;;
  *)
    echo "usage: uv.sh path|install" >&2
    exit 2
    ;;
esac
