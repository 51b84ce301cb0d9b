//! Does a request keep the rules: its place in its message, the queue pair's right, its length?

use rust_hdl::prelude::*;
use stroma_abi::desc::region::rights;
use stroma_abi::desc::rpc::PARAMETERS_MAX;
use stroma_abi::wire::RpcTarget;

use super::callee::target_at;
use super::classify::Kind;
use super::measure::MTU_LOG;
use super::standing::Standing;
use crate::constant::number;
use crate::record;
use crate::transport::records::Arrival;

/// Bytes of the longest message that the specification knows.
pub const MESSAGE_MAX: u32 = 1 << 31;
/// Bytes that an atomic changes; their address is a multiple of it.
pub const WORD_BYTES: usize = 8;
/// Bytes of the longest answer to an RPC.
pub const ANSWER_MAX: u32 = 1 << 16;
/// Bytes of a word of parameters.
pub const PARAMETER_BYTES: usize = 4;

record! {
    /// How a request fits.
    pub struct Fit {
        /// It is one, and its queue pair has not failed.
        pub is_heard: Bit,
        /// And no key is being ended for it: while one is, nothing is answered, for every answer would acknowledge the SEND that
        /// asked for it.
        pub is_live: Bit,
        /// It keeps the rules.
        pub keeps_rules: Bit,
        /// A READ that keeps the rules, but for its place.
        pub may_repeat: Bit,
        /// WRITE, RPC: bytes of its message from this packet on.
        pub remaining: Bits<32>,
        /// SEND, WRITE: bytes of its message before this packet.
        pub before: Bits<32>,
        /// SEND, WRITE: bytes of its message up to the end of this packet.
        pub received: Bits<32>,
    }
}

block! {
    /// Holds a request against the rules. Combinational.
    ///
    /// - **Ports** `arrival`, `kind`: the request; `standing`: what is known of its queue pair. `fit`: how it fits.
    /// - **Limits** the numbers mean nothing of what breaks the rules.
    pub struct Fitting {
        pub arrival: Signal<In, Arrival>,
        pub kind: Signal<In, Kind>,
        pub standing: Signal<In, Standing>,
        pub fit: Signal<Out, Fit>,
        mtu: Signal<Local, Bits<32>>,
        payload: Signal<Local, Bits<32>>,
        remaining: Signal<Local, Bits<32>>,
        before: Signal<Local, Bits<32>>,
        received: Signal<Local, Bits<32>>,
        is_heard: Signal<Local, Bit>,
        is_open: Signal<Local, Bit>,
        may_open: Signal<Local, Bit>,
        is_full: Signal<Local, Bit>,
        is_within: Signal<Local, Bit>,
        is_too_long: Signal<Local, Bit>,
        has_place: Signal<Local, Bit>,
        is_in_step: Signal<Local, Bit>,
        may_send: Signal<Local, Bit>,
        may_go: Signal<Local, Bit>,
        is_due: Signal<Local, Bit>,
        may_write: Signal<Local, Bit>,
        may_read: Signal<Local, Bit>,
        may_apply: Signal<Local, Bit>,
        words: Signal<Local, Bits<8>>,
        parameters: Signal<Local, Bits<32>>,
        response_max: Signal<Local, Bits<32>>,
        has_parameters: Signal<Local, Bit>,
        may_begin: Signal<Local, Bit>,
        may_call: Signal<Local, Bit>,
        remote_write: Constant<Bits<5>> = number(rights::REMOTE_WRITE),
        remote_read: Constant<Bits<5>> = number(rights::REMOTE_READ),
        remote_atomic: Constant<Bits<5>> = number(rights::REMOTE_ATOMIC),
        rpc: Constant<Bits<5>> = number(rights::RPC),
        words_max: Constant<Bits<8>> = number(PARAMETERS_MAX / PARAMETER_BYTES),
        parameter_log: Constant<Bits<2>> = number(PARAMETER_BYTES.ilog2()),
        answer_max: Constant<Bits<32>> = number(ANSWER_MAX),
        words_at: Constant<Bits<7>> = number(target_at(RpcTarget::PARAMETER_WORDS)),
        response_max_at: Constant<Bits<7>> = number(target_at(RpcTarget::RESPONSE_MAX)),
        message_max: Constant<Bits<32>> = number(MESSAGE_MAX),
        within_word: Constant<Bits<64>> = number(WORD_BYTES - 1),
        smallest_mtu: Constant<Bits<32>> = number(1 << MTU_LOG),
    }
}

impl Logic for Fitting {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_heard.next =
            !self.standing.val().failed & !self.kind.val().is_recall & !self.kind.val().is_parted;
        self.fit.next.is_heard = self.is_heard.val();
        self.fit.next.is_live = self.is_heard.val() & !self.standing.val().parting;
        self.mtu.next = self.smallest_mtu.val() << self.arrival.val().path_mtu;
        self.payload.next = bit_cast::<32, 13>(self.arrival.val().payload_len);
        self.remaining.next = self.standing.val().left;
        self.before.next = self.standing.val().received;
        if self.kind.val().begins {
            self.remaining.next = self.arrival.val().len;
            self.before.next = 0.into();
        }
        self.received.next = self.before.val() + self.payload.val();
        self.fit.next.remaining = self.remaining.val();
        self.fit.next.before = self.before.val();
        self.fit.next.received = self.received.val();
        self.is_open.next =
            self.standing.val().in_write | self.standing.val().in_send | self.standing.val().in_call;
        // On an unreliable connection the beginning of a message is the end of one that lacks something.
        self.may_open.next = !self.is_open.val() | self.kind.val().is_unreliable;
        self.is_full.next = self.payload.val() == self.mtu.val();
        self.is_within.next = self.payload.val() <= self.mtu.val();
        self.is_too_long.next = self.arrival.val().len > self.message_max.val();

        // How long a SEND is its end tells: with more to follow a packet is full, and only what is one packet is empty.
        self.has_place.next = self.standing.val().in_send;
        if self.kind.val().begins {
            self.has_place.next = self.may_open.val();
        }
        self.is_in_step.next = self.is_full.val();
        if self.kind.val().ends {
            self.is_in_step.next = self.is_within.val() & (self.kind.val().begins | self.payload.val().any());
        }
        self.may_send.next =
            self.has_place.val() & self.is_in_step.val() & (self.received.val() <= self.message_max.val());

        // How long a WRITE is its beginning tells: with more to follow a packet is full and leaves something, the last
        // brings exactly what is missing.
        self.may_go.next = self.standing.val().in_write;
        if self.kind.val().begins {
            self.may_go.next = self.may_open.val()
                & !self.is_too_long.val()
                & (self.arrival.val().rights & self.remote_write.val()).any();
        }
        self.is_due.next = self.is_full.val() & (self.remaining.val() > self.mtu.val());
        if self.kind.val().ends {
            self.is_due.next = self.is_within.val() & (self.payload.val() == self.remaining.val());
        }
        self.may_write.next = self.may_go.val() & self.is_due.val();

        // So it is with an RPC; and what it brings for the kernel must fit in it.
        self.words.next = bit_cast::<8, 64>(self.arrival.val().va >> self.words_at.val());
        self.parameters.next = bit_cast::<32, 8>(self.words.val()) << self.parameter_log.val();
        self.response_max.next = bit_cast::<32, 64>(self.arrival.val().va >> self.response_max_at.val());
        self.has_parameters.next = self.parameters.val() <= self.arrival.val().len;
        if self.kind.val().is_params {
            self.has_parameters.next = self.parameters.val() == self.arrival.val().len;
        }
        self.may_begin.next = !self.is_open.val()
            & !self.is_too_long.val()
            & self.has_parameters.val()
            & (self.words.val() <= self.words_max.val())
            & (self.response_max.val() <= self.answer_max.val())
            & (self.arrival.val().rights & self.rpc.val()).any();
        self.may_call.next = self.standing.val().in_call & self.is_due.val();
        if self.kind.val().begins {
            self.may_call.next = self.may_begin.val() & self.is_due.val();
        }

        self.may_read.next = !self.is_too_long.val()
            & !self.payload.val().any()
            & (self.arrival.val().rights & self.remote_read.val()).any();
        self.may_apply.next = !self.payload.val().any()
            & !(self.arrival.val().va & self.within_word.val()).any()
            & (self.arrival.val().rights & self.remote_atomic.val()).any();
        self.fit.next.may_repeat = self.may_read.val();
        self.fit.next.keeps_rules = (self.kind.val().is_send & self.may_send.val())
            | (self.kind.val().is_write & self.may_write.val())
            | (self.kind.val().is_read & self.may_read.val() & !self.is_open.val())
            | (self.kind.val().is_atomic & self.may_apply.val() & !self.is_open.val())
            | (self.kind.val().is_call & self.may_call.val());
    }
}
