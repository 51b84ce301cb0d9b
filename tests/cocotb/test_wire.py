"""The emitted Verilog alone, with a peer made of scapy: a reliable connection's WRITE, out and in.

cocotbext-eth is the MAC between them. Nothing of this workspace's simulator, driver or models takes part, as in test_card.py.
"""

import random

import cocotb
from cocotb.triggers import ClockCycles, with_timeout
from host import NUMBERS, Host, code, pack
from peer import AETH, BTH, RETH, End, Peer, operation, payload

QUEUE_PAIR, QUEUE, DOMAIN, PAGE = 5, 3, 9, 1
RING, COMPLETIONS = 0x0010_0000_2000, 0x0020_0000_3000
# A path MTU in bytes and its code, which is libibverbs' too.
MTU, MTU_CODE = 256, 1
# The second packet each way wraps.
SEND_PSN, RECEIVE_PSN, PSNS = 0xFF_FFFF, 0xFF_FFFE, 1 << 24
SOURCE_PORT, HOP_LIMIT, TRAFFIC_CLASS, FLOW_LABEL = 0xC123, 61, 0x68, 0x6789A
# Virtual address of the memory, its page, its length. It does not begin where its page does.
BUFFER, BUFFER_PAGE, BUFFER_LENGTH = 0x7F00_0000_1123, 0x0030_0000_1000, 6000
BUFFER_AT = BUFFER_PAGE + BUFFER % 4096
# What the peer says of its own memory; both have all bytes different, to show their order.
REMOTE, REMOTE_KEY = 0x0123_4567_89AB_CDEF, 0xA1B2_C3D4

CARD = {4: "10.1.2.3", 6: "2001:db8::1:203"}
PEER = {4: "10.9.8.7", 6: "2001:db8::9:807"}
# IP version, and does the memory pause?
SURROUNDINGS = (("version", "stuttering"), [(4, False), (6, False), (4, True)])


class Connection:
    """A card that has a reliable connection with a peer, and memory that both may write."""

    def __init__(self, dut, version):
        self.host = Host(dut)
        self.card = End("02:5a:11:22:33:44", CARD[version], QUEUE_PAIR)
        self.own = End("02:a5:55:66:77:88", PEER[version], 0xABCDEF)
        self.peer = Peer(self.own, self.card)
        self.bytes = bytearray(random.Random(3).randbytes(BUFFER_LENGTH))

    async def stand(self, stuttering):
        """From reset to ready-to-send."""
        host, own = self.host, self.own
        await host.start()
        if stuttering:
            host.stutter(seed=1)
        host.memory.write(BUFFER_AT, bytes(self.bytes))
        await host.until("the link is down", 10, "identity.status", "link")
        await host.write("port.mac", self.card.mac_bits())
        await host.write("port.address_low", self.card.ip_bits() & (1 << 64) - 1)
        await host.write("port.address_high", self.card.ip_bits() >> 64)

        body = pack("CompletionQueue", base=COMPLETIONS, log=4, page=PAGE)
        await host.command("Create", "CompletionQueue", QUEUE, body=body)
        rights = NUMBERS["local_write"] | NUMBERS["remote_write"]
        self.key = await host.region(1, BUFFER, BUFFER_PAGE, BUFFER_LENGTH, rights)
        queues = {"send_cq": QUEUE, "receive_cq": QUEUE, "send_log": 4, "send_base": RING}
        body = pack("QueuePair", kind=code("QueuePairKind", "Reliable"), pd=DOMAIN, page=PAGE, **queues)
        await host.command("Create", "QueuePair", QUEUE_PAIR, body=body)

        await host.change(QUEUE_PAIR, "Init", ["RIGHTS", "P_KEY"], rights=NUMBERS["remote_write"], p_key=0xFFFF)
        await host.change(
            QUEUE_PAIR,
            "ReadyToReceive",
            ["ADDRESS", "PATH_MTU", "PEER", "RECEIVE_PSN", "READS_IN", "MIN_RNR"],
            peer_mac=own.mac_bits(),
            peer_ip=own.ip_bits(),
            source_port=SOURCE_PORT,
            hop_limit=HOP_LIMIT,
            traffic_class=TRAFFIC_CLASS,
            flow_label=FLOW_LABEL,
            path_mtu=MTU_CODE,
            peer=own.queue_pair,
            receive_psn=RECEIVE_PSN,
            reads_in=16,
            min_rnr=12,
        )
        await host.change(
            QUEUE_PAIR,
            "ReadyToSend",
            ["SEND_PSN", "TIMEOUT", "RETRY", "RNR_RETRY", "READS_OUT"],
            send_psn=SEND_PSN,
            timeout=14,
            retry=7,
            rnr_retry=7,
            reads_out=16,
        )
        return self

    async def post(self, index, body, length, **head):
        """Puts a WRITE into the ring and rings; the index behind it."""
        units = -(-(len(pack("WqeHead")) + len(body)) // NUMBERS["unit"])
        values = {"signaled": 1, "units": units, "length": length, "index": index, "remote": REMOTE, "key": REMOTE_KEY}
        request = pack("WqeHead", opcode=code("WorkOp", "Write"), **values, **head) + body
        self.host.memory.write(RING + index * NUMBERS["unit"], request.ljust(units * NUMBERS["unit"], b"\0"))
        await self.host.ring(PAGE, QUEUE_PAIR, index + units)
        return index + units

    async def receive(self):
        """The next frame of the card."""
        frame = await with_timeout(self.host.mac.tx.recv(), 40, "us")
        assert not self.host.spoiled(), "the card told the MAC to spoil a frame"
        packet = self.peer.read(bytes(frame))
        names = ("sport", "hlim", "tc", "fl") if self.peer.is_v6 else ("sport", "ttl", "tos")
        for name, expected in zip(names, (SOURCE_PORT, HOP_LIMIT, TRAFFIC_CLASS, FLOW_LABEL)):
            found = getattr(packet, name)
            assert found == expected, f"{name} is {found:#x}, not {expected:#x}: {packet!r}"
        return packet

    async def expect(self, name, psn, ackreq, va=None, length=None):
        """The next frame is this part of a WRITE; its payload."""
        packet = await self.receive()
        bth = packet[BTH]
        assert (bth.opcode, bth.psn, bth.ackreq) == (operation(name), psn % PSNS, ackreq), packet
        assert (RETH in packet) == (va is not None), packet
        if va is not None:
            reth = packet[RETH]
            assert (reth.va, reth.rkey, reth.dlen) == (va, REMOTE_KEY, length), packet
        return payload(packet)

    async def expect_completion(self, number, index, length):
        """The completion of a WRITE that succeeded."""
        entry = await self.host.completion(COMPLETIONS, number)
        found = {name: entry[name] for name in ["status", "opcode", "length", "queue_pair", "index", "receive"]}
        status, work = code("Status", "Success"), code("WorkOp", "Write")
        expected = {"status": status, "opcode": work, "length": length, "queue_pair": QUEUE_PAIR, "index": index}
        assert found == expected | {"receive": 0}

    async def send(self, frame):
        """Gives a frame to the card. It arrives within the time of `nothing_changes`."""
        await self.host.mac.rx.send(frame)

    async def nothing_changes(self, completions=0, cycles=1000):
        """For some time the card sends nothing, completes nothing and writes no byte."""
        sent = await self.host.read("counters.tx_frames")
        await ClockCycles(self.host.dut.clock, cycles)
        assert await self.host.read("counters.tx_frames") == sent and self.host.mac.tx.empty(), "a frame left"
        assert not self.host.entry(COMPLETIONS, completions)["phase"], "a completion was written"
        self.check_memory()

    def check_memory(self):
        """The memory is as it should be by now."""
        assert self.host.memory.read(BUFFER_AT, BUFFER_LENGTH) == self.bytes, "the memory differs"


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(SURROUNDINGS)
async def a_write_is_read_by_scapy_and_completes_when_scapy_acknowledges(dut, version, stuttering):
    """300 bytes of memory in two packets, then inline bytes in one; each completes with the answer to its last packet."""
    wire = await Connection(dut, version).stand(stuttering)
    at, length = 1203, 300
    piece = pack("Sge", address=BUFFER + at, local_key=wire.key, length=length)
    behind = await wire.post(0, piece, length, sge_count=1)
    data = await wire.expect("RDMA_WRITE_FIRST", SEND_PSN, ackreq=0, va=REMOTE, length=length)
    assert len(data) == MTU
    data += await wire.expect("RDMA_WRITE_LAST", SEND_PSN + 1, ackreq=1)
    assert data == wire.bytes[at : at + length], "the payload differs"
    # An answer to the first packet is none to the message.
    await wire.send(wire.peer.acknowledge(SEND_PSN, msn=0))
    await wire.nothing_changes()
    await wire.send(wire.peer.acknowledge((SEND_PSN + 1) % PSNS, msn=1))
    await wire.expect_completion(0, index=0, length=length)

    inline = random.Random(4).randbytes(77)
    await wire.post(behind, inline, len(inline), inline=1)
    data = await wire.expect("RDMA_WRITE_ONLY", SEND_PSN + 2, ackreq=1, va=REMOTE, length=len(inline))
    assert data == inline, "the payload differs"
    await wire.nothing_changes(completions=1)
    await wire.send(wire.peer.acknowledge((SEND_PSN + 2) % PSNS, msn=2))
    await wire.expect_completion(1, index=behind, length=len(inline))
    await wire.nothing_changes(completions=2)
    assert await wire.host.read("counters.retransmitted") == 0


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(SURROUNDINGS)
async def a_write_of_scapy_lands_and_is_acknowledged(dut, version, stuttering):
    """WRITEs of one packet arrive with their bytes; one whose ICRC has a wrong bit has never been there."""
    wire = await Connection(dut, version).stand(stuttering)
    chance = random.Random(5)
    # The last ends over the end of a page; a length without pad, with one and with three bytes of it.
    for number, (at, length) in enumerate([(11, 256), (700, 3), (3800, 201)]):
        psn, data = (RECEIVE_PSN + number) % PSNS, chance.randbytes(length)
        good = wire.peer.write_only(psn, BUFFER + at, wire.key, data)
        bad = bytearray(good)
        bad[-1 - number] ^= 1 << chance.randrange(8)
        await wire.send(bytes(bad))
        await wire.nothing_changes()
        assert await wire.host.read("rx_classes.frames", code("Class", "Icrc")) == number + 1

        await wire.send(good)
        packet = await wire.receive()
        found = (packet[BTH].opcode, packet[BTH].psn, packet[AETH].syndrome >> 5, packet[AETH].msn)
        assert found == (operation("ACKNOWLEDGE"), psn, 0, number + 1), packet
        wire.bytes[at : at + length] = data
        await wire.nothing_changes()
    assert await wire.host.read("rx_classes.frames", code("Class", "Roce")) == 3
    assert await wire.host.read("counters.dma_errors") == 0
