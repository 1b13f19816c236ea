#!/usr/bin/env bash
# test.sh DIST  installs the release in DIST in an empty environment and runs the first screen of the README; needs Python and git alone.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
SOJOURN_RELEASE=$(cd "$1" && pwd)
export SOJOURN_RELEASE
"$root/infra/setup/uv.sh" install
uv=$("$root/infra/setup/uv.sh" path)
cd "$root"
exec "$uv" run --quiet --isolated --no-project --with pytest --with httpx --with filelock pytest -q -m long tests/integration/test_wheel.py
