//! What an arrival asks for.

use rust_hdl::prelude::*;
use stroma_abi::wire::opcode::{
    RC_CMP_SWAP, RC_FETCH_ADD, RC_READ_REQUEST, RC_SEND_FIRST, RC_SEND_LAST, RC_SEND_LAST_IMM,
    RC_SEND_LAST_INV, RC_SEND_MIDDLE, RC_SEND_ONLY, RC_SEND_ONLY_IMM, RC_SEND_ONLY_INV, RC_WRITE_FIRST,
    RC_WRITE_LAST, RC_WRITE_LAST_IMM, RC_WRITE_MIDDLE, RC_WRITE_ONLY, RC_WRITE_ONLY_IMM, RPC_PARAMS,
    RPC_WRITE_FIRST, RPC_WRITE_LAST, RPC_WRITE_MIDDLE, RPC_WRITE_ONLY,
};
use stroma_abi::wire::{Header, Opcode, Position};

use crate::constant::number;
use crate::record;
use crate::transport::records::{Arrival, Occasion};
use crate::tx::transport::opcodes;

/// Packets of SENDs.
pub const SENDS: [Opcode; 8] = [
    RC_SEND_FIRST,
    RC_SEND_MIDDLE,
    RC_SEND_LAST,
    RC_SEND_LAST_IMM,
    RC_SEND_LAST_INV,
    RC_SEND_ONLY,
    RC_SEND_ONLY_IMM,
    RC_SEND_ONLY_INV,
];
/// Packets of WRITEs.
pub const WRITES: [Opcode; 6] =
    [RC_WRITE_FIRST, RC_WRITE_MIDDLE, RC_WRITE_LAST, RC_WRITE_LAST_IMM, RC_WRITE_ONLY, RC_WRITE_ONLY_IMM];
/// Packets of RPCs.
pub const CALLS: [Opcode; 5] =
    [RPC_PARAMS, RPC_WRITE_FIRST, RPC_WRITE_MIDDLE, RPC_WRITE_LAST, RPC_WRITE_ONLY];

record! {
    /// What an arrival asks for; but for a frame, at most one of those up to `is_call`. None of them: what is not spoken here.
    pub struct Kind {
        /// No request: a receive is to be given up.
        pub is_recall: Bit,
        /// A whole frame; it counts as a SEND, too.
        pub is_raw: Bit,
        /// No request: the key that a SEND was to end has been judged.
        pub is_parted: Bit,
        /// A SEND.
        pub is_send: Bit,
        /// A WRITE.
        pub is_write: Bit,
        /// A READ.
        pub is_read: Bit,
        /// An atomic.
        pub is_atomic: Bit,
        /// An RPC.
        pub is_call: Bit,
        /// Atomic: it adds, else it swaps.
        pub adds: Bit,
        /// RPC: its payload is parameters alone.
        pub is_params: Bit,
        /// SEND, WRITE, RPC: it begins a message.
        pub begins: Bit,
        /// SEND, WRITE, RPC: it ends one.
        pub ends: Bit,
        /// SEND, WRITE: immediate data came with it.
        pub has_immediate: Bit,
        /// SEND: it ends a key, and is completed when that has ended.
        pub ends_key: Bit,
        /// With `is_parted`: the key could not be ended.
        pub is_denied: Bit,
        /// A READ, an atomic or the beginning of an RPC: one of those that `reads_in` limits.
        pub takes_resource: Bit,
        /// It takes a receive.
        pub takes: Bit,
        /// It completes one, and at once.
        pub completes: Bit,
        /// Receives of its queue pair come from an SRQ.
        pub is_shared: Bit,
        /// A packet of an unreliable connection: nobody is told what becomes of it.
        pub is_unreliable: Bit,
    }
}

/// One bit for each packet of SENDs, WRITEs and RPCs for which this holds.
fn messages(holds: impl Fn(&Opcode) -> bool) -> Constant<Bits<256>> {
    let is_message = |row: &Opcode| SENDS.contains(row) || WRITES.contains(row) || CALLS.contains(row);
    Constant::new(opcodes(|row| is_message(row) && holds(row)))
}

block! {
    /// Reads the op-code. Combinational.
    ///
    /// - **Ports** `arrival`: what came. `kind`: what it is.
    pub struct Classify {
        pub arrival: Signal<In, Arrival>,
        pub kind: Signal<Out, Kind>,
        op: Signal<Local, Bits<8>>,
        is_packet: Signal<Local, Bit>,
        is_send: Signal<Local, Bit>,
        is_write: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        has_immediate: Signal<Local, Bit>,
        ends_key: Signal<Local, Bit>,
        adds: Signal<Local, Bit>,
        is_read: Signal<Local, Bit>,
        is_atomic: Signal<Local, Bit>,
        is_call: Signal<Local, Bit>,
        packet: Constant<Bits<3>> = number(Occasion::Packet as u8),
        recall: Constant<Bits<3>> = number(Occasion::Recall as u8),
        parted: Constant<Bits<3>> = number(Occasion::Parted as u8),
        sends: Constant<Bits<256>> = Constant::new(opcodes(|row| SENDS.contains(row))),
        writes: Constant<Bits<256>> = Constant::new(opcodes(|row| WRITES.contains(row))),
        calls: Constant<Bits<256>> = Constant::new(opcodes(|row| CALLS.contains(row))),
        beginnings: Constant<Bits<256>> =
            messages(|row| matches!(row.position, Position::First | Position::Only)),
        endings: Constant<Bits<256>> =
            messages(|row| matches!(row.position, Position::Last | Position::Only)),
        immediates: Constant<Bits<256>> = messages(|row| row.headers.contains(&Header::ImmDt)),
        send_only: Constant<Bits<8>> = number(RC_SEND_ONLY.code),
        key_ends: Constant<Bits<256>> = messages(|row| row.headers.contains(&Header::Ieth)),
        read: Constant<Bits<8>> = number(RC_READ_REQUEST.code),
        swap: Constant<Bits<8>> = number(RC_CMP_SWAP.code),
        add: Constant<Bits<8>> = number(RC_FETCH_ADD.code),
        params: Constant<Bits<8>> = number(RPC_PARAMS.code),
    }
}

impl Logic for Classify {
    #[hdl_gen]
    fn update(&mut self) {
        // The op-code of a nudge is zero, and would be a SEND's.
        self.is_packet.next = self.arrival.val().occasion == self.packet.val();
        // A frame is a SEND of one packet, whose payload it is.
        self.op.next = self.arrival.val().op;
        if self.arrival.val().raw {
            self.op.next = self.send_only.val();
        }
        self.is_send.next = self.is_packet.val() & self.sends.val().get_bit(self.op.val().index());
        self.is_write.next = self.is_packet.val() & self.writes.val().get_bit(self.op.val().index());
        self.begins.next = self.beginnings.val().get_bit(self.op.val().index());
        self.ends.next = self.endings.val().get_bit(self.op.val().index());
        self.has_immediate.next = self.immediates.val().get_bit(self.op.val().index());
        self.ends_key.next = self.key_ends.val().get_bit(self.op.val().index());
        self.adds.next = self.op.val() == self.add.val();
        self.is_read.next = self.is_packet.val() & (self.op.val() == self.read.val());
        self.is_atomic.next = self.is_packet.val() & (self.adds.val() | (self.op.val() == self.swap.val()));
        self.is_call.next = self.is_packet.val() & self.calls.val().get_bit(self.op.val().index());

        self.kind.next.is_shared = self.arrival.val().has_srq;
        self.kind.next.is_unreliable = self.is_packet.val() & self.arrival.val().unreliable;
        self.kind.next.is_recall = self.arrival.val().occasion == self.recall.val();
        self.kind.next.is_parted = self.arrival.val().occasion == self.parted.val();
        self.kind.next.is_denied = self.arrival.val().status.any();
        self.kind.next.is_send = self.is_send.val();
        self.kind.next.is_write = self.is_write.val();
        self.kind.next.is_raw = self.is_packet.val() & self.arrival.val().raw;
        self.kind.next.is_read = self.is_read.val();
        self.kind.next.is_atomic = self.is_atomic.val();
        self.kind.next.is_call = self.is_call.val();
        self.kind.next.takes_resource =
            self.is_read.val() | self.is_atomic.val() | (self.is_call.val() & self.begins.val());
        self.kind.next.adds = self.adds.val();
        self.kind.next.is_params = self.op.val() == self.params.val();
        self.kind.next.begins = self.begins.val();
        self.kind.next.ends = self.ends.val();
        self.kind.next.has_immediate = self.has_immediate.val();
        self.kind.next.ends_key = self.ends_key.val();
        self.kind.next.takes =
            (self.is_send.val() & self.begins.val()) | (self.is_write.val() & self.has_immediate.val());
        self.kind.next.completes = (self.is_send.val() & self.ends.val() & !self.ends_key.val())
            | (self.is_write.val() & self.has_immediate.val());
    }
}
