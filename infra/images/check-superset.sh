#!/bin/sh
# check-superset.sh API  prepares and serves Superset against a service, as the image's user does; for infra/images/try-in-a-root.sh.
# It fails unless nothing but /var/sojourn and /tmp can be written and Superset says that it is well.
set -eu
cd /var/sojourn
[ "$(id -u)" = 10001 ] || { echo "error: runs as user $(id -u); expected 10001" >&2; exit 1; }
! touch /opt/sojourn/written 2>/dev/null || { echo "error: /opt/sojourn can be written" >&2; exit 1; }
SUPERSET_SECRET_KEY=$(python3 -c 'import secrets; print(secrets.token_urlsafe(48))')
SUPERSET_ADMIN_PASSWORD=$(python3 -c 'import secrets; print(secrets.token_urlsafe(24))')
export SUPERSET_SECRET_KEY SUPERSET_ADMIN_PASSWORD SUPERSET_ADMIN_USER=admin SOJOURN_API_URL="$1"
sojourn-superset prepare --api "$1"
sojourn-superset serve --port 8766 &
service=$!
trap 'kill $service 2>/dev/null || true' EXIT
python3 - "$service" <<'PROGRAM'
import sys, time, urllib.request

deadline = time.monotonic() + 600
while True:
    try:
        print("Superset says", urllib.request.urlopen("http://127.0.0.1:8766/health", timeout=30).read().decode())
        break
    except OSError:
        # A process that has ended is a zombie until the shell waits for it.
        state = open(f"/proc/{sys.argv[1]}/stat").read().rpartition(") ")[2][0]
        if state == "Z" or time.monotonic() > deadline:
            raise SystemExit("error: Superset ended before it responded" if state == "Z" else "error: Superset does not respond") from None
        time.sleep(1)
PROGRAM
