//! Arrivals and messages, by what they are.

use stroma_abi::desc::WorkOp;
use stroma_abi::wire::{Opcode, Syndrome, opcode};

use super::{Rig, Settings};
use crate::transport::complete::model::mtu;
use crate::transport::records::{Arrival, Occasion, Sent};

impl Rig {
    /// Bytes of a queue pair's packets.
    pub(in crate::transport::complete) fn mtu(&self, qpn: usize) -> u64 {
        mtu(self.settings[qpn].path_mtu.into())
    }

    /// An arrival of this kind, without anything else.
    pub(in crate::transport::complete) fn nudge(&self, qpn: usize, occasion: Occasion) -> Arrival {
        let Settings { path_mtu, timeout, retry, rnr_retry } = self.settings[qpn];
        Arrival {
            occasion: (occasion as u64).into(),
            qpn: (qpn as u64).into(),
            pd: (qpn as u64 + 0x1230).into(),
            path_mtu: path_mtu.into(),
            cq: (qpn as u64 + 0x77_0000).into(),
            timeout: timeout.into(),
            retry: retry.into(),
            rnr_retry: rnr_retry.into(),
            colour: qpn % 2 == 1,
            ..Arrival::default()
        }
    }

    /// An acknowledgement.
    pub(in crate::transport::complete) fn acknowledge(
        &self,
        qpn: usize,
        psn: u64,
        syndrome: Syndrome,
    ) -> Arrival {
        Arrival {
            op: u64::from(opcode::RC_ACKNOWLEDGE.code).into(),
            psn: (psn & 0xff_ffff).into(),
            aeth: (u64::from(syndrome.encode()) << 24 | 0x12_3456).into(),
            ..self.nudge(qpn, Occasion::Packet)
        }
    }

    /// Data of a READ; what the packets in the middle have for a syndrome means nothing.
    pub(in crate::transport::complete) fn data(
        &self,
        qpn: usize,
        psn: u64,
        op: Opcode,
        length: u64,
    ) -> Arrival {
        Arrival {
            op: u64::from(op.code).into(),
            psn: (psn & 0xff_ffff).into(),
            payload_len: length.into(),
            aeth: match op {
                opcode::RC_READ_RESPONSE_MIDDLE => 0xffff_ffff_u64.into(),
                _ => (u64::from(Syndrome::Ack { credits: 31 }.encode()) << 24 | 0x12_3456).into(),
            },
            ..self.nudge(qpn, Occasion::Packet)
        }
    }

    /// What an atomic found.
    pub(in crate::transport::complete) fn value(&self, qpn: usize, psn: u64, value: u64) -> Arrival {
        let ack = self.acknowledge(qpn, psn, Syndrome::Ack { credits: 31 });
        Arrival { op: u64::from(opcode::RC_ATOMIC_ACKNOWLEDGE.code).into(), a1: value.into(), ..ack }
    }

    /// A packet of an RPC's answer, its last with status and bytes of the whole.
    pub(in crate::transport::complete) fn result(
        &self,
        qpn: usize,
        psn: u64,
        payload: u64,
        end: Option<(u32, u32)>,
    ) -> Arrival {
        let Some((status, length)) = end else {
            let middle = self.data(qpn, psn, opcode::RC_READ_RESPONSE_MIDDLE, payload);
            return Arrival { op: u64::from(opcode::RPC_RESPONSE.code).into(), ..middle };
        };
        let a1 = u64::from(status) << 32 | u64::from(length);
        Arrival { a1: a1.into(), ..self.data(qpn, psn, opcode::RPC_RESPONSE_END, payload) }
    }

    /// The peer says that the RPC at this PSN still runs.
    pub(in crate::transport::complete) fn busy(&self, qpn: usize, psn: u64) -> Arrival {
        let ack = self.acknowledge(qpn, psn, Syndrome::Ack { credits: 31 });
        Arrival { op: u64::from(opcode::RPC_BUSY.code).into(), ..ack }
    }

    /// An RPC whose request has so many packets, and whose answer so many bytes at most.
    pub(in crate::transport::complete) fn call(
        &self,
        qpn: usize,
        packets: u64,
        longest: u64,
        psn: u64,
    ) -> Sent {
        let op = if packets == 1 { WorkOp::Rpc } else { WorkOp::RpcWrite };
        let message = self.message(qpn, op, longest, psn);
        let answers = u64::from(message.packets);
        Sent { packets: (answers + packets - 1).into(), answers: answers.into(), ..message }
    }

    /// A message of this length for the end of the queue, after all that was sent.
    pub(in crate::transport::complete) fn message(
        &self,
        qpn: usize,
        op: WorkOp,
        length: u64,
        psn: u64,
    ) -> Sent {
        let packets = length.div_ceil(self.mtu(qpn)).max(1);
        let place = u64::from(self.sent[qpn].head) + 64 * qpn as u64;
        Sent {
            psn: (psn & 0xff_ffff).into(),
            packets: packets.into(),
            index: (0x5000 + place).into(),
            opcode: (op as u64).into(),
            signaled: true,
            length: length.into(),
            address: ((0xffff_0000_0000 + place) << 16).into(),
            key: (0x8000_0000 + place).into(),
            ..Sent::default()
        }
    }
}
