"""The other end of a connection: frames read and written by scapy, which also computes the ICRC."""

import ipaddress
from dataclasses import dataclass

from scapy.contrib.roce import AETH, BTH, opcode
from scapy.fields import IntField, XIntField, XLongField
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw, bind_layers

ICRC_BYTES = 4


class RETH(Packet):
    """Where a WRITE goes (IBTA 9.3.3), which scapy has not."""

    name = "RETH"
    fields_desc = [XLongField("va", 0), XIntField("rkey", 0), IntField("dlen", 0)]


def operation(name):
    """The op-code of a reliable connection's packet."""
    return opcode("RC", name)[0]


for with_address in ["RDMA_WRITE_FIRST", "RDMA_WRITE_ONLY"]:
    bind_layers(BTH, RETH, opcode=operation(with_address))


@dataclass
class End:
    """One end of a connection."""

    mac: str
    ip: str
    queue_pair: int

    def mac_bits(self):
        """The MAC address as the card keeps it: first byte lowest."""
        return int.from_bytes(bytes.fromhex(self.mac.replace(":", "")), "little")

    def ip_bits(self):
        """The IP address as the card keeps it: IPv4 mapped into IPv6, first byte lowest."""
        address = ipaddress.ip_address(self.ip)
        mapped = address.packed if address.version == 6 else bytes(10) + b"\xff\xff" + address.packed
        return int.from_bytes(mapped, "little")


class Peer:
    """Speaks for `own` with the queue pair `card`."""

    def __init__(self, own, card):
        self.own, self.card = own, card
        self.is_v6 = ipaddress.ip_address(own.ip).version == 6

    def build(self, name, psn, behind, **bth):
        """A frame to the card. Lengths, checksum and ICRC are scapy's."""
        network = IPv6 if self.is_v6 else IP
        packet = Ether(src=self.own.mac, dst=self.card.mac) / network(src=self.own.ip, dst=self.card.ip)
        # RoCE sends no UDP checksum.
        packet /= UDP(sport=0xD00D, dport=4791, chksum=0)
        packet /= BTH(opcode=operation(name), dqpn=self.card.queue_pair, psn=psn, **bth) / behind
        return bytes(packet)

    def acknowledge(self, psn, msn):
        """The answer to all requests up to a PSN; it sets no limit to what may follow."""
        return self.build("ACKNOWLEDGE", psn, AETH(syndrome=0x1F, msn=msn))

    def write_only(self, psn, va, rkey, data):
        """A WRITE of one packet that asks for an answer."""
        pad = -len(data) % 4
        behind = RETH(va=va, rkey=rkey, dlen=len(data)) / Raw(data + bytes(pad))
        return self.build("RDMA_WRITE_ONLY", psn, behind, ackreq=1, padcount=pad)

    def read(self, frame):
        """A frame of the card, as scapy dissects it. It must be the one that scapy would have built from those fields."""
        packet = Ether(frame)
        assert BTH in packet, f"no RoCE: {packet!r}"
        bth = packet[BTH]
        assert frame[-ICRC_BYTES:] == bth.compute_icrc(b""), f"wrong ICRC: {packet!r}"
        again = packet.copy()
        computed = [(UDP, "len"), (BTH, "icrc")]
        computed += [(IPv6, "plen")] if self.is_v6 else [(IP, "len"), (IP, "chksum")]
        for layer, field in computed:
            setattr(again[layer], field, None)
        assert bytes(again) == frame, f"scapy builds {again!r}, not {packet!r}"

        network = packet[IPv6 if self.is_v6 else IP]
        found = (packet.src, packet.dst, network.src, network.dst, packet[UDP].dport, packet[UDP].chksum)
        assert found == (self.card.mac, self.own.mac, self.card.ip, self.own.ip, 4791, 0), packet
        found = (bth.dqpn, bth.pkey, bth.version, bth.fecn, bth.becn, bth.resv6, bth.resv7)
        assert found == (self.own.queue_pair, 0xFFFF, 0, 0, 0, 0, 0), packet
        return packet


def payload(packet):
    """The payload behind the last header, without its pad."""
    data = bytes(packet[Raw].load) if Raw in packet else b""
    pad = packet[BTH].padcount
    assert data[len(data) - pad :] == bytes(pad), f"the pad is not zero: {packet!r}"
    return data[: len(data) - pad]
