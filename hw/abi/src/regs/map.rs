//! THE register map. RTL, driver and `docs/registers.md` read this.

use super::{
    block::{VERSION_PARTS, block, head, part},
    reg::{
        Access::{ReadOnly, ReadWrite, WriteOneToClear, WriteOnly},
        Bar, Block, Reg,
    },
};
use crate::{
    desc::{mailbox::MAILBOX_LEN, wqe::UNIT},
    wire::Class,
};

/// What [`identity::MAGIC`] reads: the bytes "STRM".
pub const MAGIC: u32 = u32::from_le_bytes(*b"STRM");
/// Version of wire, descriptors and registers together: 0.1.
pub const ABI_VERSION: u32 = 0x0000_0001;
/// Kernels the catalogue has room for.
pub const CATALOGUE_MAX: usize = 16;
/// Cycles after which an invocation of a kernel ends, unless the driver says otherwise.
pub const KERNEL_LIMIT: u32 = 1 << 24;
/// Cycles from the first packet of a request to its last after which it is given up, unless the driver says otherwise.
pub const KERNEL_PATIENCE: u32 = 1 << 26;
/// Microseconds that lie at least between two congestion notifications of a queue pair, unless the driver says otherwise.
pub const CNP_INTERVAL_US: u16 = 4;
/// Interrupt vectors.
pub const VECTORS: usize = 32;
/// Addresses of the network port.
pub const PORT_ADDRESSES: usize = 16;
/// Groups of stations that the network port may belong to.
pub const PORT_GROUPS: usize = 16;
/// log2 of the fewest entries of the event queue.
pub const EVENT_LOG_MIN: usize = 4;
/// log2 of the most entries of the event queue.
pub const EVENT_LOG_MAX: usize = 16;
/// Where BAR2 begins in the address space of the card's AXI4-Lite port; BAR0 begins at 0.
pub const BAR2_AT: usize = 1 << 24;
/// Bytes of a doorbell page.
pub const DOORBELL_PAGE: usize = 4096;
/// Push windows of a page.
pub const PUSH_WINDOWS: usize = 4;
/// Bytes of a push window.
pub const PUSH_WINDOW: usize = 4 * UNIT;

/// Control and state of the whole card.
pub const BAR0: Bar = Bar {
    name: "BAR0",
    len: 0x10000,
    blocks: &[
        identity::BLOCK,
        capabilities::BLOCK,
        rx_classes::BLOCK,
        counters::BLOCK,
        catalogue::BLOCK,
        events::BLOCK,
        moderation::BLOCK,
        mailbox::BLOCK,
        port::BLOCK,
        kernels::BLOCK,
        groups::BLOCK,
    ],
    prose: "Control and state of the whole card, for the driver alone. The blocks form a chain: a driver begins at \
            offset 0, takes the blocks whose type and major version it knows, and skips the others. Accesses are of 32 \
            or 64 bits. A 64-bit register may be read in two halves, low half first: a read of the low half of eight \
            aligned bytes holds the high half as it was, for the next read if that is of the high half. Stores to what \
            is no register, or is read only, change nothing; reading there gives zero.",
};

/// Doorbells of one process.
pub const BAR2: Bar = Bar {
    name: "BAR2",
    len: DOORBELL_PAGE,
    blocks: &[doorbells::BLOCK],
    prose: "One page of 4 KiB for each protection context, so that a page can be mapped into one process and no \
            other. A queue belongs to one page; a store through another changes nothing but the counter \
            `wrong_page`. Stores never wait for the datapath. Reads give zero.",
};

/// Where the registers of a board begin in BAR0.
pub const BOARD_AT: usize = 0xf000;

/// What is around the card.
pub const BOARD: Bar = Bar {
    name: "Board, at 0xf000 of BAR0",
    len: 0x1000,
    blocks: &[board::BLOCK],
    prose: "What the shell of a board adds, outside the chain: the card knows nothing of it. Without a board all of it reads zero, so \
            `name` tells whether there is one. Offsets are from its begin. `control.reset` does not change it.",
};

const _: () = assert!(BAR0.is_sound() && BAR2.is_sound() && BOARD.is_sound());
const _: () =
    assert!(BOARD_AT + BOARD.len == BAR0.len && groups::BLOCK.offset + groups::BLOCK.len <= BOARD_AT);

block! {
    /// Who is there, and is it ready?
    identity at 0x0000, 0x40, kind 0x01 version 0x0001_0000 next capabilities::BLOCK.offset;
    MAGIC = Reg::word("magic", 0x0c, ReadOnly,
        "The bytes \"STRM\": this is a Stroma card.").resets_to(super::MAGIC as u64);
    ABI = Reg::word("abi", 0x10, ReadOnly, "Version of packets, descriptors and registers together.")
        .resets_to(ABI_VERSION as u64).with(VERSION_PARTS);
    STATUS = Reg::word("status", 0x14, ReadOnly, "State of the card.").varies().with(&[
        part("ready", 0, 1, "tables are scrubbed; commands and doorbells are taken"),
        part("link", 1, 1, "the network port is up"),
    ]);
    RTL_HASH = Reg::long("rtl_hash", 0x18, ReadOnly,
        "First 64 bits of the hash of the RTL text the card was built from.").varies();
    CONTROL = Reg::word("control", 0x20, WriteOnly, "Acts on the whole card.").with(&[
        part("reset", 0, 1, "storing 1 drops all queue pairs, keys and rings, and clears `ready` until that is done"),
    ]);
    TIME = Reg::long("time", 0x28, ReadOnly, "Core clock cycles since power-up: the clock of CQE time stamps.");
}

block! {
    /// How large the card is. Parameters of the build decide all of them.
    capabilities at 0x0100, 0x80, kind 0x02 version 0x0001_0000 next rx_classes::BLOCK.offset;
    DATA_BITS = Reg::word("data_bits", 0x0c, ReadOnly, "Width of the datapath: 64 or 512.").varies();
    CLOCK_KHZ = Reg::word("clock_khz", 0x10, ReadOnly, "Core clock.").varies();
    QUEUE_PAIRS = Reg::word("queue_pairs", 0x14, ReadOnly, "Queue pairs.").varies();
    COMPLETION_QUEUES = Reg::word("completion_queues", 0x18, ReadOnly, "Completion queues.").varies();
    SHARED_RECEIVE_QUEUES = Reg::word("shared_receive_queues", 0x1c, ReadOnly,
        "Shared receive queues.").varies();
    MEMORY_REGIONS = Reg::word("memory_regions", 0x20, ReadOnly,
        "Memory regions and windows together.").varies();
    OUTSTANDING = Reg::word("outstanding", 0x24, ReadOnly,
        "READs, atomics and RPCs in flight on one queue pair, each way. One more waits, and \
         `reads_waiting` counts it.").varies();
    DOORBELL_PAGES = Reg::word("doorbell_pages", 0x28, ReadOnly, "Pages of BAR2.").varies();
    VECTOR_COUNT = Reg::word("vectors", 0x2c, ReadOnly, "Interrupt vectors.").resets_to(VECTORS as u64);
    LIMITS = Reg::word("limits", 0x30, ReadOnly, "Limits of one request.").varies().with(&[
        part("wqe_units", 0, 8, "64-byte units of a WQE"),
        part("sges", 8, 8, "scatter/gather entries"),
        part("mtu_log", 16, 8, "log2 of the largest path MTU"),
        part("parameter_words", 24, 8, "4-byte units of RPC parameters"),
    ]);
    FEATURES = Reg::word("features", 0x34, ReadOnly, "What this build can do.").varies().with(&[
        part("rc", 0, 1, "reliable connections"),
        part("uc", 1, 1, "unreliable connections"),
        part("ud", 2, 1, "unreliable datagrams"),
        part("srq", 3, 1, "shared receive queues"),
        part("rpc", 4, 1, "kernels"),
        part("push", 5, 1, "push windows"),
        part("selective_repeat", 6, 1, "lost packets are repeated alone"),
    ]);
    ADDRESS_HANDLES = Reg::word("address_handles", 0x38, ReadOnly, "Address handles.").varies();
}

block! {
    /// What became of received frames. Every frame counts once, under the one class it was given; the list of
    /// classes and the rule that chooses are in the section on frame classes.
    rx_classes at 0x0200, 0x100, kind 0x03 version 0x0001_0000 next counters::BLOCK.offset;
    CLASSES = Reg::word("classes", 0x0c, ReadOnly, "How many counters follow.").resets_to(Class::COUNT as u64);
    FRAMES = Reg::long("frames", 0x10, ReadOnly, "Frames of class n. Wraps.").times(Class::COUNT, 8);
}

block! {
    /// What else is counted. All of them wrap.
    counters at 0x0300, 0x100, kind 0x04 version 0x0001_0000 next catalogue::BLOCK.offset;
    TX_FRAMES = Reg::long("tx_frames", 0x10, ReadOnly, "Frames sent.");
    RX_OVERRUN = Reg::long("rx_overrun", 0x18, ReadOnly,
        "Whole frames dropped at the MAC because the receive buffer was full.");
    RAW_FRAMES = Reg::long("raw_frames", 0x20, ReadOnly,
        "Frames that are not RoCE, for which the raw Ethernet queue had a receive.");
    RAW_DROPPED = Reg::long("raw_dropped", 0x28, ReadOnly,
        "Those that were lost while it was enabled: too many at once, longer than 4096 bytes, no receive, or no queue pair \
         that takes them.");
    RETRANSMITTED = Reg::long("retransmitted", 0x30, ReadOnly, "Packets sent again.");
    TIMEOUTS = Reg::long("timeouts", 0x38, ReadOnly, "Acknowledgement timers that ran out.");
    NAKS = Reg::long("naks", 0x40, ReadOnly, "NAKs sent, RNR apart.");
    RNR_NAKS = Reg::long("rnr_naks", 0x48, ReadOnly, "RNR NAKs sent.");
    DUPLICATES = Reg::long("duplicates", 0x50, ReadOnly, "Requests received again.");
    READS_WAITING = Reg::long("reads_waiting", 0x58, ReadOnly,
        "READs, atomics and RPCs that had to wait for an outstanding one.");
    TLB_HITS = Reg::long("tlb_hits", 0x60, ReadOnly, "Translations found in the TLB.");
    TLB_MISSES = Reg::long("tlb_misses", 0x68, ReadOnly, "Translations not found there.");
    TLB_WALKS = Reg::long("tlb_walks", 0x70, ReadOnly, "Reads of page lists; misses of one line share a walk.");
    WRONG_PAGE = Reg::long("wrong_page", 0x78, ReadOnly,
        "Doorbells stored through a page that does not own the queue.");
    BAD_DOORBELLS = Reg::long("bad_doorbells", 0x80, ReadOnly,
        "Doorbells for a queue that does not exist or cannot take requests, with an index its ring does not have, or \
         not of 64 bits; and stores to places of a page where there is no register.");
    PUSHES = Reg::long("pushes", 0x88, ReadOnly, "Pushed WQEs that started without a fetch.");
    PUSH_FALLBACKS = Reg::long("push_fallbacks", 0x90, ReadOnly,
        "Pushed WQEs that were fetched from the ring after all.");
    CQ_OVERFLOWS = Reg::long("cq_overflows", 0x98, ReadOnly,
        "Completions that were lost because their queue was full or did not exist.");
    DMA_ERRORS = Reg::long("dma_errors", 0xa0, ReadOnly, "Reads and writes of host memory that failed.");
    CNPS_SENT = Reg::long("cnps_sent", 0xa8, ReadOnly, "Congestion notifications sent.");
    CNPS_RECEIVED = Reg::long("cnps_received", 0xb0, ReadOnly, "Congestion notifications received.");
    RX_UNWANTED = Reg::long("rx_unwanted", 0xb8, ReadOnly,
        "Good packets that were for another station or group, for no queue pair, for one in no state to take them or that had failed, from a stranger, or datagrams with another `Q_Key`.");
    ANSWERS_DROPPED = Reg::long("answers_dropped", 0xc0, ReadOnly,
        "READs that were not answered because 16 of their queue pair waited; the peer asks again.");
    OUT_OF_SEQUENCE = Reg::long("out_of_sequence", 0xc8, ReadOnly,
        "Requests that were thrown away because one before them was missing, or atomics before them were under way; the \
         first behind a gap is told by a NAK.");
    ANSWERS_STALE = Reg::long("answers_stale", 0xd0, ReadOnly,
        "Answers of which nothing came: of what was answered before or never asked, or that said again what was known.");
    RX_ACCEPTED = Reg::long("rx_accepted", 0xd8, ReadOnly,
        "Requests in their turn, carried out or refused by a NAK, and answers that were waited for. With `rx_unwanted`, \
         `cnps_received`, `duplicates`, `out_of_sequence`, `rnr_naks`, `answers_stale` and `uc_dropped`: every good RoCE packet.");
    TX_TURNED = Reg::long("tx_turned", 0xe0, ReadOnly,
        "Frames for the card's own address: they came back in without leaving. `tx_frames` does not count them, the classes of received frames do.");
    RX_CLOSED = Reg::long("rx_closed", 0xe8, ReadOnly,
        "Frames that began to arrive while the card restarted: dropped whole, and in no class.");
    UC_DROPPED = Reg::long("uc_dropped", 0xf0, ReadOnly,
        "Packets of unreliable connections that were thrown away: out of their place in a message or behind one that was lost, against the rules, \
         without a receive or with one that is too short, or with a key that does not allow it.");
    RAW_SENT = Reg::long("raw_sent", 0xf8, ReadOnly, "Frames sent by raw queue pairs; `tx_frames` counts them, too, or `tx_turned`.");
}

block! {
    /// Which kernels are built in.
    catalogue at 0x0400, 0x100, kind 0x05 version 0x0001_0000 next events::BLOCK.offset;
    SLOTS = Reg::word("slots", 0x0c, ReadOnly, "Kernel slots; as many entries are valid, and those of empty slots are zero. Slots with the same op-code share its requests, in turn.").varies();
    KERNEL = Reg::long("kernel", 0x10, ReadOnly,
        "The kernel in slot n.").varies().times(CATALOGUE_MAX, 8).with(&[
        part("operation", 0, 16, "RPC op-code it answers"),
        part("version", 16, 16, "grows with each change of the kernel that a caller can notice"),
        part("parameter_layout", 32, 32,
            "identifies the layout of its parameter block: CRC-32 of that table, as the section on descriptors says"),
    ]);
}

block! {
    /// The event queue: the card writes entries, then raises the vector.
    events at 0x0600, 0x40, kind 0x06 version 0x0001_0000 next moderation::BLOCK.offset;
    CONFIG = Reg::word("config", 0x0c, ReadWrite,
        "Shape of the ring. `log`, `vector` and `base` may change while `enable` is 0.").with(&[
        part("log", 0, 5, "log2 of the entries, 4 to 16"),
        part("vector", 8, 5, "interrupt vector"),
        part("enable", 31, 1, "write events"),
    ]);
    BASE = Reg::long("base", 0x10, ReadWrite, "DMA address of the ring, a multiple of 4096.");
    PRODUCER = Reg::word("producer", 0x18, ReadOnly, "Entries written since `enable`; wraps at 32 bits.");
    CONSUMER = Reg::word("consumer", 0x1c, ReadWrite,
        "Entries the driver has taken; storing it also arms the vector.");
    OVERFLOW = Reg::word("overflow", 0x20, WriteOneToClear,
        "Bit 0: the ring was full and an event was lost. The driver must look at every queue.");
}

block! {
    /// How often a vector may fire. A vector fires when `count` events wait or `period_us` have passed since the
    /// first of them, whichever comes first.
    moderation at 0x0700, 0x200, kind 0x07 version 0x0001_0000 next mailbox::BLOCK.offset;
    VECTOR = Reg::long("vector", 0x10, ReadWrite,
        "Moderation of vector n; all zero fires at once.").times(VECTORS, 8).with(&[
        part("period_us", 0, 16, "longest wait"),
        part("count", 16, 16, "events to wait for"),
        part("mask", 32, 1, "hold the vector back; events are kept"),
    ]);
}

block! {
    /// Commands: create, modify, query and destroy queue pairs, CQs, memory regions and SRQs, one at a time.
    mailbox at 0x0a00, 0x200, kind 0x08 version 0x0001_0000 next port::BLOCK.offset;
    GO = Reg::word("go", 0x0c, WriteOnly,
        "Storing 1 runs the command in `input`. A store while `busy` is ignored.");
    STATE = Reg::word("state", 0x10, ReadOnly, "Progress of the command.").with(&[
        part("busy", 0, 1, "a command is running; `input` and `output` belong to the card"),
        part("done", 1, 1, "`output` holds the reply to the last command"),
    ]);
    INPUT = Reg::word("input", 0x80, ReadWrite,
        "The command: a head (see Command), then its body.").times(MAILBOX_LEN / 4, 4);
    OUTPUT = Reg::word("output", 0x100, ReadOnly,
        "The reply: a head (see Reply), then its body.").times(MAILBOX_LEN / 4, 4);
}

block! {
    /// Who the network port is. Queue pairs name one of the addresses; one that changes under them changes with the next
    /// packet.
    port at 0x0c00, 0x200, kind 0x09 version 0x0001_0000 next kernels::BLOCK.offset;
    MAC = Reg::long("mac", 0x10, ReadWrite, "MAC address.").with(&[
        part("address", 0, 48, "first byte lowest"),
    ]);
    RAW_QUEUE_PAIR = Reg::word("raw_queue_pair", 0x18, ReadWrite,
        "Where frames go that are well formed, and not RoCE, whoever they are addressed to. A queue pair of another kind, or \
         in no state to receive, gets none.").with(&[
        part("queue_pair", 0, 24, "a queue pair of the kind Raw"),
        part("enable", 31, 1, "such frames are wanted"),
    ]);
    CNP_INTERVAL = Reg::word("cnp_interval", 0x1c, ReadWrite,
        "How long a queue pair is silent after it has sent a congestion notification: packets that arrive marked meanwhile give no other. \
         0: each gives one, but those that arrive before it has left.").with(&[
        part("interval_us", 0, 16, "microseconds"),
    ]).resets_to(CNP_INTERVAL_US as u64);
    ADDRESS_LOW = Reg::long("address_low", 0x100, ReadWrite,
        "The first eight bytes of address n, first byte lowest: IPv6, or IPv4 as `::ffff:a.b.c.d`.").times(PORT_ADDRESSES, 16);
    ADDRESS_HIGH = Reg::long("address_high", 0x108, ReadWrite,
        "The other eight.").times(PORT_ADDRESSES, 16);
}

block! {
    /// How long kernels may run, and how often they did. Slots are those of the catalogue; counters wrap, and tell what was at most
    /// 32 cycles ago. `control.reset` puts all of them back.
    kernels at 0x0e00, 0x280, kind 0x0a version 0x0001_0000 next groups::BLOCK.offset;
    LIMIT = Reg::word("limit", 0x10, ReadWrite,
        "Core clock cycles that an invocation may take from when it is the oldest of its slot, and 32 more for each word of the datapath that the kernel \
         takes of its payload, 0: any number. Then the kernel is reset, and the invocation is answered with `Limit`. A change counts at once, for what is under way, too.").resets_to(KERNEL_LIMIT as u64);
    PATIENCE = Reg::word("patience", 0x14, ReadWrite,
        "Core clock cycles from the first packet of a request to its last, and 32 more for each word of the datapath that has come of its payload, 0: any \
         number. Then the request is given up, and \
         answered with `Aborted` if its last packet comes after all.").resets_to(KERNEL_PATIENCE as u64);
    INVOKED = Reg::long("invoked", 0x80, ReadOnly,
        "Commands that the kernel in slot n was given.").times(CATALOGUE_MAX, 8);
    SUCCEEDED = Reg::long("succeeded", 0x100, ReadOnly, "Answers of slot n with status `Ok`.").times(CATALOGUE_MAX, 8);
    FAILED = Reg::long("failed", 0x180, ReadOnly,
        "Answers of slot n with another status, those of what was ended by `limit` or `patience` among them.").times(CATALOGUE_MAX, 8);
    STOPPED = Reg::long("stopped", 0x200, ReadOnly,
        "How often something of slot n was ended from outside: an invocation at `limit`, a request that was still coming by `patience` or because \
         its queue pair stopped.").times(CATALOGUE_MAX, 8);
}

block! {
    /// Groups of stations that the network port belongs to: where datagrams go that are for a group, and name queue pair 0xffffff.
    /// Of two entries with the same address the first counts.
    groups at 0x1100, 0x200, kind 0x0b version 0x0001_0000 next 0;
    MEMBER = Reg::long("member", 0x10, ReadWrite, "The queue pair that belongs to group n.").times(PORT_GROUPS, 8).with(&[
        part("queue_pair", 0, 24, "a queue pair of the kind Datagram"),
        part("enable", 31, 1, "the entry counts"),
    ]);
    LOW = Reg::long("low", 0x100, ReadWrite,
        "The first eight bytes of the address of group n, first byte lowest: IPv6, or IPv4 as `::ffff:a.b.c.d`.").times(PORT_GROUPS, 16);
    HIGH = Reg::long("high", 0x108, ReadWrite, "The other eight.").times(PORT_GROUPS, 16);
}

block! {
    /// Board, network port and PCIe as the shell sees them. Counters wrap.
    board at 0x0000, 0x100;
    NAME = Reg::word("name", 0x00, ReadOnly, "The board: its name in capital letters, first letter lowest, zeros behind it. 0: there is none.").varies();
    TEMPERATURE = Reg::word("temperature", 0x08, ReadOnly,
        "What the chip's own sensor measures: 509.3140064 * code / 65536 - 280.23087870 degrees Celsius, if it has no reference but its own.").varies().with(&[
        part("code", 0, 16, "the sensor's number"),
        part("valid", 31, 1, "it has been read since power-up"),
    ]);
    HOT = Reg::word("hot", 0x0c, ReadWrite,
        "Guards the chip: on boards that have the wire `hbm_cattrip`, by which the satellite controller cuts the power.").with(&[
        part("limit", 0, 16, "a code of `temperature`; once sixteen measurements in a row reach it, the wire is raised. 0: never"),
        part("tripped", 31, 1, "the wire is raised; stays so until the limit is stored again"),
    ]);
    CAGE = Reg::word("cage", 0x10, ReadWrite, "The cage of the network port, on boards that have these wires.").with(&[
        part("reset", 0, 1, "holds the module in reset"),
        part("low_power", 1, 1, "asks the module to save power"),
        part("absent", 30, 1, "no module is there; read only"),
        part("interrupts", 31, 1, "the module wants attention; read only"),
    ]);
    LINK = Reg::word("link", 0x14, ReadOnly, "The network port.").varies().with(&[
        part("up", 0, 1, "frames can be sent and received"),
        part("aligned", 1, 1, "what is received is in step"),
        part("local_fault", 2, 1, "nothing sensible is received"),
        part("remote_fault", 3, 1, "the peer says so of us"),
        part("paused", 4, 1, "the peer asks for silence"),
    ]);
    LINK_DOWNS = Reg::word("link_downs", 0x18, ReadOnly, "How often the link went down.");
    RX_OVERRUN = Reg::word("rx_overrun", 0x1c, ReadOnly, "Whole frames lost because the core took them more slowly than they came.");
    TX_OVERSIZED = Reg::word("tx_oversized", 0x20, ReadOnly, "Frames not sent because they were longer than 16 KiB.");
    PCIE = Reg::word("pcie", 0x28, ReadOnly, "What the host has set up.").varies().with(&[
        part("max_payload_log", 0, 4, "log2 of the bytes of a write"),
        part("max_read_log", 4, 4, "log2 of the bytes that a read asks for"),
        part("extended_tags", 8, 1, "more than 32 reads may be in flight"),
        part("master", 9, 1, "the card may reach memory"),
    ]);
    PCIE_ODD = Reg::word("pcie_odd", 0x2c, ReadOnly, "Requests of the host that were dropped or refused: of a kind that the card has no use for, or broken.");
    PCIE_WRITES = Reg::word("pcie_writes", 0x30, ReadOnly, "Writes to memory, as packets of PCIe.");
    PCIE_READS = Reg::word("pcie_reads", 0x34, ReadOnly, "Reads of memory, likewise.");
    PCIE_FAILED = Reg::word("pcie_failed", 0x38, ReadOnly, "Reads that the host answered with an error, those without an answer among them.");
    PCIE_TIMEOUTS = Reg::word("pcie_timeouts", 0x3c, ReadOnly, "Reads that it did not answer in time.");
    PCIE_UNEXPECTED = Reg::word("pcie_unexpected", 0x40, ReadOnly, "Answers to reads that nobody had asked for.");
    INTERRUPTS_FAILED = Reg::word("interrupts_failed", 0x44, ReadOnly, "Interrupts that could not be sent at once, and were sent again.");
}

block! {
    /// Doorbells are stores of 64 bits. They are idempotent: a producer index names a place, not an amount.
    doorbells at 0x0000, DOORBELL_PAGE;
    SEND = Reg::long("send", 0x00, WriteOnly, "WQEs below the index may be fetched.").with(&[
        part("queue_pair", 0, 24, "queue pair"),
        part("producer", 24, 16, "index behind the last WQE, in 64-byte units"),
    ]);
    RECEIVE = Reg::long("receive", 0x08, WriteOnly, "Receive entries below the index may be used.").with(&[
        part("queue_pair", 0, 24, "queue pair"),
        part("producer", 24, 16, "index behind the last entry"),
    ]);
    SHARED_RECEIVE = Reg::long("shared_receive", 0x10, WriteOnly,
        "The same for a shared receive queue.").with(&[
        part("queue", 0, 24, "SRQ"),
        part("producer", 24, 16, "index behind the last entry"),
    ]);
    COMPLETION = Reg::long("completion", 0x18, WriteOnly,
        "Entries below the index may be overwritten; optionally asks for an event.").with(&[
        part("queue", 0, 24, "CQ"),
        part("consumer", 24, 24, "index behind the last entry taken"),
        part("arm", 48, 2, "0 none, 1 at the next entry, 2 at the next solicited or failed one"),
    ]);
    PUSH_COMMIT = Reg::long("push_commit", 0x20, WriteOnly,
        "The WQE in a push window may start, and is a send doorbell for it in any case. The WQE \
         must be in the ring before. When words of the window are missing, the index is not the \
         next to fetch, or the card has no room, the WQE is fetched from the ring. A commit empties its window.").with(&[
        part("queue_pair", 0, 24, "queue pair"),
        part("index", 24, 16, "index of the WQE"),
        part("units", 40, 4, "its 64-byte units, 1 to 4"),
        part("window", 44, 2, "window it was stored to"),
    ]);
    PUSH = Reg::long("push", 0x100, WriteOnly,
        "Four push windows of 256 bytes, one behind the other: a WQE is stored here in any order, \
         eight bytes at a time, then committed. A narrower store leaves its word missing.")
        .times(PUSH_WINDOWS * PUSH_WINDOW / 8, 8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_visits_every_block_once_and_ends() {
        let at = |offset: u64| BAR0.blocks.iter().find(|block| block.offset as u64 == offset).unwrap();
        let reset = |block: &Block, reg: usize| block.regs[reg].reset.unwrap();
        let mut kinds = std::vec![reset(at(0), 0)];
        let mut next = reset(at(0), 2);
        while next != 0 {
            let block = at(next);
            assert!(!kinds.contains(&reset(block, 0)), "{} comes twice", block.name);
            kinds.push(reset(block, 0));
            next = reset(block, 2);
        }
        assert_eq!(kinds.len(), BAR0.blocks.len());
    }

    #[test]
    fn every_block_of_the_chain_begins_with_type_version_and_next() {
        for block in BAR0.blocks {
            let places = block.regs[..3].iter().map(|reg| (reg.name, reg.offset));
            assert!(
                places.eq([("block_type", 0), ("block_version", 4), ("block_next", 8)]),
                "{}",
                block.name
            );
        }
    }

    #[test]
    fn there_is_one_frame_counter_a_class() {
        assert_eq!(rx_classes::FRAMES.count, Class::COUNT);
        assert_eq!(rx_classes::FRAMES.element(Class::Icrc.index()), 0x10 + 15 * 8);
    }

    #[test]
    fn names_are_distinct_in_their_block() {
        for block in BAR0.blocks.iter().chain(BAR2.blocks).chain(BOARD.blocks) {
            for reg in block.regs {
                assert_eq!(
                    block.regs.iter().filter(|other| other.name == reg.name).count(),
                    1,
                    "{}",
                    reg.name
                );
            }
        }
    }
}
