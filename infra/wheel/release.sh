#!/usr/bin/env bash
# release.sh OUT  adds to the wheels in OUT what a release has besides: the client's own wheel, the list of what the packages
# depend on (CycloneDX for Python, Cargo.lock for Rust), and checksums of all files.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
uv=$("$root/infra/setup/uv.sh" path)
version=$(cat "$root/VERSION")
mkdir -p "$1"
out=$(cd "$1" && pwd)
"$uv" build --quiet --wheel --out-dir "$out" "$root/api/client"
"$uv" export --quiet --project "$root" --frozen --all-packages --all-extras --no-dev --format cyclonedx1.5 --output-file "$out/sojourn-$version.cdx.json" >/dev/null
cp "$root/native/Cargo.lock" "$out/sojourn-$version-Cargo.lock"
rm -f "$out/.gitignore"
(cd "$out" && sha256sum sojourn* >SHA256SUMS)
cat "$out/SHA256SUMS"
