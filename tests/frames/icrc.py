"""The invariant CRC of every captured frame, computed once more: IBTA Annex A17 in a few lines of the standard library.

No line of this workspace takes part, so a mistake that card, models and parser share shows here.
`cargo xtask frames` runs this file on the captures of the simulated cards.
"""

import argparse
import struct
import sys
import zlib
from pathlib import Path

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
BYTE_ORDER = 0x1A2B3C4D
ETHERNET = 1
TAG, IPV4, IPV6 = 0x8100, 0x0800, 0x86DD
UDP, ROCE = 17, 4791
ICRC_BYTES = 4


class Wrong(Exception):
    """A capture or a frame is not what it should be."""


def frames(path):
    """The frames of a pcapng file."""
    data, at, order = path.read_bytes(), 0, "<"
    while at < len(data):
        if data[at : at + 4] == struct.pack("<I", SECTION):
            order = "<" if data[at + 8 : at + 12] == struct.pack("<I", BYTE_ORDER) else ">"
        kind, length = struct.unpack_from(order + "II", data, at)
        body = data[at + 8 : at + length - 4]
        if length < 12 or at + length > len(data):
            raise Wrong(f"byte {at}: a block of {length} bytes is cut short")
        if kind == INTERFACE and struct.unpack_from(order + "H", body)[0] != ETHERNET:
            raise Wrong(f"byte {at}: the interface is no Ethernet")
        if kind == PACKET:
            captured, original = struct.unpack_from(order + "II", body, 12)
            if captured != original:
                raise Wrong(f"byte {at}: {captured} of a frame's {original} bytes were captured")
            yield body[20 : 20 + captured]
        at += length


def udp_at(frame):
    """Where the IP packet begins, where its UDP datagram begins, and where it ends."""
    ip_at, (ethertype,) = 14, struct.unpack_from(">H", frame, 12)
    if ethertype == TAG:
        ip_at, (ethertype,) = 18, struct.unpack_from(">H", frame, 16)
    if ethertype == IPV4 and frame[ip_at] == 0x45:
        protocol, header, (length,) = frame[ip_at + 9], 20, struct.unpack_from(">H", frame, ip_at + 2)
    elif ethertype == IPV6 and frame[ip_at] >> 4 == 6:
        protocol, header, (length,) = frame[ip_at + 6], 40, struct.unpack_from(">H", frame, ip_at + 4)
        length += header
    else:
        raise Wrong(f"Ethernet type {ethertype:#06x} with a header that begins {frame[ip_at]:#04x}")
    port, datagram = struct.unpack_from(">HH", frame, ip_at + header + 2)
    if (protocol, port, datagram) != (UDP, ROCE, length - header):
        raise Wrong(f"protocol {protocol}, port {port}, {datagram} of {length - header} bytes: no RoCE v2")
    if ip_at + length > len(frame):
        raise Wrong(f"an IP packet of {length} bytes does not fit a frame of {len(frame)}")
    return ip_at, ip_at + header, ip_at + length


def icrcs(frame):
    """The ICRC that a frame carries, and the one that it should."""
    ip, udp, end = udp_at(frame)
    covered = bytearray(frame[: end - ICRC_BYTES])
    if covered[ip] >> 4 == 4:
        masked = [ip + 1, ip + 8, ip + 10, ip + 11]  # type of service, time to live, header checksum
    else:
        masked = [ip + 1, ip + 2, ip + 3, ip + 7]  # traffic class and flow label, hop limit
        covered[ip] |= 0x0F
    for at in [*masked, udp + 6, udp + 7, udp + 8 + 4]:  # UDP checksum; FECN, BECN and what stands beside them
        covered[at] = 0xFF
    wanted = zlib.crc32(b"\xff" * 8 + covered[ip:])
    return int.from_bytes(frame[end - ICRC_BYTES : end], "little"), wanted


def flipped(frame, number):
    """A copy with one bit flipped, which the number chooses among those that the ICRC covers in BTH and payload."""
    _, udp, end = udp_at(frame)
    places = [at for at in range(udp + 8, end) if at != udp + 8 + 4]
    damaged = bytearray(frame)
    damaged[places[number * 31 % len(places)]] ^= 1 << number % 8
    return bytes(damaged)


def check(path, flips):
    """Checks a file, and returns how many frames it holds."""
    number = 0
    for number, frame in enumerate(frames(path), 1):
        try:
            carried, wanted = icrcs(frame)
            if carried != wanted:
                raise Wrong(f"the ICRC is {carried:#010x} and should be {wanted:#010x}")
            if flips and len(set(icrcs(flipped(frame, number)))) == 1:
                raise Wrong("one bit was flipped, and the ICRC is still right")
        except (Wrong, IndexError, struct.error) as error:
            raise Wrong(f"frame {number}: {error}\n{frame.hex()}") from error
    if number == 0:
        raise Wrong("there is no frame in it")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flips", action="store_true", help="also flip a bit of each frame, which must be noticed")
    parser.add_argument("captures", nargs="+", type=Path, metavar="FILE", help="a pcapng file")
    arguments = parser.parse_args()
    for path in arguments.captures:
        try:
            count = check(path, arguments.flips)
        except Wrong as error:
            sys.exit(f"{path}: {error}")
        print(f"    {path.name}: {count} frames, every ICRC right" + ", every flipped bit noticed" * arguments.flips)


if __name__ == "__main__":
    main()
