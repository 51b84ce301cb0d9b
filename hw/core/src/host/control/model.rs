//! The BARs in plain Rust: bytes as the map lays them out, and the rules of the few registers that do something.

use stroma_abi::desc::RING_ALIGN_LOG;
use stroma_abi::desc::mailbox::{BODY_AT, Command, CommandStatus, MAILBOX_LEN, ObjectKind, Reply};
use stroma_abi::regs::map::{
    BAR0, BAR2_AT, DOORBELL_PAGE, PORT_ADDRESSES, PORT_GROUPS, events, groups, identity, kernels, mailbox,
    moderation, port,
};
use stroma_abi::regs::{Access, Block, Reg};

use super::moderation::Moderation;
use crate::host::work::PageStore;
use crate::pack::{from_bytes, to_bytes};
use crate::state::command::{ObjectCommand, ObjectReply};
use crate::transport::records::Station;

/// What a store does besides being kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// It goes to a doorbell page.
    Page(PageStore),
    /// The card starts afresh.
    Restart,
    /// The driver has taken events.
    Consumer,
    /// A command goes to the owner of this number.
    Command(usize, Box<ObjectCommand>),
}

/// The state of BAR0.
pub struct Bars {
    bytes: Vec<u8>,
    /// Bits that a store changes.
    writable: Vec<u8>,
    /// The high half that the next read may get, and its address.
    kept: Option<(usize, u64)>,
    is_running: bool,
}

/// Every element of every register of BAR0, with its address.
pub fn elements() -> impl Iterator<Item = (&'static Block, &'static Reg, usize)> {
    let of = |block: &'static Block| {
        let each = move |reg: &'static Reg| {
            (0..reg.count).map(move |index| (block, reg, block.offset + reg.element(index)))
        };
        block.regs.iter().flat_map(each)
    };
    BAR0.blocks.iter().flat_map(of)
}

/// The number in up to eight bytes.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Bits of a register that it has.
#[must_use]
pub fn named(block: &Block, reg: &Reg) -> u64 {
    let all = u64::MAX >> (64 - reg.width);
    match (block.name, reg.name, reg.fields) {
        ("events", "base", _) => all << RING_ALIGN_LOG,
        (_, _, []) => all,
        (.., fields) => fields
            .iter()
            .fold(0, |bits, entry| bits | (u64::MAX >> (64 - entry.field.width)) << entry.field.offset()),
    }
}

impl Default for Bars {
    /// After reset; registers without a reset value are zero.
    fn default() -> Self {
        let blank = vec![0; BAR0.len];
        let mut bars = Self { bytes: blank.clone(), writable: blank, kept: None, is_running: false };
        for (block, reg, address) in elements() {
            let bytes = address..address + reg.width / 8;
            bars.bytes[bytes.clone()].copy_from_slice(&reg.reset.unwrap_or(0).to_le_bytes()[..reg.width / 8]);
            if reg.access == Access::ReadWrite {
                bars.writable[bytes].copy_from_slice(&named(block, reg).to_le_bytes()[..reg.width / 8]);
            }
        }
        bars
    }
}

impl Bars {
    /// What element `index` of a register holds.
    #[must_use]
    pub fn get(&self, block: &Block, reg: &Reg, index: usize) -> u64 {
        let address = block.offset + reg.element(index);
        word(&self.bytes[address..address + reg.width / 8])
    }

    /// The card changes what element `index` of a register holds.
    pub fn set(&mut self, block: &Block, reg: &Reg, index: usize, value: u64) {
        let address = block.offset + reg.element(index);
        self.bytes[address..address + reg.width / 8].copy_from_slice(&value.to_le_bytes()[..reg.width / 8]);
    }

    /// The row of a vector.
    #[must_use]
    pub fn vector(&self, index: usize) -> Moderation {
        let row = self.get(&moderation::BLOCK, &moderation::VECTOR, index);
        Moderation {
            period_us: (row & 0xffff).into(),
            count: (row >> 16 & 0xffff).into(),
            mask: row >> 32 & 1 == 1,
        }
    }

    /// The MAC address of the port, first byte highest.
    #[must_use]
    pub fn mac(&self) -> u64 {
        self.get(&port::BLOCK, &port::MAC, 0).swap_bytes() >> 16
    }

    /// Who gets raw frames, and whether they are wanted.
    #[must_use]
    pub fn raw(&self) -> (u64, bool) {
        let row = self.get(&port::BLOCK, &port::RAW_QUEUE_PAIR, 0);
        (row & 0xff_ffff, row >> 31 & 1 == 1)
    }

    /// Cycles of a card with this core clock from one congestion notification of a queue pair to the next.
    #[must_use]
    pub fn cnp_cycles(&self, clock_khz: u64) -> u64 {
        let interval = self.get(&port::BLOCK, &port::CNP_INTERVAL, 0);
        interval * (clock_khz * 16).div_ceil(1000) / 16 + 1
    }

    /// An IP address of the port, first byte highest.
    #[must_use]
    pub fn address(&self, index: usize) -> u128 {
        let half = |reg| u128::from(self.get(&port::BLOCK, reg, index).swap_bytes());
        half(&port::ADDRESS_LOW) << 64 | half(&port::ADDRESS_HIGH)
    }

    /// The address of a group, first byte highest.
    #[must_use]
    pub fn group(&self, index: usize) -> u128 {
        let half = |reg| u128::from(self.get(&groups::BLOCK, reg, index).swap_bytes());
        half(&groups::LOW) << 64 | half(&groups::HIGH)
    }

    /// Whose an address is.
    #[must_use]
    pub fn station(&self, destination: u128) -> Station {
        let is_ours = (0..PORT_ADDRESSES).any(|index| self.address(index) == destination);
        let member = |index| self.get(&groups::BLOCK, &groups::MEMBER, index);
        let group = (0..PORT_GROUPS)
            .filter(|index| member(*index) >> 31 == 1)
            .find(|index| self.group(*index) == destination);
        Station {
            is_ours: is_ours && destination != 0,
            is_group: group.is_some(),
            member: group.map_or(0, |index| member(index) & 0xff_ffff).into(),
        }
    }

    /// Cycles that an invocation may take, and that may pass between two packets of a request.
    #[must_use]
    pub fn kernel_limits(&self) -> [u64; 2] {
        [&kernels::LIMIT, &kernels::PATIENCE].map(|reg| self.get(&kernels::BLOCK, reg, 0))
    }

    /// Something that is counted has happened in a kernel's slot.
    pub fn count(&mut self, counter: &Reg, slot: usize) {
        let count = self.get(&kernels::BLOCK, counter, slot).wrapping_add(1);
        self.set(&kernels::BLOCK, counter, slot, count);
    }

    /// The host reads.
    pub fn load(&mut self, address: usize) -> u64 {
        let (at, is_high) = (address / 8 * 8, address & 4 != 0);
        let word = self.bytes.get(at..at + 8).map_or(0, word);
        match self.kept.take() {
            Some((kept_at, half)) if is_high && kept_at == at => word & 0xffff_ffff | half,
            _ => {
                self.kept = (!is_high).then_some((at, word & !0xffff_ffff));
                word
            }
        }
    }

    /// The host stores; `is_ready`: commands may run.
    pub fn store(&mut self, address: usize, data: u64, strb: u8, is_ready: bool) -> Option<Effect> {
        if strb == 0 {
            return None;
        }
        if let Some(offset) = address.checked_sub(BAR2_AT) {
            return Some(Effect::Page(PageStore {
                page: ((offset / DOORBELL_PAGE) as u64).into(),
                offset: ((offset % DOORBELL_PAGE / 8 * 8) as u64).into(),
                data: data.into(),
                strb: u64::from(strb).into(),
            }));
        }
        if address >= BAR0.len {
            return None;
        }
        self.kept = None;
        let at = address / 8 * 8;
        let ring = (self.config(), self.get(&events::BLOCK, &events::BASE, 0));
        let input = mailbox::BLOCK.address(&mailbox::INPUT);
        if !(self.is_running && (input..input + MAILBOX_LEN).contains(&at)) {
            for (byte, value) in
                data.to_le_bytes().iter().enumerate().filter(|(byte, _)| strb >> byte & 1 == 1)
            {
                let writable = self.writable[at + byte];
                self.bytes[at + byte] = self.bytes[at + byte] & !writable | value & writable;
            }
        }
        self.keep_ring(ring);
        self.effect(at, data, strb, is_ready)
    }

    fn config(&self) -> u64 {
        self.get(&events::BLOCK, &events::CONFIG, 0)
    }

    /// A ring that is enabled keeps its shape, and one of a wrong size is not enabled.
    fn keep_ring(&mut self, (before, base): (u64, u64)) {
        const ENABLE: u64 = 1 << 31;
        let stored = self.config();
        if before & ENABLE != 0 {
            self.set(&events::BLOCK, &events::CONFIG, 0, before & !ENABLE | stored & ENABLE);
            self.set(&events::BLOCK, &events::BASE, 0, base);
        } else if !(4..=16).contains(&(stored & 0x1f)) {
            self.set(&events::BLOCK, &events::CONFIG, 0, stored & !ENABLE);
        }
    }

    fn effect(&mut self, at: usize, data: u64, strb: u8, is_ready: bool) -> Option<Effect> {
        // The bytes of a register of 32 bits, if any of them are stored; the others are zero.
        let stored = |block: &Block, reg: &Reg| {
            let shift = block.address(reg) - at.min(block.address(reg));
            let hit = block.address(reg) / 8 * 8 == at && strb >> shift & 0xf != 0;
            let mask =
                (0..8).filter(|byte| strb >> byte & 1 == 1).fold(0, |mask, byte| mask | 0xff << (8 * byte));
            hit.then(|| (data & mask) >> (8 * shift) & 0xffff_ffff)
        };
        if stored(&events::BLOCK, &events::OVERFLOW).is_some_and(|value| value & 1 == 1) {
            self.set(&events::BLOCK, &events::OVERFLOW, 0, 0);
        }
        if stored(&identity::BLOCK, &identity::CONTROL).is_some_and(|value| value & 1 == 1) {
            self.restart();
            return Some(Effect::Restart);
        }
        if stored(&events::BLOCK, &events::CONSUMER).is_some() {
            return Some(Effect::Consumer);
        }
        let goes = stored(&mailbox::BLOCK, &mailbox::GO).is_some_and(|value| value & 1 == 1);
        if goes && is_ready && !self.is_running { self.go() } else { None }
    }

    /// Registers that the host may change, the mailbox, and what is counted of kernels are as after reset.
    fn restart(&mut self) {
        let fresh = Self::default();
        for (block, reg, address) in elements() {
            if reg.access != Access::ReadOnly || ["mailbox", "kernels"].contains(&block.name) {
                let bytes = address..address + reg.width / 8;
                self.bytes[bytes.clone()].copy_from_slice(&fresh.bytes[bytes]);
            }
        }
        self.is_running = false;
    }

    fn go(&mut self) -> Option<Effect> {
        let input = mailbox::BLOCK.address(&mailbox::INPUT);
        let text = self.bytes[input..input + MAILBOX_LEN].to_vec();
        let head = Command::parse(&text).expect("long enough");
        self.is_running = true;
        self.set(&mailbox::BLOCK, &mailbox::STATE, 0, 1);
        let Some(owner) = ObjectKind::ALL.iter().position(|(kind, _)| *kind as u8 == head.object_kind) else {
            let status = (CommandStatus::UnknownKind as u64).into();
            self.reply(&ObjectReply { status, ..ObjectReply::default() });
            return None;
        };
        let command = ObjectCommand {
            verb: u64::from(head.verb).into(),
            object: u64::from(head.object).into(),
            attributes: head.attributes.into(),
            body: from_bytes(&text[BODY_AT..]),
        };
        Some(Effect::Command(owner, Box::new(command)))
    }

    /// The owner answers; nobody listens unless a command is running.
    ///
    /// # Panics
    /// Never: the mailbox has room for the heads of commands and replies.
    pub fn reply(&mut self, reply: &ObjectReply) {
        if !self.is_running {
            return;
        }
        let at = mailbox::BLOCK.address(&mailbox::INPUT);
        let command = Command::parse(&self.bytes[at..at + MAILBOX_LEN]).expect("long enough");
        let head = Reply {
            status: u16::try_from(u64::from(reply.status)).expect("16 bits"),
            token: command.modifier,
            object: command.object,
            field: u16::try_from(u64::from(reply.field)).expect("16 bits"),
        };
        let mut text = to_bytes(reply.body);
        text.splice(0..0, head.to_bytes());
        text.resize(MAILBOX_LEN, 0);
        let output = mailbox::BLOCK.address(&mailbox::OUTPUT);
        self.bytes[output..output + MAILBOX_LEN].copy_from_slice(&text);
        self.is_running = false;
        self.set(&mailbox::BLOCK, &mailbox::STATE, 0, 2);
    }
}
