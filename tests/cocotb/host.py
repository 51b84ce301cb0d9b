"""What stands around the card: a host made of cocotbext-axi, an Ethernet MAC of cocotbext-eth.

In the folder STROMA_CARD are card.json (registers, descriptors and codes, from `stroma-top describe`) and the port
manifest; no number of the interface stands here.
"""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.triggers import ClockCycles, Timer
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam
from cocotbext.eth import EthMac
from cocotbext.eth.eth_mac import AxiStreamBus, AxiStreamMonitor

FOLDER = Path(os.environ["STROMA_CARD"])
CARD = json.loads((FOLDER / "card.json").read_text())
REGISTERS, LAYOUTS, NUMBERS = CARD["registers"], CARD["layouts"], CARD["numbers"]
PORTS = [line.split() for line in (FOLDER / f"{CARD['top']}.ports").read_text().splitlines()]
CLOCK_HZ = REGISTERS["capabilities.clock_khz"]["reads"] * 1000
DATA_BITS = REGISTERS["capabilities.data_bits"]["reads"]
# Pins that a model of a bus drives; the other inputs are tied to 0.
DRIVEN = ("s_axil_", "m_axi_", "rx_t", "tx_t")


def code(kind, name):
    """The number of a variant."""
    return CARD["codes"][kind][name]


def compose(places, values):
    """Values at their places, as one number."""
    number = 0
    for name, value in values.items():
        low, width = places[name]
        assert 0 <= value < 1 << width, f"{name} has {width} bits, {value:#x} does not fit"
        number |= value << low
    return number


def pack(layout, **values):
    """A descriptor as bytes; what is not named is zero."""
    return compose(LAYOUTS[layout]["fields"], values).to_bytes(LAYOUTS[layout]["bytes"], "little")


def unpack(layout, data):
    """The fields of a descriptor."""
    number = int.from_bytes(data[: LAYOUTS[layout]["bytes"]], "little")
    return {name: number >> low & ((1 << width) - 1) for name, (low, width) in LAYOUTS[layout]["fields"].items()}


class Host:
    """Registers on one side of the card, memory on the other, and a link to a MAC."""

    def __init__(self, dut):
        self.dut = dut
        for direction, name, *_ in PORTS:
            if direction == "in" and not name.startswith(DRIVEN):
                dut[name].value = 0
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clock, dut.reset)
        self.memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clock, dut.reset, size=1 << 48)
        # It takes a beat in each cycle, and fails when the card has none in the middle of a frame.
        tx, rx = AxiStreamBus.from_prefix(dut, "tx"), AxiStreamBus.from_prefix(dut, "rx")
        sides = {"tx_clk": dut.clock, "tx_rst": dut.reset, "rx_clk": dut.clock, "rx_rst": dut.reset}
        self.mac = EthMac(tx_bus=tx, rx_bus=rx, speed=CLOCK_HZ * DATA_BITS, **sides)
        self.sent = AxiStreamMonitor(tx, dut.clock, dut.reset)

    def spoiled(self):
        """Has the card marked a beat sent since the last call as bad? The MAC's model does not look at that."""
        beats = [self.sent.recv_nowait() for _ in range(self.sent.count())]
        return any(int(beat.tuser) for beat in beats)

    def stutter(self, seed):
        """Makes the memory pause on all five channels, half of the time."""
        chance = random.Random(seed)
        write, read = self.memory.write_if, self.memory.read_if
        for channel in [write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel]:
            channel.set_pause_generator(iter(lambda: chance.random() < 0.5, None))

    async def tick(self):
        """Both clocks, edge by edge: one after the other, they would be two edges to the card."""
        half = 10**12 // CLOCK_HZ // 2
        while True:
            for level in (1, 0):
                self.dut.clock.value = self.dut.kernel_clock.value = level
                await Timer(half, "ps")

    async def start(self):
        """Resets the card and waits until it takes commands."""
        cocotb.start_soon(self.tick())
        self.dut.reset.value = 1
        await ClockCycles(self.dut.clock, 4)
        self.dut.reset.value = 0
        self.dut.link_up.value = 1
        await ClockCycles(self.dut.clock, 2)
        await self.until("the card is not ready", 2000, "identity.status", "ready")

    async def read(self, name, index=0):
        """What a register reads."""
        register = REGISTERS[name]
        answer = await self.registers.read(register["address"] + index * register["stride"], register["bytes"])
        return int.from_bytes(answer.data, "little")

    async def write(self, name, value):
        """Stores to a register."""
        register = REGISTERS[name]
        await self.registers.write(register["address"], value.to_bytes(register["bytes"], "little"))

    async def until(self, otherwise, tries, name, part):
        """Reads a register until a flag of it is set."""
        low, _ = REGISTERS[name]["parts"][part]
        for _ in range(tries):
            if await self.read(name) >> low & 1:
                return
        raise AssertionError(f"{otherwise}: {name}.{part} is still 0 after {tries} reads")

    async def command(self, verb, kind, number, attributes=0, body=b""):
        """Runs a command of the mailbox, which must succeed."""
        head = pack(
            "Command",
            verb=code("Verb", verb),
            object_kind=code("ObjectKind", kind),
            modifier=0xC0C0,
            object=number,
            attributes=attributes,
        )
        await self.registers.write(REGISTERS["mailbox.input"]["address"], head + body)
        await self.write("mailbox.go", 1)
        await self.until("the mailbox does not answer", 200, "mailbox.state", "done")
        answer = await self.registers.read(REGISTERS["mailbox.output"]["address"], LAYOUTS["Reply"]["bytes"])
        reply = unpack("Reply", answer.data)
        assert reply["status"] == code("CommandStatus", "Done"), f"{verb} {kind} {number}: {reply}"
        assert (reply["token"], reply["object"]) == (0xC0C0, number), reply

    async def change(self, queue_pair, state, attributes=(), **values):
        """Takes a queue pair to another state, with the attributes that the step needs."""
        mask = sum(code("Attribute", name) for name in ["STATE", *attributes])
        body = pack("QueuePair", state=code("QueuePairState", state), **values)
        await self.command("Modify", "QueuePair", queue_pair, mask, body)

    async def region(self, number, virtual, page, length, rights):
        """Registers memory whose pages follow each other; its key."""
        body = pack("Region", base=virtual, length=length, key=0x42, direct=1, list=page, pd=9, rights=rights)
        await self.command("Create", "Region", number, body=body)
        return number << 8 | 0x42

    async def ring(self, page, queue_pair, producer):
        """The doorbell: requests below `producer` may be fetched."""
        doorbell = REGISTERS["doorbells.send"]
        value = compose(doorbell["parts"], {"queue_pair": queue_pair, "producer": producer})
        address = doorbell["address"] + page * NUMBERS["doorbell_page"]
        await self.registers.write(address, value.to_bytes(doorbell["bytes"], "little"))

    def entry(self, ring, index=0):
        """An entry of a completion queue in its first lap."""
        size = LAYOUTS["Cqe"]["bytes"]
        return unpack("Cqe", self.memory.read(ring + index * size, size))

    async def completion(self, ring, index=0, cycles=20_000):
        """An entry of a completion queue, once its phase bit says that it is there."""
        for _ in range(cycles // 10):
            await ClockCycles(self.dut.clock, 10)
            entry = self.entry(ring, index)
            if entry["phase"]:
                return entry
        raise AssertionError(f"no completion {index} in {cycles} cycles")
