#!/usr/bin/env bash
# Kernel and initial file system of the testbed's guest, from Debian's packages alone: build.sh FOLDER
#
# Writes vmlinuz, initramfs.cpio, packages.txt (name and version of each package) and SHA256SUMS, and does nothing
# where they are there and made by this script with these programmes. The file system lies in memory, since a
# disk's answers come when the host finds time, and a virtual clock would show it.
set -euo pipefail
cd "$(dirname "$0")"
folder=${1:?folder for the image}
suite=bookworm
packages=linux-image-amd64,iproute2,tcpdump,iperf3,bpftrace,ethtool,kmod,iputils-ping,procps
for command in go clang debootstrap cpio; do
  command -v "$command" >/dev/null || { echo "$command is missing: apt-get install ${command/#go/golang}" >&2; exit 1; }
done
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# The guest's own programme (Go caches it) and the kernel's part of its recorder are built each time; the rest only when this
# script changes. What the compiler writes names no folder of this machine.
(cd ../guest && CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -trimpath -ldflags='-s -w' -o "$folder/testbed-guest" .)
(cd ../../infra/queue-probe && clang -target bpf -mcpu=v3 -O2 -g -Wall -Werror -fdebug-compilation-dir=. \
  -c queue_events.bpf.c -o "$folder/queue_events.bpf.o")
wanted=$(cat build.sh ../../infra/queue-probe/queue.bt "$folder/queue_events.bpf.o" "$folder/testbed-guest" | sha256sum | cut -d' ' -f1)
if [ "$(cat "$folder/made-by" 2>/dev/null)" = "$wanted" ] && (cd "$folder" && sha256sum --quiet --check SHA256SUMS); then
  echo "image in $folder is up to date"
  exit
fi
[ "$(id -u)" = 0 ] || { echo "debootstrap needs root: run this once as root; running the testbed does not" >&2; exit 1; }

root=$folder/rootfs
# debootstrap mounts /proc and /sys in what it makes, and where it is killed they stay: it runs in mounts of its own, which end
# with it.
own_mounts=()
if unshare --mount --propagation private true 2>/dev/null; then own_mounts=(unshare --mount --propagation private); fi
# What the file system is made of; the number goes up when the steps below change.
recipe="$suite $packages 1"
if [ "$(cat "$folder/rootfs-made-by" 2>/dev/null)" != "$recipe" ]; then
  echo "==> Debian $suite ($packages)"
  ./remove-root.sh "$root"
  # The machine's own source of packages, whatever it is.
  mirror=$(apt-get indextargets --format '$(SITE)' 'Identifier: Packages' | grep -v security | head -n 1)
  "${own_mounts[@]}" debootstrap --variant=minbase --include="$packages" "$suite" "$root" "$mirror" >"$folder/debootstrap.log" 2>&1 ||
    { tail -n 5 "$folder/debootstrap.log" >&2
      echo "debootstrap could not create the file system from $mirror; see $folder/debootstrap.log" >&2; exit 1; }
  dpkg-query --admindir="$root/var/lib/dpkg" -W >"$folder/packages.txt"
  cp "$root"/boot/vmlinuz-* "$folder/vmlinuz"
  # What no run reads: four fifths of the size.
  rm -rf "$root"/boot/* "$root"/usr/share/{doc,man,locale,info,zoneinfo,perl,bash-completion} "$root"/var/{cache,lib/apt,log}/* \
    "$root"/usr/lib/x86_64-linux-gnu/{perl*,gconv} "$root"/usr/lib/firmware "$root"/usr/bin/perl*
  (cd "$root"/lib/modules/*/kernel && find . -name '*.ko' | grep -vE \
    '^\./(net/(sched|core|ipv4|9p|llc|802)/|drivers/(virtio/|net/(veth|ifb|dummy)\.ko)|fs/(9p|netfs|fscache)/|lib/|crypto/)' |
    xargs -r rm)
  chroot "$root" depmod -a "$(ls "$root/lib/modules")"
  # Names of what the kernel can load or has built in: the plan's disciplines are held against them before a run.
  { find "$root/lib/modules" -name '*.ko'; cat "$root"/lib/modules/*/modules.builtin; } |
    sed 's|.*/||; s|\.ko$||; s|-|_|g' | LC_ALL=C sort -u >"$folder/modules.txt"
  echo "$recipe" >"$folder/rootfs-made-by"
fi
echo "==> initial file system"
install -m 755 "$folder/testbed-guest" "$root/init"
ln -sf /init "$root/usr/bin/testbed-guest"
# The recorder looks for the kernel's part beside itself.
install -m 644 "$folder/queue_events.bpf.o" "$root/queue_events.bpf.o"
install -m 644 ../../infra/queue-probe/queue.bt "$root/queue.bt"
cp ../../infra/queue-probe/queue.bt "$folder/queue.bt"
# The same files give the same archive: sorted names, no times, no inode numbers of this machine.
(cd "$root" && find . -mindepth 1 -not -path './proc/*' -not -path './sys/*' -not -path './dev/*' -not -path './job/*' |
  LC_ALL=C sort | xargs -d '\n' touch --no-dereference --date=@0 &&
  find . -not -path './proc/*' -not -path './sys/*' -not -path './dev/*' -not -path './job/*' | LC_ALL=C sort |
  cpio --quiet --reproducible --create --format=newc --owner=0:0) >"$folder/initramfs.cpio"
(cd "$folder" && sha256sum vmlinuz initramfs.cpio packages.txt modules.txt >SHA256SUMS)
echo "$wanted" >"$folder/made-by"
du -h "$folder/initramfs.cpio"
