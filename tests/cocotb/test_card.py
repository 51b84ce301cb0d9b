"""The emitted Verilog alone, driven by a host made of cocotb and cocotbext-axi.

Nothing of this workspace's simulator, driver or models takes part, so a mistake that those share with the card shows here.
`cargo xtask cocotb` builds the simulation and runs this file. In the folder STROMA_CARD it finds card.json (registers,
descriptors and codes, from `stroma-top describe`) and the port manifest; no number of the interface stands here.
"""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

FOLDER = Path(os.environ["STROMA_CARD"])
CARD = json.loads((FOLDER / "card.json").read_text())
REGISTERS, LAYOUTS, NUMBERS = CARD["registers"], CARD["layouts"], CARD["numbers"]
PORTS = [line.split() for line in (FOLDER / f"{CARD['top']}.ports").read_text().splitlines()]


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
    """Registers on one side of the card, memory on the other."""

    def __init__(self, dut):
        self.dut = dut
        for direction, name, *_ in PORTS:
            if direction == "in" and not name.startswith(("s_axil_", "m_axi_")):
                # A name with a `$` is an escaped identifier to the simulator.
                dut[f"\\{name} " if "$" in name else name].value = 0
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clock, dut.reset)
        self.memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clock, dut.reset, size=1 << 48)

    def stutter(self, seed):
        """Makes the memory pause on all five channels, half of the time."""
        chance = random.Random(seed)
        write, read = self.memory.write_if, self.memory.read_if
        for channel in [write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel]:
            channel.set_pause_generator(iter(lambda: chance.random() < 0.5, None))

    async def start(self):
        """Resets the card and waits until it takes commands."""
        Clock(self.dut.clock, 4, "ns").start()
        self.dut.reset.value = 1
        await ClockCycles(self.dut.clock, 4)
        self.dut.reset.value = 0
        await ClockCycles(self.dut.clock, 2)
        await self.until("the card is not ready", 2000, "identity.status", "ready")

    async def read(self, name):
        """What a register reads."""
        register = REGISTERS[name]
        answer = await self.registers.read(register["address"], register["bytes"])
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

    async def region(self, number, virtual, page, length, rights):
        """Registers memory whose pages follow each other; its key."""
        body = pack("Region", base=virtual, length=length, key=0x42, direct=1, list=page, pd=9, rights=rights)
        await self.command("Create", "Region", number, body=body)
        return number << 8 | 0x42

    async def completion(self, ring, cycles=20_000):
        """The first entry of a completion queue, once its phase bit says that it is there."""
        for _ in range(cycles // 10):
            await ClockCycles(self.dut.clock, 10)
            entry = unpack("Cqe", self.memory.read(ring, LAYOUTS["Cqe"]["bytes"]))
            if entry["phase"]:
                return entry
        raise AssertionError(f"no completion in {cycles} cycles")


# A card that does not answer a load would let the test wait for ever.
@cocotb.test(timeout_time=400, timeout_unit="us")
async def the_card_says_who_it_is(dut):
    """Every register whose value the build decides reads that value."""
    host = Host(dut)
    await host.start()
    fixed = {name: register["reads"] for name, register in REGISTERS.items() if register["reads"] is not None}
    assert {"identity.magic", "identity.abi", "capabilities.queue_pairs", "capabilities.data_bits"} <= fixed.keys()
    for name, expected in fixed.items():
        found = await host.read(name)
        assert found == expected, f"{name} reads {found:#x}, not {expected:#x}"
    first, second = await host.read("identity.time"), await host.read("identity.time")
    assert first < second, "time stands still"


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(stuttering=[False, True])
async def a_request_is_fetched_carried_out_and_completed(dut, stuttering):
    """A copy of two pieces to one place: ring, doorbell, DMA and completion, on a memory that pauses or does not."""
    host = Host(dut)
    await host.start()
    if stuttering:
        host.stutter(seed=1)
    chance = random.Random(2)
    queue_pair, queue, domain, page = 5, 3, 9, 1
    ring, completions = 0x0010_0000_2000, 0x0020_0000_3000
    # Virtual addresses of the buffers, the pages they live on, their bytes. Neither begins where its page does.
    source, source_page, source_bytes = 0x7F00_0000_1123, 0x0030_0000_1000, chance.randbytes(6000)
    target, target_page, target_bytes = 0x7F00_1000_2FED, 0x0040_0000_5000, chance.randbytes(6000)
    source_at, target_at = source_page + source % 4096, target_page + target % 4096
    host.memory.write(source_at, source_bytes)
    host.memory.write(target_at, target_bytes)

    body = pack("CompletionQueue", base=completions, log=4, page=page)
    await host.command("Create", "CompletionQueue", queue, body=body)
    body = pack(
        "QueuePair",
        kind=code("QueuePairKind", "Local"),
        pd=domain,
        send_cq=queue,
        receive_cq=queue,
        send_log=4,
        page=page,
        send_base=ring,
    )
    await host.command("Create", "QueuePair", queue_pair, body=body)
    for state in ["Init", "ReadyToReceive", "ReadyToSend"]:
        body = pack("QueuePair", state=code("QueuePairState", state))
        await host.command("Modify", "QueuePair", queue_pair, code("Attribute", "STATE"), body)
    source_key = await host.region(1, source, source_page, len(source_bytes), 0)
    target_key = await host.region(2, target, target_page, len(target_bytes), NUMBERS["local_write"])

    # Out of order, of odd lengths, and over the end of a page.
    pieces = [(3001, 2222), (17, 1003)]
    copied = b"".join(source_bytes[at : at + length] for at, length in pieces)
    # First and last beat are partial at both widths, so the strobes of either end are seen.
    to = 1231
    request = pack(
        "WqeHead",
        opcode=code("WorkOp", "Gather"),
        signaled=1,
        units=1,
        sge_count=len(pieces),
        length=len(copied),
        index=0,
        remote=target + to,
        key=target_key,
    )
    for at, length in pieces:
        request += pack("Sge", address=source + at, local_key=source_key, length=length)
    assert len(request) == NUMBERS["unit"]
    host.memory.write(ring, request)

    doorbell = REGISTERS["doorbells.send"]
    value = compose(doorbell["parts"], {"queue_pair": queue_pair, "producer": 1})
    address = doorbell["address"] + page * NUMBERS["doorbell_page"]
    await host.registers.write(address, value.to_bytes(doorbell["bytes"], "little"))
    entry = await host.completion(completions)

    found = {name: entry[name] for name in ["status", "opcode", "length", "queue_pair", "index", "receive"]}
    assert found == {
        "status": code("Status", "Success"),
        "opcode": code("WorkOp", "Gather"),
        "length": len(copied),
        "queue_pair": queue_pair,
        "index": 0,
        "receive": 0,
    }
    assert 0 < entry["timestamp"] < await host.read("identity.time"), entry
    # A completion is written behind the data it speaks of, so all of it is there now.
    expected = target_bytes[:to] + copied + target_bytes[to + len(copied) :]
    assert host.memory.read(target_at, len(expected)) == expected, "the target differs"
    assert host.memory.read(source_at, len(source_bytes)) == source_bytes, "the source has changed"
    assert await host.read("counters.dma_errors") == 0
