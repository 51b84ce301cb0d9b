#!/bin/sh
# What programs that find each other over TCP need beside themselves, in a guest of busybox and on the machine around it.
#
#   peer.sh serve PORT COMMAND ...   starts it in the background, and ends when it listens
#   peer.sh served                   ends as that did
#   peer.sh call COMMAND ...         ends as it does
#   peer.sh listening PORT           ends when somebody listens
#   peer.sh show                     prints what the last COMMAND has printed
status=/tmp/peer.status
output=/tmp/peer.output

# The kernel's table of sockets has ports in hexadecimal digits; 0A is one that listens.
listening() {
    port=$(printf '%04X' "$1")
    for _ in $(seq 300); do
        grep -q ":$port [0-9A-F]*:0000 0A" /proc/net/tcp /proc/net/tcp6 && return 0
        [ -e "$status" ] && return 1
        sleep 0.1
    done
    return 1
}

order=$1
shift
case $order in
serve)
    port=$1
    shift
    rm -f "$status"
    { "$@" -p "$port" > "$output" 2>&1; echo $? > "$status"; } &
    listening "$port"
    ;;
served)
    for _ in $(seq 600); do
        [ -e "$status" ] && exit "$(cat "$status")"
        sleep 0.1
    done
    exit 1
    ;;
call) "$@" > "$output" 2>&1 ;;
listening) listening "$1" ;;
show) cat "$output" ;;
*) exit 2 ;;
esac
