//! What the tables show: a row a line, each cell with the figures whose values stand in it.

use crate::document::Origin;

/// A table of figures.
pub(super) struct Table {
    /// As a page's mark has it.
    pub(super) name: &'static str,
    /// Of all its figures: what every machine measures and what one machine measured are not mixed.
    pub(super) origin: Origin,
    /// Titles of the columns.
    pub(super) head: &'static [&'static str],
    pub(super) rows: &'static [Row],
}

/// A row of a table.
pub(super) struct Row {
    pub(super) label: &'static str,
    /// Names of the figures in each cell behind the label.
    pub(super) cells: &'static [&'static [&'static str]],
}

const fn row(label: &'static str, cells: &'static [&'static [&'static str]]) -> Row {
    Row { label, cells }
}

/// All tables.
pub(super) const TABLES: [Table; 5] = [
    Table { name: "rate", origin: Origin::Simulated, head: &["figure", "value"], rows: RATE },
    Table {
        name: "rc",
        origin: Origin::Simulated,
        head: &["operation", "one, doorbell to completion", "many at once"],
        rows: RC,
    },
    Table {
        name: "kernels",
        origin: Origin::Simulated,
        head: &[
            "work on far memory",
            "by a kernel",
            "by READs, WRITEs, atomics",
            "by a message to the far host",
        ],
        rows: KERNELS,
    },
    Table { name: "host", origin: Origin::Simulated, head: &["figure", "value"], rows: HOST },
    Table { name: "speed", origin: Origin::Machine, head: &["what is simulated", "speed"], rows: SPEED },
];

const RATE: &[Row] = &[
    row(
        "payload of WRITEs of 64 KiB, one queue pair; 32",
        &[&["write.goodput.64KiB.qp1", "write.goodput.64KiB.qp32"]],
    ),
    row(
        "payload of READs of 64 KiB, one queue pair; 32",
        &[&["read.goodput.64KiB.qp1", "read.goodput.64KiB.qp32"]],
    ),
    row("payload of READs of 8 KiB, 32 queue pairs", &[&["read.goodput.8KiB.qp32"]]),
    row(
        "WRITEs of 64 bytes, inline, one queue pair; 32; 1022",
        &[&["write.rate.64B.qp1", "write.rate.64B.qp32", "write.rate.64B.qp1024"]],
    ),
    row(
        "WRITEs of 64 bytes from memory, one queue pair; 32",
        &[&["write.rate.64B-gather.qp1", "write.rate.64B-gather.qp32"]],
    ),
    row("READs of 64 bytes, 32 queue pairs; 1022", &[&["read.rate.64B.qp32", "read.rate.64B.qp1024"]]),
    row("one WRITE of 64 bytes, pushed inline, to the far host's memory", &[&["write.latency.64B.qp1"]]),
    row("one READ of 64 bytes, pushed, to its completion in memory", &[&["read.latency.64B.qp1"]]),
    row("commit of a push of 64 inline bytes to the first beat of its frame", &[&["card.tx_latency.64B"]]),
    row("last beat of a frame with 64 bytes to the address of their write", &[&["card.rx_latency.64B"]]),
    row("payload of WRITEs of 64 KiB, cards for 10 GbE", &[&["10g.write.goodput"]]),
];

const RC: &[Row] = &[
    row("WRITE, 64 bytes", &[&["rc.write.latency.64B.qp1"], &["rc.write.rate.64B.qp1"]]),
    row(
        "WRITE with immediate data, 64 bytes",
        &[&["rc.write_imm.latency.64B.qp1"], &["rc.write_imm.rate.64B.qp1"]],
    ),
    row("READ, 64 bytes, 16 open", &[&["rc.read.latency.64B.qp1"], &["rc.read.rate.64B.qp1"]]),
    row("SEND, 64 bytes", &[&["rc.send.latency.64B.qp1"], &["rc.send.rate.64B.qp1"]]),
    row(
        "SEND with immediate data, 64 bytes",
        &[&["rc.send_imm.latency.64B.qp1"], &["rc.send_imm.rate.64B.qp1"]],
    ),
    row("FETCH_ADD, 16 open", &[&["rc.fetch_add.latency.8B.qp1"], &["rc.fetch_add.rate.8B.qp1"]]),
    row("CMP_SWAP, 16 open", &[&["rc.cmp_swap.latency.8B.qp1"], &["rc.cmp_swap.rate.8B.qp1"]]),
    row("FETCH_ADD on one word, eight queue pairs together", &[&[], &["rc.fetch_add.rate.8B.hot.qp8"]]),
    row(
        "SEND of 64 bytes to one shared receive queue, eight queue pairs together",
        &[&[], &["rc.send.rate.64B.srq.qp8"]],
    ),
];

const KERNELS: &[Row] = &[
    row(
        "value behind a list of 1; 8; 32",
        &[
            &["traversal.kernel.1", "traversal.kernel.8", "traversal.kernel.32"],
            &["traversal.reads.1", "traversal.reads.8", "traversal.reads.32"],
            &["traversal.rpc.1", "traversal.rpc.8", "traversal.rpc.32"],
        ],
    ),
    row("GET of 64 bytes from a hash table", &[&["get.kernel.64B"], &["get.reads.64B"], &["get.rpc.64B"]]),
    row(
        "object of 64 bytes; 4 KiB under a CRC",
        &[
            &["consistency.kernel.64B.0", "consistency.kernel.4KiB.0"],
            &["consistency.reads.64B.0", "consistency.reads.4KiB.0"],
            &[],
        ],
    ),
    row(
        "the same, one of four torn at the first look",
        &[
            &["consistency.kernel.64B.1in4", "consistency.kernel.4KiB.1in4"],
            &["consistency.reads.64B.1in4", "consistency.reads.4KiB.1in4"],
            &[],
        ],
    ),
    row("a further hop of a walk, above the read of the host", &[&["traversal.hop_overhead"], &[], &[]]),
    row(
        "four messages of 1 MiB in a row, shuffled into 16; 256; 1024 buffers: rate over that of WRITEs",
        &[&["shuffle.ratio.1MiB.p16", "shuffle.ratio.1MiB.p256", "shuffle.ratio.1MiB.p1024"], &[], &[]],
    ),
    row(
        "the same, one message alone",
        &[
            &[
                "shuffle.ratio.1MiB.p16.alone",
                "shuffle.ratio.1MiB.p256.alone",
                "shuffle.ratio.1MiB.p1024.alone",
            ],
            &[],
            &[],
        ],
    ),
    row(
        "messages of 64 KiB, distinct items of 4; 8 bytes counted: rate over that of WRITEs",
        &[&["hyperloglog.ratio.64KiB.item4", "hyperloglog.ratio.64KiB"], &[], &[]],
    ),
    row(
        "key-value store, 5 of 100 are PUTs",
        &[&["kv.read_heavy.kernels"], &["kv.read_heavy.reads"], &["kv.read_heavy.messages"]],
    ),
    row(
        "key-value store, 50 of 100 are PUTs",
        &[&["kv.write_heavy.kernels"], &["kv.write_heavy.reads"], &["kv.write_heavy.messages"]],
    ),
];

const HOST: &[Row] = &[
    row("payload of copies of 64 KiB, one queue pair", &[&["copy.goodput.64KiB.qp1"]]),
    row(
        "payload of copies of 4 KiB from random places of 64 MiB, pages of 4 KiB; of 2 MiB",
        &[&["tlb.goodput.4KiB.qp1", "tlb.goodput.2MiB.qp1"]],
    ),
    row("NOPs, one queue pair; 32", &[&["nop.rate.64B.qp1", "nop.rate.64B.qp32"]]),
    row("doorbell at the pins to the fetch of its WQE", &[&["card.doorbell_to_dma"]]),
    row("last data of a copy to its completion", &[&["card.data_to_cqe"]]),
    row("commit of a push with inline data to the first write", &[&["card.push_to_dma"]]),
];

const SPEED: &[Row] = &[
    row("two cards on a cable, idle, every cycle evaluated", &[&["sim.speed.idle"]]),
    row("the same, a WRITE of 2 MiB under way", &[&["sim.speed.loaded"]]),
    row("that WRITE, from its post to its completion", &[&["write.wall.2MiB"]]),
    row("two idle cards, quiet time skipped, over every cycle evaluated", &[&["sim.quiet"]]),
    row("the same with a WRITE of 64 bytes every 20 us", &[&["sim.sparse"]]),
    row("two idle cards, every cycle evaluated, over the same with all streams checked", &[&["sim.steady"]]),
    row(
        "one card, a NOP every 1000 cycles, every cycle evaluated; quiet time skipped",
        &[&["sim.speed.ticking", "sim.speed.skipping"]],
    ),
];
