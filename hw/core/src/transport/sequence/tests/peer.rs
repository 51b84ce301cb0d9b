//! A peer that mostly keeps the rules.

use std::collections::BTreeMap;

use rust_hdl::prelude::Bits;
use stroma_abi::wire::opcode::{self, TABLE};
use stroma_abi::wire::{Opcode, Role, RpcTarget, Transport};
use stroma_verilate::SplitMix64;

use crate::host::work::QpChange;
use crate::testing::noise;
use crate::transport::records::{Arrival, Occasion};
use crate::transport::sequence::model::{Message, Responder, mtu};
use crate::transport::sequence::rig::{OPERATIONS, QPS, Rig, SRQ, World};

/// What a queue pair was made with.
#[derive(Clone, Copy)]
struct Settings {
    path_mtu: u64,
    rights: u64,
    receive_psn: u64,
    reads_in: u64,
    result_log: u64,
    has_srq: bool,
    /// Frames come, and nothing else.
    is_raw: bool,
    /// It is an unreliable connection.
    is_unreliable: bool,
}

/// It follows the model, so that it knows what comes next, unless the world moves meanwhile.
pub(super) struct Peer {
    pub(super) rng: SplitMix64,
    settings: BTreeMap<u64, Settings>,
    model: Responder,
    world: World,
}

pub(super) fn code(op: Opcode) -> Bits<8> {
    u64::from(op.code).into()
}

/// Every request of a reliable connection, RPCs among them; or those of them that an unreliable one has as well.
pub(super) fn requests(is_unreliable: bool) -> Vec<Opcode> {
    let has_twin = |op: &Opcode| Opcode::lookup(op.code | opcode::UNRELIABLE_BIT).is_some();
    let is_spoken = |op: &Opcode| match op.transport {
        Transport::Rc => !is_unreliable || has_twin(op),
        Transport::Rpc => !is_unreliable,
        _ => false,
    };
    let is_request = |op: &&Opcode| is_spoken(op) && op.role == Role::Request;
    TABLE.iter().filter(is_request).copied().collect()
}

impl Peer {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = SplitMix64::new(seed);
        let settings = |qpn: u64| {
            let is_raw = (qpn == 2 && seed % 2 == 1) || (qpn == 1 && seed % 4 == 3);
            let is_unreliable = !is_raw && (qpn + seed).is_multiple_of(5);
            let path_mtu = if is_raw { 5 } else { 1 + (qpn + seed) % 5 };
            // Near the end, so that the numbers wrap.
            let receive_psn = if qpn == 0 { rng.below(1 << 24) } else { (1 << 24) - rng.below(20) - 1 };
            let rights = if qpn == 3 { rng.below(32) } else { 31 };
            let reads_in = [3, 16, 1, 6][usize::try_from(qpn).expect("small")];
            let result_log = [12, 16, 0, 14][usize::try_from((qpn + seed) % 4).expect("small")];
            let has_srq = qpn % 2 == 1;
            (
                qpn,
                Settings {
                    path_mtu,
                    rights,
                    receive_psn,
                    reads_in,
                    result_log,
                    has_srq,
                    is_raw,
                    is_unreliable,
                },
            )
        };
        let settings = (0..1 << QPS).map(settings).collect();
        Self { rng, settings, model: Responder::default(), world: World::default() }
    }

    /// Learns how things are.
    pub(super) fn listen(&mut self, rig: &Rig) {
        self.model = rig.model.clone();
        self.world = rig.world.clone();
    }

    fn length(&mut self, mtu: u64) -> u64 {
        match self.rng.below(8) {
            0 => 0,
            1 => mtu,
            2 => 1 + self.rng.below(mtu),
            3 => mtu * (1 + self.rng.below(4)),
            4 => 1 << 31,
            _ => 1 + self.rng.below(mtu * 6),
        }
    }

    /// The op-code for those that end no key, where keys cannot be ended.
    fn ending<const N: usize>(&mut self, codes: [Opcode; N], is_unreliable: bool) -> Bits<8> {
        let count = if is_unreliable { N - 1 } else { N };
        code(codes[usize::try_from(self.rng.below(count as u64)).expect("small")])
    }

    fn one_of<const N: usize>(&mut self, codes: [Opcode; N]) -> Bits<8> {
        code(codes[usize::try_from(self.rng.below(N as u64)).expect("small")])
    }

    /// Of the queue pair, and otherwise noise.
    fn blank(&mut self, qpn: u64) -> Arrival {
        let settings = self.settings[&qpn];
        Arrival {
            occasion: (Occasion::Packet as u64).into(),
            qpn: qpn.into(),
            path_mtu: settings.path_mtu.into(),
            rights: settings.rights.into(),
            receive_psn: settings.receive_psn.into(),
            reads_in: settings.reads_in.into(),
            result_log: settings.result_log.into(),
            has_srq: settings.has_srq,
            srq: SRQ.into(),
            psn: settings.receive_psn.into(),
            payload_len: 0_u64.into(),
            raw: false,
            unreliable: settings.is_unreliable,
            datagram: false,
            ..noise(&mut self.rng)
        }
    }

    /// A whole frame: nothing but its length is told of it.
    pub(super) fn frame(&mut self, qpn: u64) -> Arrival {
        Arrival {
            raw: true,
            payload_len: (14 + self.rng.below(4083)).into(),
            slot: 0_u64.into(),
            status: 0_u64.into(),
            vendor: 0_u64.into(),
            op: 0_u64.into(),
            ackreq: false,
            solicited: false,
            psn: 0_u64.into(),
            va: 0_u64.into(),
            rkey: 0_u64.into(),
            len: 0_u64.into(),
            aeth: 0_u64.into(),
            imm: 0_u64.into(),
            a1: 0_u64.into(),
            a2: 0_u64.into(),
            ..self.blank(qpn)
        }
    }

    /// The request that keeps all rules.
    fn good(&mut self, qpn: u64) -> Arrival {
        let mut arrival = self.blank(qpn);
        let mtu = u64::from(mtu(&arrival));
        let view = self.world.view(&arrival);
        let connection = self.model.connections.get(&qpn);
        let (mut message, mut open) = (None, 0);
        if let Some(connection) = connection {
            arrival.psn = u64::from(connection.expected.value()).into();
            message = connection.message;
            open = u64::from(connection.resources.wrapping_sub(view.answered) % 32);
        }
        let has_room = open < self.settings[&qpn].reads_in && !arrival.unreliable;
        match message {
            Some(Message::Send { received, .. }) => {
                if self.rng.below(2) == 0 || u64::from(received) > mtu * 6 {
                    let codes = [opcode::RC_SEND_LAST, opcode::RC_SEND_LAST_IMM, opcode::RC_SEND_LAST_INV];
                    arrival.op = self.ending(codes, arrival.unreliable);
                    arrival.payload_len = (1 + self.rng.below(mtu)).into();
                } else {
                    (arrival.op, arrival.payload_len) = (code(opcode::RC_SEND_MIDDLE), mtu.into());
                }
            }
            Some(Message::Write { left, .. }) => {
                let left = u64::from(left);
                arrival.op = code(opcode::RC_WRITE_MIDDLE);
                // A message without end would let nothing else come.
                if left <= mtu {
                    arrival.op = self.one_of([opcode::RC_WRITE_LAST, opcode::RC_WRITE_LAST_IMM]);
                }
                arrival.payload_len = left.min(mtu).into();
            }
            Some(Message::Call(invocation)) => {
                let left = u64::from(invocation.left);
                arrival.op = code(if left > mtu { opcode::RPC_WRITE_MIDDLE } else { opcode::RPC_WRITE_LAST });
                arrival.payload_len = left.min(mtu).into();
            }
            None => self.begin(&mut arrival, mtu, has_room),
        }
        arrival
    }

    /// A new message.
    fn begin(&mut self, arrival: &mut Arrival, mtu: u64, has_room: bool) {
        let length = self.length(mtu);
        match self.rng.below(15) {
            10..15 if has_room => self.begin_call(arrival, mtu, length),
            0 | 1 if has_room => {
                arrival.op = code(opcode::RC_READ_REQUEST);
                arrival.len = length.into();
            }
            2 | 3 if has_room => {
                arrival.op = self.one_of([opcode::RC_CMP_SWAP, opcode::RC_FETCH_ADD]);
                arrival.va = arrival.va & Bits::<64>::from(!7_u64);
            }
            4..7 => {
                let codes = [opcode::RC_WRITE_ONLY, opcode::RC_WRITE_ONLY_IMM];
                let length = length.min(mtu * 6);
                arrival.op = if length > mtu { code(opcode::RC_WRITE_FIRST) } else { self.one_of(codes) };
                (arrival.len, arrival.payload_len) = (length.into(), length.min(mtu).into());
            }
            _ => {
                let codes = [opcode::RC_SEND_ONLY, opcode::RC_SEND_ONLY_IMM, opcode::RC_SEND_ONLY_INV];
                let only = self.ending(codes, arrival.unreliable);
                arrival.op = if length > mtu { code(opcode::RC_SEND_FIRST) } else { only };
                arrival.payload_len = length.min(mtu).into();
            }
        }
    }

    /// An RPC, mostly for one of two kernels, so that they have no room now and then.
    fn begin_call(&mut self, arrival: &mut Arrival, mtu: u64, length: u64) {
        let words = self.rng.below(17);
        let has_data = self.rng.below(3) > 0;
        let length = if has_data { (4 * words + length).min(mtu * 4) } else { 4 * words };
        let operation = match self.rng.below(12) {
            0 => 0x0207 ^ 1 << self.rng.below(16),
            1 => OPERATIONS[usize::try_from(self.rng.below(15)).expect("small")],
            kernel => OPERATIONS[usize::try_from(6 + kernel % 2).expect("small")],
        };
        let longest =
            [mtu, 2 * mtu, 4096, 1 << 14, 1 << 16][usize::try_from(self.rng.below(5)).expect("small")];
        let response_max = match self.rng.below(4) {
            0 => 0,
            1 => longest,
            _ => self.rng.below(longest) + 1,
        };
        let target = RpcTarget {
            response_max: u32::try_from(response_max).expect("small"),
            flags: self.rng.next_u32().to_le_bytes()[0],
            parameter_words: u8::try_from(words).expect("small"),
            operation,
        };
        arrival.va = target.to_address().into();
        arrival.op = match length {
            _ if !has_data => code(opcode::RPC_PARAMS),
            length if length > mtu => code(opcode::RPC_WRITE_FIRST),
            _ => code(opcode::RPC_WRITE_ONLY),
        };
        (arrival.len, arrival.payload_len) = (length.into(), length.min(mtu).into());
    }

    fn recall(&mut self, qpn: u64) -> Arrival {
        Arrival {
            occasion: (Occasion::Recall as u64).into(),
            op: 0_u64.into(),
            solicited: false,
            imm: 0_u64.into(),
            psn: 0_u64.into(),
            ..self.blank(qpn)
        }
    }

    /// The end of a key, mostly a good one.
    fn parted(&mut self, qpn: u64) -> Arrival {
        let status = if self.rng.below(3) == 0 { 1 + self.rng.below(6) } else { 0 };
        let occasion = (Occasion::Parted as u64).into();
        Arrival { occasion, status: status.into(), ..self.recall(qpn) }
    }

    /// A request that differs from the good one in something, or in nothing. One in `rarely` breaks a rule.
    pub(super) fn request(&mut self, rarely: u64) -> Arrival {
        let qpn = self.rng.below(1 << QPS);
        let is_raw = self.settings[&qpn].is_raw;
        let mut arrival = if is_raw { self.frame(qpn) } else { self.good(qpn) };
        match self.rng.below(10) {
            _ if is_raw => {}
            0 => arrival.psn = arrival.psn - (1 + self.rng.below(12)),
            1 => arrival.psn = arrival.psn + (1 + self.rng.below(3)),
            2 if !arrival.unreliable => {
                arrival.psn = arrival.psn - self.rng.below(12);
                arrival.len = self.rng.below(u64::from(mtu(&arrival)) * 10).into();
                arrival.op = self.one_of([opcode::RC_READ_REQUEST, opcode::RC_FETCH_ADD, opcode::RPC_PARAMS]);
                arrival.payload_len = 0_u64.into();
            }
            _ => {}
        }
        if self.rng.below(rarely) == 0 {
            match self.rng.below(10) {
                _ if is_raw => arrival = self.recall(qpn),
                0 => arrival.payload_len = arrival.payload_len + 1,
                1 => {
                    let requests = requests(arrival.unreliable);
                    let at = self.rng.below(requests.len() as u64);
                    arrival.op = code(requests[usize::try_from(at).expect("small")]);
                }
                2 => arrival.rights = self.rng.below(32).into(),
                3 => arrival.len = (0x8000_0001 + self.rng.below(0x7fff_ffff)).into(),
                4 => arrival.reads_in = self.rng.below(2).into(),
                5 => arrival = self.recall(qpn),
                6 if !arrival.unreliable => arrival = self.parted(qpn),
                // The words of parameters, or the longest answer.
                7 => arrival.va = arrival.va ^ Bits::<64>::from(1_u64 << (16 + self.rng.below(8))),
                8 => arrival.va = arrival.va ^ Bits::<64>::from(1_u64 << (48 + self.rng.below(8))),
                _ => arrival.psn = noise(&mut self.rng),
            }
        }
        let has_failed = self.model.connections.get(&qpn).is_some_and(|connection| connection.failed);
        let is_parting =
            self.model.connections.get(&qpn).is_some_and(|connection| connection.parting.is_some());
        if is_parting && self.rng.below(3) == 0 {
            arrival = self.parted(qpn);
        }
        if has_failed && self.rng.below(2) == 0 {
            arrival = self.recall(qpn);
        }
        let outcome = self.model.arrive(&arrival, &self.world.view(&arrival));
        if outcome.takes {
            self.world.take(&arrival);
        }
        if let Some(reservation) = outcome.reserves {
            self.world.reserve(reservation);
        }
        arrival
    }

    /// The queue pairs that have failed begin again.
    pub(super) fn revive(&mut self) -> Vec<QpChange> {
        let failed = self.model.connections.iter().filter(|(_, connection)| connection.failed);
        failed.map(|(qpn, _)| QpChange { qpn: (*qpn).into(), resets: true, ..QpChange::default() }).collect()
    }
}
