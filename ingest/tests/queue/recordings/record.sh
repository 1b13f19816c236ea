#!/usr/bin/env bash
# Records what tc says of queue disciplines, in guests of their own with Debian's kernels and iproute2: record.sh [SUITE...]
#
# Needs root for debootstrap, and debootstrap, cpio, xz and qemu-system-x86. SUITE is bookworm, or sid, where the module of DualPI2
# is built from Debian's linux-source, since no kernel of Debian's has it.
set -euo pipefail
cd "$(dirname "$0")"
here=$PWD
work=${WORK:-$(mktemp -d)}
for suite in "${@:-bookworm}"; do
  root=$work/$suite
  packages=iproute2,iperf3,kmod,iputils-ping,linux-image-amd64
  [ "$suite" = bookworm ] || packages+=,linux-headers-amd64,linux-source,gcc,make,xz-utils
  if [ ! -e "$root.made" ]; then
    debootstrap --variant=minbase --include="$packages" "$suite" "$root" >"$work/$suite.log" 2>&1
    touch "$root.made"
  fi
  if [ "$suite" != bookworm ] && [ ! -e "$root/sch_dualpi2.ko" ]; then
    mkdir -p "$root/dualpi2"
    tar -xf "$root"/usr/src/linux-source-*.tar.xz -C "$root/dualpi2" --strip-components=3 --wildcards '*/net/sched/sch_dualpi2.c'
    echo 'obj-m := sch_dualpi2.o' >"$root/dualpi2/Makefile"
    release=$(ls "$root/lib/modules" | head -n 1)
    # The build reads its own limits from /proc.
    unshare --mount sh -c "mount -t proc proc '$root/proc' && chroot '$root' make -s -C /lib/modules/$release/build M=/dualpi2 modules"
    cp "$root/dualpi2/sch_dualpi2.ko" "$root/"
  fi
  install -m 755 guest.sh "$root/init"
  cp "$root"/lib/modules/*/kernel/drivers/net/veth.ko* "$root/"
  # What this guest needs of a kernel's modules, and neither its compiler nor its sources.
  (cd "$root" && find . -xdev \( -path ./boot -o -path ./usr/src -o -path ./usr/lib/gcc -o -path ./usr/share -o -path ./var -o -path ./proc \
      -o -path ./sys -o -path ./dualpi2 -o -path '*/kernel/drivers' -o -path '*/kernel/sound' -o -path '*/kernel/fs' \
      -o -path ./usr/libexec/gcc -o -path ./usr/include -o -path ./dev \) -prune -o -print
    printf '%s\n' ./proc ./sys ./dev ./var) >"$work/$suite.files"
  (cd "$root" && sort -u "$work/$suite.files" | cpio --quiet --create --format=newc >"$work/$suite.cpio")
  timeout 1800 qemu-system-x86_64 -m 2048 -nographic -no-reboot -kernel "$(ls "$root"/boot/vmlinuz-* | head -n 1)" -initrd "$work/$suite.cpio" \
    -append "console=ttyS0 quiet panic=-1 rdinit=/init" </dev/null | tr -d '\r' >"$work/$suite.serial"
  folder=$(grep -o 'iproute2-[0-9.]*[0-9]' "$work/$suite.serial")
  mkdir -p "$folder"
  awk -v folder="$here/$folder/" '/^@@begin /{file = folder $2; printf "" > file; next} /^@@end/{close(file); file = ""; next} file{print > file}' \
    "$work/$suite.serial"
  grep -q '^@@finished' "$work/$suite.serial"
done
