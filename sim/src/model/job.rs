//! Operations under way: the packets they become, and the answers that fit them.

use std::ops::Range;

use stroma_abi::Psn;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{AtomicEth, Extended, Header, Ieth, ImmDt, Opcode, Reth, Syndrome, opcode};

use super::list::List;
use super::{Denied, Memory, Operation, Packet, Settings, Work};

mod call;

pub(super) use call::Answer;

/// Longest message the specification knows.
pub(super) const MESSAGE_MAX: u32 = 1 << 31;

/// An operation with its place on the wire.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) length: u32,
    pub(super) first: Psn,
    pub(super) count: u32,
    /// PSNs before those of its answer: the packets of a call that are not its last.
    pub(super) ahead: u32,
    /// PSNs from which data was asked for: where an answer may begin.
    pub(super) asked: Vec<Psn>,
}

impl Job {
    pub(super) fn new(work: &Work, first: Psn, settings: &Settings) -> Self {
        let total = work.pieces.total();
        let length = u32::try_from(total).ok().filter(|length| *length <= MESSAGE_MAX);
        let length = length.unwrap_or_else(|| panic!("{total} bytes are no message"));
        assert!(!work.operation.is_atomic() || length == 8, "an atomic has eight bytes, not {length}");
        assert!(!work.operation.is_local() || length == 0, "local work moves no bytes, not {length}");
        let ahead = call::length(&work.operation).map_or(0, |request| settings.packets(request) - 1);
        let count = if work.operation.is_local() { 0 } else { ahead + settings.packets(length) };
        Self { work: *work, length, first, count, ahead, asked: Vec::new() }
    }

    /// The PSN behind the last.
    pub(super) fn end(&self) -> Psn {
        self.first.add(self.count)
    }

    /// The first PSN whose answer brings data, if any does.
    pub(super) fn base(&self) -> Psn {
        self.first.add(self.ahead)
    }

    pub(super) fn wants_data(&self) -> bool {
        self.work.operation.wants_data()
    }

    /// Bytes that the packet with this PSN takes or leaves, counted from the beginning of the message.
    pub(super) fn range(&self, psn: Psn, settings: &Settings) -> Range<u64> {
        let offset = psn.distance(self.base()) * settings.mtu;
        offset.into()..self.length.min(offset.saturating_add(settings.mtu)).into()
    }

    /// Its local memory.
    pub(super) fn list(&self, settings: &Settings) -> List {
        let rights = if self.wants_data() { rights::LOCAL_WRITE } else { 0 };
        List { pieces: self.work.pieces, domain: settings.domain, rights }
    }

    /// The data that an answer brings, if it is what was asked for at its PSN.
    pub(super) fn data(&self, answer: &Packet, settings: &Settings) -> Option<Vec<u8>> {
        if !matches!(answer.syndrome(), None | Some(Syndrome::Ack { .. })) {
            return None;
        }
        match self.work.operation {
            Operation::Read => self.is_read_by(answer, settings).then(|| answer.payload.clone()),
            Operation::CompareSwap { .. } | Operation::FetchAdd(_) => {
                let is_atomic = answer.opcode == opcode::RC_ATOMIC_ACKNOWLEDGE && answer.payload.is_empty();
                let original = answer.extended.atomic_ack.filter(|_| is_atomic)?.original;
                Some(original.to_le_bytes().to_vec())
            }
            _ => None,
        }
    }

    /// Does this belong to the answer of a READ? Answers to the first request and to one sent again may mix, so a packet may
    /// begin an answer wherever one was asked for, and continue one anywhere but at the first PSN.
    fn is_read_by(&self, answer: &Packet, settings: &Settings) -> bool {
        let (begins, ends) = match answer.opcode {
            opcode::RC_READ_RESPONSE_FIRST => (true, false),
            opcode::RC_READ_RESPONSE_MIDDLE => (false, false),
            opcode::RC_READ_RESPONSE_LAST => (false, true),
            opcode::RC_READ_RESPONSE_ONLY => (true, true),
            _ => return false,
        };
        let Range { start, end } = self.range(answer.psn, settings);
        ends == (answer.psn.next() == self.end())
            && if begins { self.asked.contains(&answer.psn) } else { answer.psn != self.first }
            && answer.payload.len() as u64 == end - start
    }

    /// The request packet with this PSN and the PSN of the next one. A READ asked for from its middle is a READ of the
    /// rest, which takes all the rest's PSNs.
    pub(super) fn packet(
        &self,
        psn: Psn,
        settings: &Settings,
        memory: &Memory,
    ) -> Result<(Packet, Psn), Denied> {
        if matches!(self.work.operation, Operation::Call { .. }) {
            return self.call(psn, settings, memory);
        }
        let range = self.range(psn, settings);
        let Work { operation, remote_key, remote_address, .. } = self.work;
        let address = remote_address.wrapping_add(range.start);
        let left = self.length - psn.distance(self.first) * settings.mtu;
        let reth = Some(Reth { address, remote_key, length: left });
        let ask = |row: Opcode, extended: Extended| -> Result<(Packet, Psn), Denied> {
            self.list(settings).check(memory, &(range.start..self.length.into()))?;
            Ok((Packet { ack_request: true, extended, ..Packet::new(row, psn) }, self.end()))
        };
        let operands = |swap_add, compare| Extended {
            atomic: Some(AtomicEth { address, remote_key, swap_add, compare }),
            ..Extended::default()
        };
        let (rows, told) = match operation {
            Operation::Read => {
                return ask(opcode::RC_READ_REQUEST, Extended { reth, ..Extended::default() });
            }
            Operation::CompareSwap { compare, swap } => {
                return ask(opcode::RC_CMP_SWAP, operands(swap, compare));
            }
            Operation::FetchAdd(add) => return ask(opcode::RC_FETCH_ADD, operands(add, 0)),
            Operation::Send => (&SEND, None),
            Operation::SendImm(data) => (&SEND_IMM, Some(data)),
            Operation::SendInv(key) => (&SEND_INV, Some(key)),
            Operation::Write => (&WRITE, None),
            Operation::WriteImm(data) => (&WRITE_IMM, Some(data)),
            Operation::Bind { .. } | Operation::Invalidate(_) | Operation::Call { .. } => {
                panic!("{operation:?} has no packet with PSN {psn} here")
            }
        };
        let is_last = psn.next() == self.end();
        let row = rows[usize::from(psn == self.first)][usize::from(is_last)];
        let has = |header| row.header_set().contains(header);
        let extended = Extended {
            reth: reth.filter(|_| has(Header::Reth)),
            imm: told.filter(|_| has(Header::ImmDt)).map(|data| ImmDt { data }),
            ieth: told.filter(|_| has(Header::Ieth)).map(|remote_key| Ieth { remote_key }),
            ..Extended::default()
        };
        let packet = Packet {
            ack_request: is_last,
            // Only what takes a receive can wake anybody (IBTA 9.2.3).
            solicited: self.work.solicited && is_last && operation != Operation::Write,
            extended,
            payload: self.list(settings).read(memory, &range)?,
            ..Packet::new(row, psn)
        };
        Ok((packet, psn.next()))
    }
}

/// Op-codes of the packets of a message: by whether one is its first, then by whether it is its last.
type Rows = [[Opcode; 2]; 2];

const SEND: Rows =
    [[opcode::RC_SEND_MIDDLE, opcode::RC_SEND_LAST], [opcode::RC_SEND_FIRST, opcode::RC_SEND_ONLY]];
const SEND_IMM: Rows =
    [[opcode::RC_SEND_MIDDLE, opcode::RC_SEND_LAST_IMM], [opcode::RC_SEND_FIRST, opcode::RC_SEND_ONLY_IMM]];
const SEND_INV: Rows =
    [[opcode::RC_SEND_MIDDLE, opcode::RC_SEND_LAST_INV], [opcode::RC_SEND_FIRST, opcode::RC_SEND_ONLY_INV]];
const WRITE: Rows =
    [[opcode::RC_WRITE_MIDDLE, opcode::RC_WRITE_LAST], [opcode::RC_WRITE_FIRST, opcode::RC_WRITE_ONLY]];
const WRITE_IMM: Rows = [
    [opcode::RC_WRITE_MIDDLE, opcode::RC_WRITE_LAST_IMM],
    [opcode::RC_WRITE_FIRST, opcode::RC_WRITE_ONLY_IMM],
];
