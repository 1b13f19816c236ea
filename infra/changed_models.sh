#!/usr/bin/env bash
# Prints the SQL files of models, by their paths below models/, whose style was not checked yet, also those that are not committed.
# On a branch these are the ones that differ from where it left origin/main. On main itself, as in a clone, they are those of the day
# before HEAD, because every night all models are checked (make test-long). With less history, such as a shallow clone's, all are printed.
set -euo pipefail
cd "$(dirname "$0")/../models"
head=$(git rev-parse --verify HEAD) || { echo "error: not a git checkout, so the changed models are not known; run make lint-sql" >&2; exit 1; }
base=$(git merge-base HEAD origin/main 2>/dev/null || true)
if [ "${base:-$head}" = "$head" ]; then
  base=$(git rev-list --max-count=1 --first-parent --min-age=$(($(git log -1 --format=%ct) - 86400)) HEAD)
fi
models=('intermediate/*.sql' 'marts/*.sql')
# The tree of no file, where there is no commit to compare with.
git diff --name-only --relative --diff-filter=d "${base:-$(git hash-object -t tree /dev/null)}" -- "${models[@]}"
git ls-files --others --exclude-standard -- "${models[@]}"
