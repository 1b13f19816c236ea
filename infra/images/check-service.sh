#!/bin/sh
# check-service.sh  runs ingest, build and serve over the bundled sample, as the image's user does; for infra/images/try-in-a-root.sh.
# It fails unless nothing but /var/sojourn and /tmp can be written, no Rust is there, and the service serves the sample.
set -eu
cd /var/sojourn
[ "$(id -u)" = 10001 ] || { echo "error: runs as user $(id -u); expected 10001" >&2; exit 1; }
for command in cargo rustc cc; do
  ! command -v "$command" >/dev/null || { echo "error: $command is installed" >&2; exit 1; }
done
! touch /opt/sojourn/written 2>/dev/null || { echo "error: /opt/sojourn can be written" >&2; exit 1; }
! touch /written 2>/dev/null || { echo "error: the root can be written" >&2; exit 1; }
sojourn --version
sojourn run --port 8765 &
service=$!
trap 'kill $service 2>/dev/null || true' EXIT
python3 - "$service" <<'PROGRAM'
import json, sys, time, urllib.request

base, deadline = "http://127.0.0.1:8765", time.monotonic() + 3600
while True:
    try:
        health = json.load(urllib.request.urlopen(f"{base}/healthz", timeout=30))
        break
    except OSError:
        # A process that has ended is a zombie until the shell waits for it.
        state = open(f"/proc/{sys.argv[1]}/stat").read().rpartition(") ")[2][0]
        if state == "Z" or time.monotonic() > deadline:
            raise SystemExit("error: the service ended before it responded" if state == "Z" else "error: the service does not respond") from None
        time.sleep(1)
studies = json.load(urllib.request.urlopen(f"{base}/v1/studies", timeout=30))
names = [study["study_id"] for study in studies["studies"]]
assert health["status"] == "ok" and names, (health, studies)
delay = urllib.request.urlopen(f"{base}/v1/distributions/queuing_delay?group=queue_label&format=csv", timeout=30).read()
assert delay.count(b"\n") > 1, delay
print(f"build {health['build_id']} serves the studies {', '.join(names)}")
PROGRAM
