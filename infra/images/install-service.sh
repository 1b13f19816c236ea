#!/bin/sh
# install-service.sh FOLDER  installs the wheel in FOLDER into /opt/sojourn, with what serves and what reads object stores.
# Bytecode is compiled here, because the image's user may not write beside the modules.
set -eu
wheel=$(ls "$1"/sojourn-*-manylinux*_"$(uname -m)".whl)
python3 -m venv /opt/sojourn
/opt/sojourn/bin/pip install --quiet --no-cache-dir --compile "$wheel[serve,object-store]"
