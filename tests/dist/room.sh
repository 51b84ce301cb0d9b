#!/bin/sh
# Runs a program in another root, where it finds its processes in /proc and an interface to talk to itself by. Both are its own: they end with it.
#
#     unshare --mount --pid --net --fork --kill-child sh room.sh ROOT PROGRAM ...
set -eu
root=$1
shift
ip link set lo up
mount -t proc proc "$root/proc"
exec chroot "$root" "$@"
