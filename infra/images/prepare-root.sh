#!/bin/sh
# Packages of Debian and the user of an image; infra/images/try-in-a-root.sh runs the same steps without a container engine.
set -eu
apt-get update
apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv
rm -rf /var/lib/apt/lists/*
useradd --system --uid 10001 --user-group --no-create-home --home-dir /tmp sojourn
install --directory --owner 10001 --group 10001 /var/sojourn
