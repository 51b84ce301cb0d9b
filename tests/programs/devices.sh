#!/bin/sh
# Runs a program that looks for character devices of RDMA before it asks libibverbs: in a mount namespace of its own it finds a /dev with such
# names, which lead to nothing. Nobody else sees them, and nothing is left behind.
#
#     unshare --mount sh devices.sh ROOM PROGRAM ...        ROOM is an empty folder
set -e
room=$1
shift
mount -t tmpfs devices "$room"
mkdir "$room/infiniband" "$room/shm"
mount --bind /dev/shm "$room/shm"
for name in null zero full random urandom; do
	: >"$room/$name"
	mount --bind "/dev/$name" "$room/$name"
done
for name in uverbs0 uverbs1; do
	: >"$room/infiniband/$name"
	mount --bind /dev/null "$room/infiniband/$name"
done
mount --move "$room" /dev
exec "$@"
