//! What an arrival is, for whoever takes answers.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;
use stroma_abi::wire::{Aeth, NakCode, Syndrome, opcode};

use super::MTU_LOG;
use crate::constant::number;
use crate::host::parse::operations::RESPONSE_MAX;
use crate::record;
use crate::transport::records::{Arrival, Occasion};

record! {
    /// What an arrival is; nothing of all this, and it is thrown away.
    pub struct Kind {
        /// It came from the peer.
        pub is_packet: Bit,
        /// Any of the next six, which answer.
        pub answers: Bit,
        /// All up to its PSN has arrived.
        pub acknowledges: Bit,
        /// The peer misses its PSN.
        pub repeats: Bit,
        /// The peer refuses its PSN, for `status`.
        pub refuses: Bit,
        /// The peer is not ready for its PSN, and wants it later, as `timer` says.
        pub defers: Bit,
        /// An RPC at its PSN is still running.
        pub is_busy: Bit,
        /// Data of a READ, what an atomic found, or the answer of an RPC.
        pub brings: Bit,
        /// It is what an atomic found,
        pub is_value: Bit,
        /// or the answer of an RPC.
        pub is_result: Bit,
        /// Those data are the first of an answer.
        pub begins: Bit,
        /// Those data are the last.
        pub ends: Bit,
        /// The payload has as many bytes as a packet may have,
        pub is_full: Bit,
        /// or more,
        pub is_long: Bit,
        /// or none.
        pub is_empty: Bit,
        /// The end of an RPC's answer says that so many full packets come before it,
        pub place: Bits<9>,
        /// which may be true.
        pub is_sound: Bit,
        /// No answer came in time.
        pub expires: Bit,
        /// All is given up.
        pub flushes: Bit,
        /// One message cannot be sent, for `status`.
        pub breaks: Bit,
        /// A `Status`.
        pub status: Bits<8>,
        /// Code of an RNR timer.
        pub timer: Bits<5>,
    }
}

block! {
    /// Sorts arrivals by op-code, syndrome and occasion. Logic only.
    ///
    /// Acknowledgements with a reserved syndrome, data and values whose header has another than a positive one, and op-codes
    /// that answer nothing are nothing: a peer that refuses says so with an acknowledgement. The middle packets of data
    /// have no such header, nor those of an RPC's answer but its last.
    ///
    /// - **Ports** `arrival`; `kind`: what it is.
    /// - **Latency** 0 cycles. **Reset** none.
    /// - **Limits** the path MTU's code is 1 to 5.
    pub struct Sort {
        pub arrival: Signal<In, Arrival>,
        pub kind: Signal<Out, Kind>,
        is_packet: Signal<Local, Bit>,
        is_acknowledgement: Signal<Local, Bit>,
        is_refusal: Signal<Local, Bit>,
        is_positive: Signal<Local, Bit>,
        defers: Signal<Local, Bit>,
        is_first: Signal<Local, Bit>,
        is_final: Signal<Local, Bit>,
        is_value: Signal<Local, Bit>,
        is_end: Signal<Local, Bit>,
        is_result: Signal<Local, Bit>,
        is_busy: Signal<Local, Bit>,
        before: Signal<Local, Bits<32>>,
        packet_log: Signal<Local, Bits<4>>,
        brings: Signal<Local, Bit>,
        syndrome: Signal<Local, Bits<8>>,
        meaning: Signal<Local, Bits<8>>,
        code: Signal<Local, Bits<8>>,
        packet_bytes: Signal<Local, Bits<13>>,
        smallest: Constant<Bits<13>> = number(1_u64 << MTU_LOG),
        syndrome_at: Constant<Bits<5>> = number(Aeth::SYNDROME.low_bit(Aeth::LEN)),
        detail_bits: Constant<Bits<4>> = number(Aeth::DETAIL.width),
        detail: Constant<Bits<8>> = number((1_u64 << Aeth::DETAIL.width) - 1),
        ack: Constant<Bits<8>> = number(Syndrome::Ack { credits: 0 }.encode() >> Aeth::DETAIL.width),
        rnr: Constant<Bits<8>> = number(Syndrome::RnrNak { timer: 0 }.encode() >> Aeth::DETAIL.width),
        nak: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::PsnSequence).encode() >> Aeth::DETAIL.width),
        codes: Constant<Bits<8>> = number(NakCode::ALL.len()),
        sequence: Constant<Bits<8>> = number(NakCode::PsnSequence as u8),
        access: Constant<Bits<8>> = number(NakCode::RemoteAccess as u8),
        operational: Constant<Bits<8>> = number(NakCode::RemoteOperational as u8),
        remote_invalid: Constant<Bits<8>> = number(Status::RemoteInvalid as u8),
        remote_access: Constant<Bits<8>> = number(Status::RemoteAccess as u8),
        remote_operation: Constant<Bits<8>> = number(Status::RemoteOperation as u8),
        acknowledgement: Constant<Bits<8>> = number(opcode::RC_ACKNOWLEDGE.code),
        atomic: Constant<Bits<8>> = number(opcode::RC_ATOMIC_ACKNOWLEDGE.code),
        first: Constant<Bits<8>> = number(opcode::RC_READ_RESPONSE_FIRST.code),
        middle: Constant<Bits<8>> = number(opcode::RC_READ_RESPONSE_MIDDLE.code),
        last: Constant<Bits<8>> = number(opcode::RC_READ_RESPONSE_LAST.code),
        only: Constant<Bits<8>> = number(opcode::RC_READ_RESPONSE_ONLY.code),
        result: Constant<Bits<8>> = number(opcode::RPC_RESPONSE.code),
        result_end: Constant<Bits<8>> = number(opcode::RPC_RESPONSE_END.code),
        busy: Constant<Bits<8>> = number(opcode::RPC_BUSY.code),
        mtu_log: Constant<Bits<4>> = number(MTU_LOG),
        answer_log: Constant<Bits<5>> = number(RESPONSE_MAX.ilog2() + 1),
        packet: Constant<Bits<3>> = number(Occasion::Packet as u8),
        timeout: Constant<Bits<3>> = number(Occasion::Timeout as u8),
        flush: Constant<Bits<3>> = number(Occasion::Flush as u8),
        failure: Constant<Bits<3>> = number(Occasion::Failure as u8),
    }
}

impl Logic for Sort {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_packet.next = self.arrival.val().occasion == self.packet.val();
        self.syndrome.next = bit_cast::<8, 32>(self.arrival.val().aeth >> self.syndrome_at.val());
        self.meaning.next = self.syndrome.val() >> self.detail_bits.val();
        self.code.next = self.syndrome.val() & self.detail.val();
        self.is_acknowledgement.next =
            self.is_packet.val() & (self.arrival.val().op == self.acknowledgement.val());
        self.is_positive.next = self.meaning.val() == self.ack.val();
        self.defers.next = self.is_acknowledgement.val() & (self.meaning.val() == self.rnr.val());
        self.is_refusal.next = self.is_acknowledgement.val()
            & (self.meaning.val() == self.nak.val())
            & (self.code.val() < self.codes.val());
        self.is_value.next = (self.arrival.val().op == self.atomic.val()) & self.is_positive.val();
        self.is_first.next = self.is_value.val()
            | (self.is_positive.val()
                & ((self.arrival.val().op == self.first.val()) | (self.arrival.val().op == self.only.val())));
        self.is_end.next = self.is_positive.val() & (self.arrival.val().op == self.result_end.val());
        self.is_result.next = self.is_end.val() | (self.arrival.val().op == self.result.val());
        self.is_busy.next =
            self.is_packet.val() & self.is_positive.val() & (self.arrival.val().op == self.busy.val());
        self.is_final.next = self.is_value.val()
            | self.is_end.val()
            | (self.is_positive.val()
                & ((self.arrival.val().op == self.last.val()) | (self.arrival.val().op == self.only.val())));
        self.brings.next = self.is_packet.val()
            & (self.is_first.val()
                | (self.arrival.val().op == self.middle.val())
                | self.is_final.val()
                | self.is_result.val());

        self.kind.next.is_packet = self.is_packet.val();
        self.kind.next.acknowledges = self.is_acknowledgement.val() & self.is_positive.val();
        self.kind.next.repeats = self.is_refusal.val() & (self.code.val() == self.sequence.val());
        self.kind.next.refuses = self.is_refusal.val() & (self.code.val() != self.sequence.val());
        self.kind.next.defers = self.defers.val();
        self.kind.next.brings = self.brings.val();
        self.kind.next.is_value = self.brings.val() & self.is_value.val();
        self.kind.next.is_result = self.brings.val() & self.is_result.val();
        self.kind.next.is_busy = self.is_busy.val();
        self.kind.next.begins = self.brings.val() & self.is_first.val();
        self.kind.next.ends = self.brings.val() & self.is_final.val();
        self.packet_bytes.next = self.smallest.val() << self.arrival.val().path_mtu;
        self.kind.next.is_full = self.arrival.val().payload_len == self.packet_bytes.val();
        self.kind.next.is_long = self.arrival.val().payload_len > self.packet_bytes.val();
        self.kind.next.is_empty = !self.arrival.val().payload_len.any();
        // All bytes but those that came with the end.
        self.before.next =
            bit_cast::<32, 64>(self.arrival.val().a1) - bit_cast::<32, 13>(self.arrival.val().payload_len);
        self.packet_log.next = bit_cast::<4, 3>(self.arrival.val().path_mtu) + self.mtu_log.val();
        self.kind.next.place = bit_cast::<9, 32>(self.before.val() >> self.packet_log.val());
        self.kind.next.is_sound = !(self.before.val() & bit_cast::<32, 13>(self.packet_bytes.val() - 1))
            .any()
            & !(self.before.val() >> self.answer_log.val()).any()
            & (self.arrival.val().payload_len <= self.packet_bytes.val());
        self.kind.next.answers = self.brings.val()
            | self.is_busy.val()
            | self.is_refusal.val()
            | self.defers.val()
            | (self.is_acknowledgement.val() & self.is_positive.val());
        self.kind.next.expires = self.arrival.val().occasion == self.timeout.val();
        self.kind.next.flushes = self.arrival.val().occasion == self.flush.val();
        self.kind.next.breaks = self.arrival.val().occasion == self.failure.val();
        self.kind.next.status = self.remote_invalid.val();
        if self.code.val() == self.access.val() {
            self.kind.next.status = self.remote_access.val();
        }
        if self.code.val() == self.operational.val() {
            self.kind.next.status = self.remote_operation.val();
        }
        if !self.is_packet.val() {
            self.kind.next.status = self.arrival.val().status;
        }
        self.kind.next.timer = bit_cast::<5, 8>(self.code.val());
    }
}
