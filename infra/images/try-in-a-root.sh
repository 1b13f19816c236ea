#!/usr/bin/env bash
# Runs the steps of an image without a container engine: its Debian by debootstrap, its packages, and its check as the image's user with a read-only root.
#   try-in-a-root.sh service WHEELS [ROOT]    service.Dockerfile with the wheel of the folder WHEELS: ingest, build and serve over the sample
#   try-in-a-root.sh superset API [ROOT]      superset.Dockerfile: prepare and serve with the dashboards, against the service at the address API
# Needs root and debootstrap. ROOT is a new folder below var, removed at the end, unless it is named: then it is kept, and its Debian is used again.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
[ $# -ge 2 ] && [[ $1 = service || $1 = superset ]] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "error: debootstrap and chroot need root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "error: debootstrap is missing (Debian: apt-get install debootstrap)" >&2; exit 1; }
image=$1
if [ "$image" = service ]; then suite=trixie wheels=$(cd "$2" && pwd); else suite=bookworm api=$2; fi
root=${3:-}
if [ -z "$root" ]; then
  mkdir -p "$source/var"
  root=$(mktemp -d -p "$source/var" root.XXXXXX)
  trap 'rm -rf --one-file-system "$root"' EXIT
fi

mirror=$(apt-get indextargets --format '$(SITE)' 'Identifier: Packages' | grep -v security | head -n 1)
if [ ! -x "$root/usr/bin/apt-get" ]; then
  echo "==> Debian $suite"
  debootstrap --variant=minbase "$suite" "$root" "${mirror:-http://deb.debian.org/debian}" >"$root.debootstrap.log" 2>&1 ||
    { tail -n 5 "$root.debootstrap.log" >&2; exit 1; }
  rm -f "$root.debootstrap.log"
fi
# How this machine reaches its package index; an image of Docker gets the same by build arguments.
for file in /etc/resolv.conf /etc/pip.conf /etc/ssl/certs/ca-certificates.crt /etc/apt/apt.conf.d; do
  [ ! -e "$file" ] || { mkdir -p "$root$(dirname "$file")"; cp -rL "$file" "$root$(dirname "$file")/"; }
done
# Debian's package writes the bundle of certificates anew, so the one that this machine uses for the index has a place of its own.
certificates=${PIP_CERT:+/etc/ssl/of-this-machine.crt}
[ -z "$certificates" ] || cp -L "$PIP_CERT" "$root$certificates"
install -D --target-directory "$root/usr/local/lib/sojourn" "$here"/*.sh

step() { # command…: one step in the clean root, in namespaces that end with it
  unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" \
    env --ignore-environment PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    ${certificates:+PIP_CERT="$certificates" SSL_CERT_FILE="$certificates"} ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} \
    ${https_proxy:+https_proxy="$https_proxy"} ${http_proxy:+http_proxy="$http_proxy"} "$@"
}
echo "==> packages and user"
step sh -c 'id sojourn >/dev/null 2>&1 || /usr/local/lib/sojourn/prepare-root.sh' >/dev/null
step rm -rf /opt/sojourn
if [ "$image" = service ]; then
  echo "==> wheel"
  mkdir -p "$root/dist"
  cp "$wheels"/sojourn-*.whl "$root/dist/"
  step /usr/local/lib/sojourn/install-service.sh /dist
  rm -rf "$root/dist"
  check=(/usr/local/lib/sojourn/check-service.sh)
  path=/opt/sojourn/bin
else
  echo "==> Superset"
  mkdir -p "$root/opt/sojourn"
  (cd "$source" && git ls-files -z api/client dashboards infra/setup/uv.sh infra/superset | xargs -0 cp --parents -t "$root/opt/sojourn")
  step /usr/local/lib/sojourn/install-superset.sh
  check=(/usr/local/lib/sojourn/check-superset.sh "$api")
  path=/opt/sojourn/dashboards/.venv/bin
fi
echo "==> the check, as the image's user with a read-only root"
# shellcheck disable=SC2016  # expanded by the inner shell
root=$root path=$path unshare --mount --pid --fork sh -eu -c '
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --bind "$root/var/sojourn" "$root/var/sojourn"
  mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  # Container engines have one too, also where the root is read-only: locks between processes lie there.
  mkdir -p "$root/dev/shm" && mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
  mount -o remount,bind,ro "$root"
  exec chroot --userspec=10001:10001 "$root" env --ignore-environment PATH="$path:/usr/bin:/bin" HOME=/tmp LANG=C.UTF-8 \
    SOJOURN_VAR=/var/sojourn PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 "$@"
' sh "${check[@]}"
