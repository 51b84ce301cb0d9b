#!/bin/sh
# What somebody does who has the archive and a plain Debian 12: unpacks it, looks at the cards, runs programs of others on them, compiles one that
# calls kernels, and at last does what the example for CI does. Beside this script are the archive, its checksum and examples/ci as `ci`.
set -eu
cd "$(dirname "$0")"
step() {
	printf '\n-- %s\n' "$*"
}

step "no Rust, no Verilator"
for program in cargo rustc verilator python3; do
	! command -v "$program" || exit 1
done

step "unpack"
archive=$(ls stroma-*.tar.gz)
sha256sum --check "$archive.sha256"
tar -xzf "$archive"
stroma=$PWD/${archive%.tar.gz}
PATH=$stroma/bin:$PATH
export PATH PKG_CONFIG_PATH="$stroma/lib/pkgconfig"
for file in man/man1/stroma-exec.1 bash-completion/completions/stroma zsh/site-functions/_stroma \
	fish/vendor_completions.d/stroma.fish; do
	test -s "$stroma/share/$file"
done

step "stroma selftest, both profiles"
stroma selftest sim
stroma selftest sim:100g

step "ibv_devinfo"
stroma exec -- ibv_devinfo

step "ibv_rc_pingpong between cards 0 and 1"
timeout 120 stroma exec --card 0 -- ibv_rc_pingpong -g 1 -n 20 &
server=$!
# The client ends at once while nobody listens.
until timeout 120 stroma exec --card 1 -- ibv_rc_pingpong -g 1 -n 20 127.0.0.1; do
	kill -0 "$server"
	sleep 0.2
done
wait "$server"

step "a program in C that calls kernels"
# shellcheck disable=SC2046
cc "$stroma/examples/c/calls.c" $(pkg-config --cflags --libs stroma) -o calls
stroma exec -- ./calls

step "the example for CI"
sh ci/test.sh "$archive"
ls -l captures
test -s captures/card0.pcapng
test -s captures/card1.pcapng
