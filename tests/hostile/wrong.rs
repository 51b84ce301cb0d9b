//! Answers to the card's requests, drawn: none, several of any op-code, PSN, syndrome and length, or what would be
//! right but for one thing.

use std::collections::BTreeMap;

use stroma_abi::wire::{
    Aeth, AtomicAckEth, Extended, Frame, Header, Opcode, Role, RpcEth, RpcTarget, Syndrome, Transport, opcode,
};
use stroma_abi::{Psn, Qpn};
use stroma_kernel_models::Outcome;
use stroma_sim::model::{Packet, Path};
use stroma_verilate::SplitMix64;

use super::forge::{below, noise, one_of};

/// Bytes of a full packet of every connection.
const MTU: usize = 256;
const PACKET: u32 = 256;
/// Not in `0x20..0x40` but for short rests: a peer that is not ready may have the card wait for 655 ms.
const SYNDROMES: [u8; 16] =
    [0x00, 0x1f, 0x1f, 0x1f, 0x21, 0x22, 0x24, 0x40, 0x5f, 0x60, 0x60, 0x61, 0x62, 0x63, 0x64, 0xff];
/// PSNs behind that of the request.
const STEPS: [u32; 12] = [0, 0, 0, 0, 1, 2, 3, 16, 0xff_ffff, 0xff_fffe, 0x7f_ffff, 0x80_0000];

/// Who answers.
pub(crate) struct Wrong {
    random: SplitMix64,
    path: Path,
    /// The card's queue pairs, by those of the peer.
    callers: BTreeMap<u32, Qpn>,
    /// Requests that came, answers that were given.
    pub requests: usize,
    pub answers: usize,
}

impl Wrong {
    pub(crate) fn new(seed: u64, path: Path) -> Self {
        Self { random: SplitMix64::new(seed), path, callers: BTreeMap::new(), requests: 0, answers: 0 }
    }

    /// Requests for this queue pair of the peer come from that one of the card.
    pub(crate) fn connect(&mut self, peer: u32, card: u32) {
        self.callers.insert(peer, Qpn::new(card));
    }

    /// The answers to a frame of the card.
    pub(crate) fn answers_to(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let Ok(frame) = Frame::parse(bytes) else { return Vec::new() };
        let Some(caller) = self.callers.get(&frame.bth.destination_qp.value()).copied() else {
            return Vec::new();
        };
        let row = opcode::BY_CODE[usize::from(frame.bth.opcode)];
        if row.is_none_or(|row| row.role != Role::Request) {
            return Vec::new();
        }
        self.requests += 1;
        let asked = frame.extended.reth.map_or(8, |reth| reth.length as usize);
        let mut packets = if self.random.below(2) == 0 {
            (0..self.random.below(4)).map(|_| self.packet(frame.bth.psn, asked)).collect()
        } else {
            self.right(&frame)
        };
        self.spoil(&mut packets, frame.bth.psn, asked);
        self.answers += packets.len();
        packets.iter().map(|packet| self.send(caller, packet)).collect()
    }

    /// To whom it was asked for, mostly.
    fn send(&mut self, caller: Qpn, packet: &Packet) -> Vec<u8> {
        let random = &mut self.random;
        let everybody: Vec<Qpn> = self.callers.values().copied().collect();
        let to = if random.below(16) == 0 { one_of(random, &everybody) } else { caller };
        let partition = if random.below(32) == 0 { 0x7ffe } else { 0xffff };
        self.path.frame(packet, to, partition)
    }

    /// What an honest peer with such memory would answer.
    fn right(&mut self, frame: &Frame) -> Vec<Packet> {
        let (psn, aeth) = (frame.bth.psn, Aeth { syndrome: 0x1f, msn: Psn::new(1) });
        let row = opcode::BY_CODE[usize::from(frame.bth.opcode)].expect("it is in the table");
        match (row, frame.extended.reth) {
            (opcode::RC_READ_REQUEST, Some(reth)) => {
                let bytes = noise(&mut self.random, reth.length as usize);
                Packet::read_answer(psn, &bytes, PACKET, aeth)
            }
            (opcode::RPC_PARAMS, Some(reth)) => {
                let most = RpcTarget::from_address(reth.address).response_max;
                let data = noise(&mut self.random, most as usize);
                Packet::call_answer(psn, &Outcome { status: 0, data }, PACKET, aeth)
            }
            (opcode::RC_FETCH_ADD, _) => vec![Packet::atomic_answer(psn, self.random.next_u64(), aeth)],
            _ => vec![Packet::acknowledge(psn, Syndrome::Ack { credits: 31 }, aeth.msn)],
        }
    }

    /// Changes one thing.
    fn spoil(&mut self, packets: &mut Vec<Packet>, psn: Psn, asked: usize) {
        if packets.is_empty() {
            return;
        }
        let at = below(&mut self.random, packets.len());
        let other = self.packet(psn, asked);
        match self.random.below(8) {
            0 => drop(packets.remove(at)),
            1 => packets.insert(at, packets[at].clone()),
            2 => packets.swap(0, at),
            3 => packets.insert(at, other),
            4 => packets[at].psn = other.psn,
            5 => {
                let length = below(&mut self.random, 2 * MTU);
                packets[at].payload = noise(&mut self.random, length);
            }
            6 => {
                let syndrome = one_of(&mut self.random, &SYNDROMES);
                packets[at].extended.aeth = packets[at].extended.aeth.map(|aeth| Aeth { syndrome, ..aeth });
            }
            _ => packets.truncate(at),
        }
    }

    fn packet(&mut self, psn: Psn, asked: usize) -> Packet {
        let random = &mut self.random;
        let is_answer = |row: &&Opcode| {
            row.role == Role::Response && matches!(row.transport, Transport::Rc | Transport::Rpc)
        };
        let answers: Vec<Opcode> = opcode::TABLE.iter().filter(is_answer).copied().collect();
        let row = one_of(random, &answers);
        let has = |header| row.headers.contains(&header);
        let full = [asked.min(MTU), asked % MTU, MTU, MTU - 4, MTU + 4, 0, 1, 8, 4096];
        let length = if row.payload { one_of(random, &full) } else { 0 };
        let lengths =
            [0, length, asked, asked + 1, 1 << 31].map(|length| u32::try_from(length).expect("small"));
        let aeth = Aeth {
            syndrome: one_of(random, &SYNDROMES),
            msn: Psn::new(one_of(random, &[0, 1, 2, 0xff_ffff])),
        };
        let rpc =
            RpcEth { status: one_of(random, &[0, 0, 1, 0x100, u32::MAX]), length: one_of(random, &lengths) };
        let extended = Extended {
            aeth: has(Header::Aeth).then_some(aeth),
            atomic_ack: has(Header::AtomicAckEth).then_some(AtomicAckEth { original: random.next_u64() }),
            rpc: has(Header::RpcEth).then_some(rpc),
            ..Extended::default()
        };
        let payload = noise(random, length);
        Packet { extended, payload, ..Packet::new(row, psn.add(one_of(random, &STEPS))) }
    }
}
