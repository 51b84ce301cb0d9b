#!/bin/sh
# Runs the tests of a repository on two simulated RDMA cards. workflow.yml calls it; it runs as well on a desk.
#
#     sh test.sh stroma-VERSION-x86_64-linux.tar.gz       its .sha256 is beside it
#
# Every frame of both cards is kept in ./captures, for Wireshark.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
archive=$(realpath "$1")
work=$(mktemp -d)
mkdir -p captures

(cd "$(dirname "$archive")" && sha256sum --check "$(basename "$archive").sha256")
tar -xzf "$archive" -C "$work" --strip-components=1
PATH=$work/bin:$PATH

# Two cards on a cable, in the background, in a folder of this run's own. They end with it.
export STROMA_FABRIC="$work/fabric"
stroma fabric --capture captures >"$work/fabric.log" 2>&1 &
fabric=$!
trap 'kill "$fabric"; wait "$fabric" 2>/dev/null || true; rm -rf "$work"' EXIT
# It tells where its cards are, and an empty line when all are there.
until grep -q '^$' "$work/fabric.log"; do
	kill -0 "$fabric" || { cat "$work/fabric.log"; exit 1; }
	sleep 0.1
done

# A program that has both cards.
make -C "$here/foreign"
timeout 120 stroma exec -- "$here/foreign/write"

# Two programs, on a card each: they meet over 127.0.0.1, and their data goes over the cards. The second ends at once while the first does not listen.
timeout 120 stroma exec --card 0 -- ib_write_bw -x 1 -F -n 5 -t 4 -Q 1 -s 4096 &
server=$!
until timeout 120 stroma exec --card 1 -- ib_write_bw -x 1 -F -n 5 -t 4 -Q 1 -s 4096 127.0.0.1; do
	kill -0 "$server"
	sleep 0.2
done
wait "$server"
