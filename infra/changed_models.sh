#!/usr/bin/env bash
# Prints the SQL files of models, by their paths below models/, that differ from the main branch, also those that are not committed.
# Where HEAD has nothing of its own, or there is no origin/main, it is compared with the commit before it; without one, all are printed.
set -euo pipefail
cd "$(dirname "$0")/../models"
head=$(git rev-parse --verify HEAD) || { echo "error: no git checkout to tell changed models by; run make lint-sql" >&2; exit 1; }
base=$(git merge-base HEAD origin/main 2>/dev/null || true)
if [ "${base:-$head}" = "$head" ]; then
  # The tree of no file stands for a commit that there is not, such as in a shallow clone.
  base=$(git rev-parse --quiet --verify HEAD~1 || git hash-object -t tree /dev/null)
fi
models=('staging/*.sql' 'intermediate/*.sql' 'marts/*.sql')
git diff --name-only --relative --diff-filter=d "$base" -- "${models[@]}"
git ls-files --others --exclude-standard -- "${models[@]}"
