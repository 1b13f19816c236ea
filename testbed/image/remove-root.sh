#!/usr/bin/env bash
# Removes a root file system that debootstrap left, with what is still mounted in it: remove-root.sh FOLDER
#
# Removing the folder alone would reach into the mounts: into processes of this machine, or its devices.
set -euo pipefail
folder=$(realpath -m "${1:?folder of the root file system}")
findmnt --noheadings --list --output TARGET | { grep -F "$folder/" || true; } | LC_ALL=C sort -r | while IFS= read -r mounted; do
  case $mounted in "$folder"/*) ;; *) continue ;; esac
  umount "$mounted" || { echo "$mounted is in use; end what uses it, then: umount '$mounted'" >&2; exit 1; }
done
rm -rf --one-file-system "$folder"
