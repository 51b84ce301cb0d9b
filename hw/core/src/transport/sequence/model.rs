//! The responder's order in plain Rust.

mod call;
mod carry_out;
mod connection;

use std::collections::BTreeMap;

use rust_hdl::prelude::Bits;
use stroma_abi::wire::opcode::RC_SEND_ONLY;
use stroma_abi::wire::{Header, Opcode, Position};
use stroma_abi::{Field, Psn};

pub use call::{Invocation, Kernel};
pub use connection::{Connection, Message, Opened, Parting};

use crate::host::work::QpChange;
use crate::state::command::KeyWork;
use crate::transport::records::{Arrival, Errand, Stock};

/// What there is for a request when it is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// Receives.
    pub stock: Stock,
    /// READs, atomics and RPCs that were answered, modulo 32.
    pub answered: u8,
    /// Atomics that are done, modulo 32.
    pub finished: u8,
    /// One more key can be ended.
    pub part_room: bool,
    /// RPC op-codes of the kernels.
    pub operations: &'static [u16],
    /// A bit for each kernel that takes the beginning of a request.
    pub room: u16,
    /// For each that takes a packet of the stream it has.
    pub room_more: u16,
    /// Much room is left for requests that are deferred.
    pub roomy: bool,
    /// Where the next of them goes.
    pub place: u8,
    /// For each behind the one that was called last, of which the responder itself keeps account.
    pub behind: u16,
}

/// A packet is taken for a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Which.
    pub kernel: u8,
    /// It begins a request.
    pub begins: bool,
    /// It ends one.
    pub ends: bool,
}

/// Every queue pair that has had a request.
#[derive(Clone, Debug, Default)]
pub struct Responder {
    /// By number.
    pub connections: BTreeMap<u64, Connection>,
    /// The kernel that was called last.
    pub last: Option<u8>,
}

/// What comes of an arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a wire of its own")]
pub struct Outcome {
    /// What has to be done.
    pub errand: Errand,
    /// It came again.
    pub duplicate: bool,
    /// It came before its turn.
    pub early: bool,
    /// Its queue pair has failed.
    pub unwanted: bool,
    /// It is of an unreliable connection, and thrown away.
    pub dropped: bool,
    /// It is refused, or a gap is told.
    pub nak: bool,
    /// It is deferred, or stays so.
    pub stays: bool,
    /// With `stays`: because another is.
    pub follows: bool,
    /// There is no receive for it, or no room.
    pub rnr: bool,
    /// With `rnr`: no room at its kernel.
    pub no_room: bool,
    /// It is to be refused, and an RPC is to be answered before.
    pub waits_for_call: bool,
    /// A receive is taken.
    pub takes: bool,
    /// The counter that counts it.
    pub counted: Option<Field>,
    /// A raw frame takes one.
    pub raw_taken: bool,
    /// A raw frame is thrown away.
    pub raw_lost: bool,
    /// A key is to be ended.
    pub part: Option<KeyWork>,
    /// It is taken for a kernel.
    pub reserves: Option<Reservation>,
}

impl Responder {
    /// A row has changed.
    pub fn change(&mut self, change: &QpChange) {
        if change.resets {
            self.connections.remove(&number(change.qpn));
        }
    }

    /// A request has come, or a recall.
    pub fn arrive(&mut self, arrival: &Arrival, view: &View) -> Outcome {
        let fresh = || Connection::new(Psn::new(short(arrival.receive_psn)));
        let connection = self.connections.entry(number(arrival.qpn)).or_insert_with(fresh);
        let behind = self.last.map_or(0, |last| !0 << last << 1);
        let outcome = connection.arrive(arrival, &View { behind, ..*view });
        if let Some(Reservation { kernel, begins: true, .. }) = outcome.reserves {
            self.last = Some(kernel);
        }
        outcome
    }
}

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// SEND.
    Send,
    /// WRITE.
    Write,
    /// READ.
    Read,
    /// An atomic.
    Atomic,
    /// An RPC.
    Call,
    /// Not spoken.
    Unknown,
}

/// The family that the name of an op-code says.
#[must_use]
pub fn family(op: &Opcode) -> Family {
    match op.name {
        name if name.starts_with("RC_SEND") => Family::Send,
        name if name.starts_with("RC_WRITE") => Family::Write,
        "RC_READ_REQUEST" => Family::Read,
        "RC_CMP_SWAP" | "RC_FETCH_ADD" => Family::Atomic,
        "RPC_PARAMS" => Family::Call,
        name if name.starts_with("RPC_WRITE") => Family::Call,
        _ => Family::Unknown,
    }
}

/// The row of a request's op-code; a raw frame counts as a SEND.
///
/// # Panics
/// When the table has none.
#[must_use]
pub fn opcode_of(arrival: &Arrival) -> Opcode {
    if arrival.raw {
        return RC_SEND_ONLY;
    }
    let code = u8::try_from(number(arrival.op)).expect("an op-code has eight bits");
    *Opcode::lookup(code).expect("an arrival has an op-code of the table")
}

fn begins(op: &Opcode) -> bool {
    matches!(op.position, Position::First | Position::Only)
}

fn ends(op: &Opcode) -> bool {
    matches!(op.position, Position::Last | Position::Only)
}

fn has_immediate(op: &Opcode) -> bool {
    op.headers.contains(&Header::ImmDt)
}

fn ends_key(op: &Opcode) -> bool {
    op.headers.contains(&Header::Ieth)
}

fn number<const N: usize>(bits: Bits<N>) -> u64 {
    u64::try_from(crate::pack::to_number(bits)).expect("no field is wider than 64 bits")
}

fn short<const N: usize>(bits: Bits<N>) -> u32 {
    u32::try_from(number(bits)).expect("the field is not wider than 32 bits")
}

fn has(arrival: &Arrival, right: u8) -> bool {
    number(arrival.rights) & u64::from(right) != 0
}

/// Bytes of a packet that is full.
#[must_use]
pub fn mtu(arrival: &Arrival) -> u32 {
    128 << number(arrival.path_mtu)
}

/// PSNs that a READ takes.
#[must_use]
pub fn packets(arrival: &Arrival) -> u32 {
    short(arrival.len).div_ceil(mtu(arrival)).max(1)
}
