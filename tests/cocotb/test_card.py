"""The emitted Verilog alone, in a host made of cocotb and cocotbext-axi: what it says of itself, and what it does without a peer.

Nothing of this workspace's simulator, driver or models takes part, so a mistake that those share with the card shows here.
`cargo xtask cocotb` builds the simulation and runs this file and its neighbours.
"""

import random

import cocotb
from host import NUMBERS, REGISTERS, Host, code, pack


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
        await host.change(queue_pair, state)
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

    await host.ring(page, queue_pair, producer=1)
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
