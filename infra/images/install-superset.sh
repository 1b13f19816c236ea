#!/bin/sh
# install-superset.sh  installs Superset with Sojourn's dashboards from the sources in /opt/sojourn, with Debian's own Python 3.11.
# Bytecode is compiled here, because the image's user may not write beside the modules.
set -eu
apt-get update
apt-get install --yes --no-install-recommends build-essential python3-dev
cd /opt/sojourn
infra/setup/uv.sh install
"$(infra/setup/uv.sh path)" sync --quiet --locked --no-dev --compile-bytecode --python /usr/bin/python3 --project dashboards
rm -rf var
