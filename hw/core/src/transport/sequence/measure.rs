//! Where a request stands: in the sequence of all, and in its message.

use rust_hdl::prelude::*;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::opcode;

use crate::constant::number;
use crate::record;
use crate::transport::records::Arrival;

/// Bytes of the longest message that the specification knows.
pub const MESSAGE_MAX: u32 = 1 << 31;
/// log2 of the bytes of a path MTU whose code is 0.
const MTU_LOG: usize = 7;

record! {
    /// What is known of the requests of a queue pair's peer.
    pub struct Standing {
        /// A request has come; otherwise nothing else counts.
        pub started: Bit,
        /// PSN of the next request.
        pub expected: Bits<24>,
        /// Messages completed.
        pub msn: Bits<24>,
        /// A WRITE has begun and not ended.
        pub in_message: Bit,
        /// Where the rest of it goes.
        pub va: Bits<64>,
        /// Its key.
        pub key: Bits<32>,
        /// Bytes of the rest.
        pub left: Bits<32>,
        /// The peer was told of the gap before the next request.
        pub gap_told: Bit,
        /// A request was refused: there is no next one.
        pub failed: Bit,
    }
}

record! {
    /// What a request is, and how it stands to the ones before.
    pub struct Measured {
        /// PSN of the next request.
        pub expected: Bits<24>,
        /// PSNs from this one to the next.
        pub behind: Bits<24>,
        /// It is the next.
        pub is_next: Bit,
        /// It has been there before.
        pub is_before: Bit,
        /// A WRITE.
        pub is_write: Bit,
        /// A READ.
        pub is_read: Bit,
        /// A WRITE that begins a message.
        pub begins: Bit,
        /// A WRITE that ends one.
        pub ends: Bit,
        /// A WRITE that keeps the rules at this place of its message.
        pub may_write: Bit,
        /// A READ that keeps the rules, but for its place.
        pub may_read: Bit,
        /// READ: PSNs that it takes.
        pub packets: Bits<24>,
        /// WRITE: bytes of its message from this packet on.
        pub remaining: Bits<32>,
    }
}

block! {
    /// Measures a request. Combinational.
    ///
    /// - **Ports** `arrival`: the request; `standing`: what is known of its queue pair. `measured`: what it is.
    /// - **Limits** `packets` and `remaining` of a message that is too long mean nothing; neither may it be read or written.
    pub struct Measure {
        pub arrival: Signal<In, Arrival>,
        pub standing: Signal<In, Standing>,
        pub measured: Signal<Out, Measured>,
        expected: Signal<Local, Bits<24>>,
        distance: Signal<Local, Bits<24>>,
        mtu: Signal<Local, Bits<32>>,
        payload: Signal<Local, Bits<32>>,
        remaining: Signal<Local, Bits<32>>,
        round_up: Signal<Local, Bits<32>>,
        packets: Signal<Local, Bits<24>>,
        is_first: Signal<Local, Bit>,
        is_middle: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        is_only: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        is_too_long: Signal<Local, Bit>,
        is_full: Signal<Local, Bit>,
        is_rest: Signal<Local, Bit>,
        fits: Signal<Local, Bit>,
        first: Constant<Bits<8>> = number(opcode::RC_WRITE_FIRST.code),
        middle: Constant<Bits<8>> = number(opcode::RC_WRITE_MIDDLE.code),
        last: Constant<Bits<8>> = number(opcode::RC_WRITE_LAST.code),
        only: Constant<Bits<8>> = number(opcode::RC_WRITE_ONLY.code),
        read: Constant<Bits<8>> = number(opcode::RC_READ_REQUEST.code),
        remote_write: Constant<Bits<5>> = number(rights::REMOTE_WRITE),
        remote_read: Constant<Bits<5>> = number(rights::REMOTE_READ),
        message_max: Constant<Bits<32>> = number(MESSAGE_MAX),
        smallest_mtu: Constant<Bits<32>> = number(1 << MTU_LOG),
        mtu_log: Constant<Bits<5>> = number(MTU_LOG),
        past_at: Constant<Bits<5>> = number(23),
    }
}

impl Logic for Measure {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_first.next = self.arrival.val().op == self.first.val();
        self.is_middle.next = self.arrival.val().op == self.middle.val();
        self.is_last.next = self.arrival.val().op == self.last.val();
        self.is_only.next = self.arrival.val().op == self.only.val();
        self.begins.next = self.is_first.val() | self.is_only.val();
        self.measured.next.is_write = self.begins.val() | self.is_middle.val() | self.is_last.val();
        self.measured.next.is_read = self.arrival.val().op == self.read.val();
        self.measured.next.begins = self.begins.val();
        self.measured.next.ends = self.is_last.val() | self.is_only.val();

        // Distances modulo 2^24: the far half of the circle lies in the past.
        self.expected.next = self.arrival.val().receive_psn;
        if self.standing.val().started {
            self.expected.next = self.standing.val().expected;
        }
        self.distance.next = self.arrival.val().psn - self.expected.val();
        self.measured.next.expected = self.expected.val();
        self.measured.next.behind = self.expected.val() - self.arrival.val().psn;
        self.measured.next.is_next = !self.distance.val().any();
        self.measured.next.is_before = self.distance.val().get_bit(self.past_at.val().index());

        // An answer without data has one packet, too.
        self.mtu.next = self.smallest_mtu.val() << self.arrival.val().path_mtu;
        self.round_up.next = ((self.arrival.val().len + self.mtu.val() - 1) >> self.mtu_log.val())
            >> self.arrival.val().path_mtu;
        self.packets.next = bit_cast::<24, 32>(self.round_up.val());
        if !self.arrival.val().len.any() {
            self.packets.next = 1.into();
        }
        self.measured.next.packets = self.packets.val();

        // With more to follow a packet is full and leaves something; the last brings exactly what is missing.
        self.payload.next = bit_cast::<32, 13>(self.arrival.val().payload_len);
        self.remaining.next = self.standing.val().left;
        if self.begins.val() {
            self.remaining.next = self.arrival.val().len;
        }
        self.measured.next.remaining = self.remaining.val();
        self.is_full.next = (self.payload.val() == self.mtu.val()) & (self.remaining.val() > self.mtu.val());
        self.is_rest.next =
            (self.payload.val() == self.remaining.val()) & (self.payload.val() <= self.mtu.val());
        self.fits.next = ((self.is_first.val() | self.is_middle.val()) & self.is_full.val())
            | ((self.is_last.val() | self.is_only.val()) & self.is_rest.val());
        self.is_too_long.next = self.arrival.val().len > self.message_max.val();
        self.measured.next.may_write = self.fits.val() & self.standing.val().in_message;
        if self.begins.val() {
            self.measured.next.may_write = self.fits.val()
                & !self.standing.val().in_message
                & !self.is_too_long.val()
                & (self.arrival.val().rights & self.remote_write.val()).any();
        }
        self.measured.next.may_read = !self.is_too_long.val()
            & !self.payload.val().any()
            & (self.arrival.val().rights & self.remote_read.val()).any();
    }
}
