#!/usr/bin/env bash
# Installs Debian packages whose command is missing. A word is PACKAGE, where the command has the package's name, or
# PACKAGE:COMMAND.
set -euo pipefail

missing=()
for package in "$@"; do
  command -v "${package#*:}" >/dev/null 2>&1 || missing+=("${package%%:*}")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" != 0 ]; then
  echo "missing: ${missing[*]} — install them (Debian: sudo apt-get install ${missing[*]}) and run again" >&2
  exit 1
fi
echo "==> installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
