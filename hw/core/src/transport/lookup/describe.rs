//! What the judges of an arrival have to know of it.

use rust_hdl::prelude::*;
use stroma_abi::desc::queue_pair::QueuePairKind;
use stroma_abi::wire::opcode::{DATAGRAM_BITS, RC_ACKNOWLEDGE, UNRELIABLE_BIT};

use crate::constant::number;
use crate::head::Head;
use crate::transport::records::{Arrival, Nudge, Occasion, PeerRow};
use crate::transport::sequence::reply::POSITIVE;

/// Code of a path MTU that every datagram keeps, with the 40 bytes in front of it.
const DATAGRAM_MTU: usize = 6;
/// Bits of an AETH below its syndrome.
const SYNDROME_AT: usize = 24;

block! {
    /// Puts an arrival together. Combinational.
    ///
    /// What has departed becomes an acknowledgement: nobody will say more of it. What went astray becomes a failure. A packet of an unreliable
    /// connection, or a datagram, gets the op-code that it would have on a reliable one, so that its judges know it.
    ///
    /// - **Ports** `head`, `nudge`: the packet, or, with `is_nudge`, the nudge; `qpn`, `row`: its queue pair; `colour`: in which the row
    ///   was read. `arrival`: all of it that counts; zero where it says nothing.
    pub struct Describe {
        pub head: Signal<In, Head>,
        pub nudge: Signal<In, Nudge>,
        pub is_nudge: Signal<In, Bit>,
        pub qpn: Signal<In, Bits<24>>,
        pub row: Signal<In, PeerRow>,
        pub colour: Signal<In, Bit>,
        pub arrival: Signal<Out, Arrival>,
        is_unreliable: Signal<Local, Bit>,
        is_datagram: Signal<Local, Bit>,
        packet: Constant<Bits<3>> = number(Occasion::Packet as u8),
        departed: Constant<Bits<3>> = number(Occasion::Departed as u8),
        acknowledge: Constant<Bits<8>> = number(RC_ACKNOWLEDGE.code),
        unreliable: Constant<Bits<3>> = number(QueuePairKind::Unreliable as u8),
        datagram: Constant<Bits<3>> = number(QueuePairKind::Datagram as u8),
        astray: Constant<Bits<3>> = number(Occasion::Astray as u8),
        failure: Constant<Bits<3>> = number(Occasion::Failure as u8),
        reliable_op: Constant<Bits<8>> = number(!(UNRELIABLE_BIT | DATAGRAM_BITS)),
        datagram_mtu: Constant<Bits<3>> = number(DATAGRAM_MTU),
        positive: Constant<Bits<32>> = number(u64::from(POSITIVE.encode()) << SYNDROME_AT),
    }
}

impl Logic for Describe {
    #[hdl_gen]
    fn update(&mut self) {
        self.arrival.next.pd = self.row.val().pd;
        self.arrival.next.rights = self.row.val().rights;
        self.arrival.next.path_mtu = self.row.val().path_mtu;
        self.arrival.next.receive_psn = self.row.val().receive_psn;
        self.arrival.next.cq = self.row.val().cq;
        self.arrival.next.timeout = self.row.val().timeout;
        self.arrival.next.retry = self.row.val().retry;
        self.arrival.next.rnr_retry = self.row.val().rnr_retry;
        self.arrival.next.min_rnr = self.row.val().min_rnr;
        self.arrival.next.reads_in = self.row.val().reads_in;
        self.arrival.next.receive_cq = self.row.val().receive_cq;
        self.arrival.next.has_srq = self.row.val().has_srq;
        self.arrival.next.srq = self.row.val().srq;
        self.arrival.next.result_log = self.row.val().result_log;
        self.arrival.next.colour = self.colour.val();
        self.arrival.next.qpn = self.qpn.val();
        self.is_datagram.next = self.row.val().kind == self.datagram.val();
        self.is_unreliable.next = self.is_datagram.val() | (self.row.val().kind == self.unreliable.val());
        self.arrival.next.unreliable = self.is_unreliable.val();
        self.arrival.next.datagram = self.is_datagram.val() & !self.is_nudge.val();
        if self.is_datagram.val() {
            self.arrival.next.path_mtu = self.datagram_mtu.val();
        }
        if self.is_nudge.val() {
            self.arrival.next.again = self.nudge.val().again;
            self.arrival.next.occasion = self.nudge.val().occasion;
            self.arrival.next.slot = self.nudge.val().slot;
            self.arrival.next.status = self.nudge.val().status;
            self.arrival.next.vendor = self.nudge.val().vendor;
            self.arrival.next.raw = false;
            self.arrival.next.op = 0.into();
            self.arrival.next.ackreq = false;
            self.arrival.next.solicited = false;
            self.arrival.next.imm = 0.into();
            self.arrival.next.a1 = 0.into();
            self.arrival.next.a2 = 0.into();
            self.arrival.next.psn = 0.into();
            self.arrival.next.va = 0.into();
            self.arrival.next.rkey = 0.into();
            self.arrival.next.len = 0.into();
            self.arrival.next.aeth = 0.into();
            self.arrival.next.payload_len = 0.into();
            if self.nudge.val().occasion == self.departed.val() {
                self.arrival.next.occasion = self.packet.val();
                self.arrival.next.raw = true;
                self.arrival.next.op = self.acknowledge.val();
                self.arrival.next.psn = self.nudge.val().psn;
                self.arrival.next.aeth = self.positive.val();
            }
            if self.nudge.val().occasion == self.astray.val() {
                self.arrival.next.occasion = self.failure.val();
            }
        } else {
            self.arrival.next.again = false;
            self.arrival.next.occasion = self.packet.val();
            self.arrival.next.slot = 0.into();
            self.arrival.next.status = 0.into();
            self.arrival.next.vendor = 0.into();
            self.arrival.next.raw = self.head.val().raw;
            self.arrival.next.op = self.head.val().op;
            if self.is_unreliable.val() {
                self.arrival.next.op = self.head.val().op & self.reliable_op.val();
            }
            self.arrival.next.ackreq = self.head.val().ackreq;
            self.arrival.next.solicited = self.head.val().solicited;
            self.arrival.next.imm = self.head.val().imm;
            self.arrival.next.a1 = self.head.val().a1;
            if self.is_datagram.val() {
                self.arrival.next.a1 = bit_cast::<64, 24>(self.head.val().sqpn);
            }
            self.arrival.next.a2 = self.head.val().a2;
            self.arrival.next.psn = self.head.val().psn;
            self.arrival.next.va = self.head.val().va;
            self.arrival.next.rkey = self.head.val().rkey;
            self.arrival.next.len = self.head.val().len;
            self.arrival.next.aeth = self.head.val().aeth;
            self.arrival.next.payload_len = self.head.val().payload_len;
        }
    }
}
