#!/usr/bin/env bash
# try-in-a-root.sh WHEELS [ROOT]  runs the steps of service.Dockerfile without a container engine: a clean Debian 13 by debootstrap in ROOT (default:
# a new folder below var), the wheel of the folder WHEELS, and ingest, build and serve over the sample, as the image's user and with a read-only root.
# Needs root and debootstrap; it was not run yet. ROOT is removed at the end unless it was named.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { echo "usage: try-in-a-root.sh WHEELS [ROOT]" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "error: debootstrap and chroot need root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "error: debootstrap is missing (Debian: apt-get install debootstrap)" >&2; exit 1; }
wheels=$(cd "$1" && pwd)
root=${2:-}
if [ -z "$root" ]; then
  mkdir -p "$here/../../var"
  root=$(mktemp -d -p "$here/../../var" root.XXXXXX)
  trap 'rm -rf --one-file-system "$root"' EXIT
fi

mirror=$(apt-get indextargets --format '$(SITE)' 'Identifier: Packages' | grep -v security | head -n 1)
if [ ! -x "$root/usr/bin/apt-get" ]; then
  echo "==> Debian 13"
  debootstrap --variant=minbase trixie "$root" "${mirror:-http://deb.debian.org/debian}" >"$root.log" 2>&1 || { tail -n 5 "$root.log" >&2; exit 1; }
  rm -f "$root.log"
fi
# How this machine reaches its package index; an image of Docker gets the same by build arguments.
for file in /etc/resolv.conf /etc/pip.conf /etc/ssl/certs/ca-certificates.crt /etc/apt/apt.conf.d; do
  [ ! -e "$file" ] || { mkdir -p "$root$(dirname "$file")"; cp -rL "$file" "$root$(dirname "$file")/"; }
done
install -D --target-directory "$root/usr/local/lib/sojourn" "$here"/*.sh
mkdir -p "$root/dist"
cp "$wheels"/sojourn-*.whl "$root/dist/"

step() { # command…: one step in the clean root, in namespaces that end with it
  unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" \
    env --ignore-environment PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} ${https_proxy:+https_proxy="$https_proxy"} ${http_proxy:+http_proxy="$http_proxy"} "$@"
}
echo "==> packages and user"
step sh -c 'id sojourn >/dev/null 2>&1 || /usr/local/lib/sojourn/prepare-root.sh' >/dev/null
echo "==> wheel"
step rm -rf /opt/sojourn
step /usr/local/lib/sojourn/install-service.sh /dist
rm -rf "$root/dist"
echo "==> ingest, build and serve as the image's user, root read-only"
# shellcheck disable=SC2016  # expanded by the inner shell
root=$root unshare --mount --pid --fork sh -eu -c '
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --bind "$root/var/sojourn" "$root/var/sojourn"
  mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  mount -o remount,bind,ro "$root"
  exec chroot --userspec=10001:10001 "$root" env --ignore-environment PATH=/opt/sojourn/bin:/usr/bin:/bin HOME=/tmp LANG=C.UTF-8 \
    SOJOURN_VAR=/var/sojourn PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 /usr/local/lib/sojourn/check-service.sh
'
