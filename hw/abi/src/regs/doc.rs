//! `docs/registers.md`, written from the tables.

use alloc::{string::String, vec::Vec};
use core::fmt::Write;

use super::{
    map::{BAR0, BAR2, BOARD},
    reg::{Bar, Block, Reg},
};
use crate::{
    Entry,
    desc::{
        AddressHandle, AtomicOperands, Command, CommandStatus, CompletionQueue, Cqe, Eqe, Event, ObjectKind,
        QueuePair, QueuePairKind, QueuePairState, ReceiveHead, Region, Reply, Sge, SharedQueue, SlotCommand,
        Statistics, Status, UdTarget, Verb, WindowBind, WorkOp, WqeHead,
        queue_pair::{TRANSITIONS, attribute},
    },
    kernel::{
        self,
        consistency::{Consistency, ConsistencyStatus},
        get::{BucketEntry, BucketLink, Get, GetStatus, ObjectHead},
        hyperloglog::{HyperLogLog, HyperLogLogStatus},
        prism::{self, PrismStatus},
        shuffle::{Buffer, Shuffle, ShuffleStatus},
        traversal::{Traversal, TraversalStatus},
    },
    wire::{Class, RpcStatus, RpcTarget},
};

const OPENING: &str = "\
# Registers, descriptors and frame classes

Written by `cargo xtask docs` from `hw/abi`; change it there. Offsets are hexadecimal bytes. Registers and
descriptors are little-endian; bits without a name read as zero and are written as zero. RO: read only. RW: read
and write. WO: write only, reads as zero. W1C: storing a one clears the bit. A reset value of `-` depends on the
build or on the card's surroundings.
";

const CLASSES: &str = "\
## Frame classes

Every received frame gets one class. A frame is judged layer by layer, in the order of the wire: Ethernet and tag, IP,
UDP, BTH, the rest. A layer is judged when all its bytes are there, and the frame is a runt when they are not. Within a
layer the first class that applies wins. `mac-error` comes from the MAC and beats all others. Frames of the classes
`not-ip`, `ip-options`, `fragment`, `not-udp` and `wrong-port` are other people's traffic: they go to the raw Ethernet queue,
if there is one.
";

const WQE: &str = "\
Work requests take one to eight units of 64 bytes and begin with this half unit. From byte 32 on follow the SGEs; or \
inline data; for atomics the operands, then the result SGE; for RPC the result SGE, then parameters; for RPC WRITE the \
result SGE, then the payload's SGEs.";

const RPC_TARGET: &str = "\
### RPC target, 64 bits

What `remote` of a WQE and the RETH's address hold in an RPC request.

| bits | field | meaning |
|---|---|---|";

/// Descriptors by name: what introduces them, and their table.
const DESCRIPTORS: &[(&str, &str, usize, &[Entry])] = &[
    ("WQE head", WQE, WqeHead::LEN, WqeHead::TABLE),
    ("SGE", "One piece of local memory, in WQEs and receive entries.", Sge::LEN, Sge::TABLE),
    ("Atomic operands", "Bytes 32 to 47 of an atomic's WQE.", AtomicOperands::LEN, AtomicOperands::TABLE),
    ("Window bind", "Bytes 32 to 63 of a `BIND_MW` WQE.", WindowBind::LEN, WindowBind::TABLE),
    (
        "Address handle",
        "The body of the mailbox's command that makes one.",
        AddressHandle::LEN,
        AddressHandle::TABLE,
    ),
    ("UD target", "What `remote` of a WQE holds on a UD queue pair.", UdTarget::LEN, UdTarget::TABLE),
    (
        "Receive head",
        "A receive entry is `16 << s` bytes: this head, then SGEs.",
        ReceiveHead::LEN,
        ReceiveHead::TABLE,
    ),
    ("CQE", "One aligned write behind the data it announces.", Cqe::LEN, Cqe::TABLE),
    ("EQE", "One aligned write before its interrupt.", Eqe::LEN, Eqe::TABLE),
    (
        "Slot command",
        "What starts a kernel; 64 bytes of parameters follow.",
        SlotCommand::LEN,
        SlotCommand::TABLE,
    ),
    (
        "Consistency",
        "Parameters of the kernel `consistency`, RPC op-code 3.",
        Consistency::LEN,
        Consistency::TABLE,
    ),
    (
        "Get",
        "Parameters of the kernel `get`, RPC op-code 2. All of its table is little-endian.",
        Get::LEN,
        Get::TABLE,
    ),
    (
        "Get: entry of a bucket",
        "A bucket is 64 bytes: three of these and a link.",
        BucketEntry::LEN,
        BucketEntry::TABLE,
    ),
    ("Get: link of a bucket", "Its last bytes.", BucketLink::LEN, BucketLink::TABLE),
    (
        "Get: head of an object",
        "The key follows, filled up with zeros to a multiple of 8 bytes, then the value.",
        ObjectHead::LEN,
        ObjectHead::TABLE,
    ),
    (
        "Shuffle",
        "Parameters of the kernel `shuffle`, RPC op-code 4. Tuples are little-endian.",
        Shuffle::LEN,
        Shuffle::TABLE,
    ),
    (
        "Shuffle buffer",
        "An entry of the table that `shuffle` reads and writes back.",
        Buffer::LEN,
        Buffer::TABLE,
    ),
    (
        "HyperLogLog",
        "Parameters of the kernel `hyperloglog`, RPC op-code 5.",
        HyperLogLog::LEN,
        HyperLogLog::TABLE,
    ),
    (
        "Prism chain",
        "Parameters of the kernel `prism`, RPC op-code 6. All of it is little-endian.",
        prism::Chain::LEN,
        prism::Chain::TABLE,
    ),
    (
        "Prism operation",
        "One for each of the chain, at the beginning of the payload.",
        prism::Operation::LEN,
        prism::Operation::TABLE,
    ),
    ("Prism report", "Four of them begin the answer.", prism::Report::LEN, prism::Report::TABLE),
    (
        "Prism free list",
        "Buffers of one size, by a ring of their addresses. Counters wrap at 2^64.",
        prism::FreeList::LEN,
        prism::FreeList::TABLE,
    ),
    (
        "Traversal",
        "Parameters of the kernel `traversal`, RPC op-code 1. Words and pointers are little-endian.",
        Traversal::LEN,
        Traversal::TABLE,
    ),
    ("Region", "A memory region as it is registered.", Region::LEN, Region::TABLE),
    (
        "Completion queue",
        "Body of its commands. With a count and no period, fewer entries than the count are told by no event.",
        CompletionQueue::LEN,
        CompletionQueue::TABLE,
    ),
    ("Shared receive queue", "Body of its commands.", SharedQueue::LEN, SharedQueue::TABLE),
    (
        "Queue pair",
        "Body of its commands. Each field names the attribute that modifies it.",
        QueuePair::LEN,
        QueuePair::TABLE,
    ),
    (
        "Statistics",
        "Body of the reply to their query. Counters go round at 2^32 and begin at zero with the queue pair, and in RESET.",
        Statistics::LEN,
        Statistics::TABLE,
    ),
    ("Command", "Head of a mailbox command.", Command::LEN, Command::TABLE),
    ("Reply", "Head of a mailbox reply.", Reply::LEN, Reply::TABLE),
];

const PARAMETERS: &str = "\
### Layouts of parameters

What `parameter_layout` of the catalogue reads for a kernel whose parameters have the layout told here. It is the CRC-32 of Ethernet over the
structure's length in bytes, then for each field its name, a byte of zero, its first bit from the start of the structure, and its width
in bits; numbers are little-endian and have 16 bits. Meanings do not count: where they change, the kernel's version grows.

| op-code | kernel | `parameter_layout` |
|---|---|---|";

/// The whole document.
#[must_use]
pub fn render() -> String {
    let mut page = Page(String::from(OPENING));
    page.bar(&BAR0);
    page.bar(&BAR2);
    page.bar(&BOARD);

    page.line(&format_args!("\n{CLASSES}"));
    let classes = Class::ALL.into_iter().map(|class| (class.index(), class.name(), class.prose()));
    page.codes(classes);

    page.line(&"\n## Descriptors");
    for (name, prose, len, table) in DESCRIPTORS {
        page.line(&format_args!(
            "\n### {name}, {len} bytes\n\n{prose}\n\n| byte | bits | field | meaning |\n|---|---|---|---|"
        ));
        for Entry { name, field, prose } in *table {
            let bits = span(field.bit, field.width);
            page.line(&format_args!("| {} | {bits} | `{name}` | {prose} |", field.byte));
        }
    }
    page.line(&format_args!("\n{RPC_TARGET}"));
    for Entry { name, field, prose } in RpcTarget::TABLE {
        let bits = span(field.low_bit(RpcTarget::LEN), field.width);
        page.line(&format_args!("| {bits} | `{name}` | {prose} |"));
    }
    page.line(&format_args!("\n{PARAMETERS}"));
    for (operation, name, layout) in kernel::ALL {
        page.line(&format_args!("| {operation} | `{name}` | {layout:#010x} |"));
    }

    page.line(&"\n## Codes\n\n### Work operations\n");
    page.codes(WorkOp::ALL.iter().map(|(op, name, prose)| (*op as usize, *name, *prose)));
    page.named("Completion status", Status::ALL, |status| status as usize);
    page.named("Events", Event::ALL, |event| event as usize);
    page.named("Mailbox verbs", Verb::ALL, |verb| verb as usize);
    page.named("Mailbox objects", ObjectKind::ALL, |kind| kind as usize);
    page.named("Mailbox status", CommandStatus::ALL, |status| status as usize);
    page.named("Queue pair states", QueuePairState::ALL, |state| state as usize);
    page.named("Queue pair kinds", QueuePairKind::ALL, |kind| kind as usize);
    page.line(&"\n### Queue pair attributes, by bit of the mask\n");
    page.codes(attribute::ALL.iter().map(|(bit, name, prose)| (*bit as usize, *name, *prose)));
    page.transitions();
    page.kernels();
    page.0
}

struct Page(String);

impl Page {
    /// What calls end with.
    fn kernels(&mut self) {
        self.named("RPC status", RpcStatus::ALL, |status| status as usize);
        self.named("Consistency status, beside those of RPC", ConsistencyStatus::ALL, |status| {
            status as usize
        });
        self.named("Get status, beside those of RPC", GetStatus::ALL, |status| status as usize);
        self.named("Shuffle status, beside those of RPC", ShuffleStatus::ALL, |status| status as usize);
        self.named("HyperLogLog status, beside those of RPC", HyperLogLogStatus::ALL, |status| {
            status as usize
        });
        self.named("Prism status, beside those of RPC", PrismStatus::ALL, |status| status as usize);
        self.named("Prism outcomes", prism::Outcome::ALL, |outcome| outcome as usize);
        self.named("Prism stages", prism::Stage::ALL, |stage| stage as usize);
        self.named("Traversal status, beside those of RPC", TraversalStatus::ALL, |status| status as usize);
    }

    /// A section with a set of codes.
    fn named<T: Copy + core::fmt::Debug>(
        &mut self,
        title: &str,
        all: &[(T, &'static str)],
        code: impl Fn(T) -> usize,
    ) {
        self.line(&format_args!("\n### {title}\n"));
        self.codes(all.iter().map(|(one, prose)| (code(*one), alloc::format!("{one:?}"), *prose)));
    }

    fn line(&mut self, text: &dyn core::fmt::Display) {
        writeln!(self.0, "{text}").expect("a String takes all that is written");
    }

    fn codes(&mut self, rows: impl Iterator<Item = (usize, impl core::fmt::Display, &'static str)>) {
        self.line(&"| code | name | meaning |\n|---|---|---|");
        for (code, name, prose) in rows {
            self.line(&format_args!("| {code} | `{name}` | {prose} |"));
        }
    }

    fn transitions(&mut self) {
        self.line(
            &"\n### Queue pair transitions\n\nWhat is not here is refused; any state may go to Reset and to Error, \
              without attributes.\n\n| from | to | kinds | required | optional |\n|---|---|---|---|---|",
        );
        for row in TRANSITIONS {
            let kinds = QueuePairKind::ALL.iter().filter(|(kind, _)| row.kinds >> *kind as u8 & 1 == 1);
            let kinds = kinds.map(|(kind, _)| alloc::format!("{kind:?}")).collect::<Vec<_>>().join(", ");
            let names = |mask: u64| {
                let named = attribute::ALL.iter().filter(|(bit, ..)| mask >> bit & 1 == 1);
                named.map(|(_, name, _)| *name).collect::<Vec<_>>().join(", ")
            };
            let (required, optional) = (names(row.required), names(row.optional));
            self.line(&format_args!("| {:?} | {:?} | {kinds} | {required} | {optional} |", row.from, row.to));
        }
    }

    fn bar(&mut self, bar: &Bar) {
        self.line(&format_args!("\n## {}, {:#x} bytes\n\n{}", bar.name, bar.len, bar.prose));
        for block in bar.blocks {
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block) {
        self.line(&format_args!(
            "\n### `{}` at {:#06x}\n\n{}\n",
            block.name,
            block.offset,
            block.prose.trim()
        ));
        self.line(&"| offset | bits | register | access | reset | meaning |\n|---|---|---|---|---|---|");
        for reg in block.regs {
            self.reg(block, reg);
        }
    }

    fn reg(&mut self, block: &Block, reg: &Reg) {
        let first = block.address(reg);
        let (place, name) = match reg.count {
            1 => (alloc::format!("{first:#06x}"), String::from(reg.name)),
            count => (
                alloc::format!("{first:#06x} + {:#x} n", reg.stride),
                alloc::format!("{}[{count}]", reg.name),
            ),
        };
        let reset = reg.reset.map_or(String::from("-"), |value| alloc::format!("{value:#x}"));
        let (bits, access) = (span(0, reg.width), reg.access.name());
        self.line(&format_args!("| {place} | {bits} | `{name}` | {access} | {reset} | {} |", reg.prose));
        for entry in reg.fields {
            let bits = span(entry.field.offset(), entry.field.width);
            self.line(&format_args!("| | {bits} | `.{}` | | | {} |", entry.name, entry.prose));
        }
    }
}

fn span(low: usize, width: usize) -> String {
    match width {
        1 => alloc::format!("{low}"),
        _ => alloc::format!("{}:{low}", low + width - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_register_class_and_descriptor_field_is_in_the_document() {
        let page = render();
        let mut names = std::vec::Vec::new();
        for block in BAR0.blocks.iter().chain(BAR2.blocks).chain(BOARD.blocks) {
            names.push(block.name);
            names.extend(block.regs.iter().map(|reg| reg.name));
        }
        names.extend(DESCRIPTORS.iter().flat_map(|(_, _, _, table)| table.iter().map(|entry| entry.name)));
        for name in names {
            assert!(
                page.contains(&std::format!("`{name}")) || page.contains(&std::format!("`.{name}")),
                "{name}"
            );
        }
        for class in Class::RAW {
            assert!(CLASSES.contains(class.name()), "{class} is raw");
        }
        for class in Class::ALL {
            assert!(page.contains(&std::format!("| {} | `{}` |", class.index(), class.name())));
        }
    }

    #[test]
    fn every_table_row_has_as_many_cells_as_its_header() {
        let page = render();
        let mut columns = 0;
        let mut rows = 0;
        for line in page.lines() {
            let cells = line.matches('|').count();
            if cells == 0 {
                columns = 0;
            } else if columns == 0 {
                columns = cells;
            } else {
                assert_eq!(cells, columns, "{line}");
                rows += 1;
            }
        }
        assert!(rows > 100, "only {rows} rows");
    }
}
