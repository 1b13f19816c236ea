#!/bin/bash
# Compares the locked dependencies with published advisories. Usage: audit.sh UV FOLDER
# Every ecosystem is asked, even if one before has findings; the status is 1 if any has, or could not be asked.
set -u -o pipefail
uv=$1
folder=$2
mkdir -p "$folder"
failed=0

echo "==> Python: pip-audit on uv.lock"
for project in . dashboards; do
    name=$(basename "$(realpath "$project")")
    "$uv" export --quiet --locked --project "$project" --all-extras --all-groups --no-emit-workspace \
        --no-emit-project --format requirements-txt --output-file "$folder/$name.txt" >/dev/null &&
        "$uv" tool run pip-audit==2.10.1 --requirement "$folder/$name.txt" --require-hashes --disable-pip || failed=1
done

echo "==> Rust: cargo-audit on Cargo.lock"
if ! cargo audit --version >/dev/null 2>&1; then
    echo "cargo-audit is missing; run: cargo install --locked cargo-audit" >&2
    failed=1
else
    for lock in native/Cargo.lock native/fuzz/Cargo.lock; do
        cargo audit --file "$lock" || failed=1
    done
fi

echo "==> Go: govulncheck"
(cd testbed/guest && go run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./...) || failed=1

exit "$failed"
