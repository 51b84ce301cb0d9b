//! What has to be done for a request.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;
use stroma_abi::desc::region::rights;

use super::callee::Callee;
use super::classify::Kind;
use super::decide::Verdict;
use super::fit::{Fit, WORD_BYTES};
use super::receipt::Receipt;
use super::reply::Reply;
use super::standing::Standing;
use crate::constant::number;
use crate::fabric::records::{Calling, PLACES_LOG};
use crate::transport::records::{Arrival, Atomic, DEFERRED_LOG, Errand, List};

block! {
    /// Puts the errand of a request together. Combinational.
    ///
    /// - **Ports** `arrival`, `kind`, `fit`, `callee`, `verdict`: the request, and what becomes of it; `reply`: what the peer hears;
    ///   `receipt`: what the owner of its receive does; `standing`: what was known before it; `deferred_place`: that of the next request that is
    ///   deferred. `errand`: what has to be done. Without `stores` and `loads`, `slot` means nothing; without `span`, `va`, `key` and
    ///   `need` mean nothing, but for an RPC that begins, whose `need` is all that its peer may do; without `answer`, `syndrome`; without `list`, `srq` and `offset`; without `atomic`, `value` and
    ///   `compare`; without `call`, all that is said of one, and of one that came again all but `place`; without
    ///   either of the two, `place`; without `completes`, `cq`, `opcode`,
    ///   `detail`, `flags` and, but for an RPC that begins, `length`; without that and `list`, `index`.
    pub struct Commission {
        pub arrival: Signal<In, Arrival>,
        pub kind: Signal<In, Kind>,
        pub fit: Signal<In, Fit>,
        pub callee: Signal<In, Callee>,
        pub verdict: Signal<In, Verdict>,
        pub reply: Signal<In, Reply>,
        pub receipt: Signal<In, Receipt>,
        pub standing: Signal<In, Standing>,
        pub deferred_place: Signal<In, Bits<DEFERRED_LOG>>,
        pub errand: Signal<Out, Errand>,
        has_bytes: Signal<Local, Bit>,
        is_ended: Signal<Local, Bit>,
        last_place: Signal<Local, Bits<PLACES_LOG>>,
        goes_on: Signal<Local, Bit>,
        no_list: Constant<Bits<2>> = number(List::None as u8),
        own: Constant<Bits<2>> = number(List::Receive as u8),
        shared: Constant<Bits<2>> = number(List::Shared as u8),
        no_atomic: Constant<Bits<2>> = number(Atomic::None as u8),
        add: Constant<Bits<2>> = number(Atomic::Add as u8),
        swap: Constant<Bits<2>> = number(Atomic::Swap as u8),
        replay: Constant<Bits<2>> = number(Atomic::Replay as u8),
        no_call: Constant<Bits<2>> = number(Calling::None as u8),
        begins: Constant<Bits<2>> = number(Calling::Begins as u8),
        goes_on_call: Constant<Bits<2>> = number(Calling::GoesOn as u8),
        again: Constant<Bits<2>> = number(Calling::Again as u8),
        local_write: Constant<Bits<5>> = number(rights::LOCAL_WRITE),
        remote_write: Constant<Bits<5>> = number(rights::REMOTE_WRITE),
        remote_read: Constant<Bits<5>> = number(rights::REMOTE_READ),
        remote_atomic: Constant<Bits<5>> = number(rights::REMOTE_ATOMIC),
        word: Constant<Bits<32>> = number(WORD_BYTES),
        refused: Constant<Bits<8>> = number(Status::RemoteInvalid as u8),
    }
}

impl Logic for Commission {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "one line a field of the errand")]
    fn update(&mut self) {
        self.goes_on.next = self.verdict.val().sends | self.verdict.val().writes;
        self.has_bytes.next = self.arrival.val().payload_len.any();
        self.errand.next.ends = true;
        self.errand.next.is_awaited = !self.arrival.val().raw
            & (self.goes_on.val()
                | self.verdict.val().reads
                | self.verdict.val().applies
                | self.verdict.val().calls
                | self.verdict.val().refuses);
        self.errand.next.unreliable = self.kind.val().is_unreliable;
        self.errand.next.begins = self.kind.val().is_unreliable & self.kind.val().begins;
        self.errand.next.colour = self.arrival.val().colour;
        self.errand.next.qpn = self.arrival.val().qpn;
        self.errand.next.pd = self.arrival.val().pd;
        self.errand.next.path_mtu = self.arrival.val().path_mtu;
        self.errand.next.payload_len = self.arrival.val().payload_len;
        self.errand.next.has_value = false;
        // The payload of a request that is deferred goes to the store, and stays there as long.
        self.errand.next.stores = self.verdict.val().stays & !self.arrival.val().again;
        self.errand.next.loads = self.arrival.val().again;
        self.errand.next.slot = self.deferred_place.val();
        if self.arrival.val().again {
            self.errand.next.slot = self.arrival.val().slot;
        }
        if self.arrival.val().again & self.verdict.val().stays {
            self.errand.next.payload_len = 0.into();
        }

        // The range. Of a WRITE the whole message when it begins, so that one refused for its end writes nothing; then
        // each packet again, for the region may be gone since.
        self.errand.next.places = self.goes_on.val() & self.has_bytes.val();
        self.errand.next.va = self.arrival.val().va;
        self.errand.next.key = self.arrival.val().rkey;
        if self.kind.val().is_write & !self.kind.val().begins {
            self.errand.next.va = self.standing.val().va;
            self.errand.next.key = self.standing.val().key;
        }
        self.errand.next.need = self.remote_read.val();
        self.errand.next.span = 0.into();
        if self.goes_on.val() {
            self.errand.next.need = self.remote_write.val();
            self.errand.next.span = bit_cast::<32, 13>(self.arrival.val().payload_len);
        }
        if self.verdict.val().sends {
            self.errand.next.need = self.local_write.val();
        }
        if self.verdict.val().reads
            | self.verdict.val().repeats
            | (self.verdict.val().writes & self.kind.val().begins)
        {
            self.errand.next.span = self.arrival.val().len;
        }
        self.errand.next.list = self.no_list.val();
        if self.verdict.val().sends & self.has_bytes.val() {
            self.errand.next.list = self.own.val();
            if self.arrival.val().has_srq {
                self.errand.next.list = self.shared.val();
            }
        }
        self.errand.next.srq = self.arrival.val().srq;
        self.errand.next.offset = self.fit.val().before;

        self.errand.next.atomic = self.no_atomic.val();
        if self.verdict.val().applies {
            self.errand.next.need = self.remote_atomic.val();
            self.errand.next.span = self.word.val();
            self.errand.next.atomic = self.swap.val();
            if self.kind.val().adds {
                self.errand.next.atomic = self.add.val();
            }
        }
        if self.verdict.val().replays {
            self.errand.next.atomic = self.replay.val();
        }
        self.errand.next.value = self.arrival.val().a1;
        self.errand.next.compare = self.arrival.val().a2;

        // A kernel.
        self.errand.next.call = self.no_call.val();
        if self.verdict.val().calls_again {
            self.errand.next.call = self.again.val();
        }
        self.errand.next.place = self.standing.val().calls;
        self.last_place.next = self.standing.val().calls - 1;
        if self.verdict.val().calls {
            self.errand.next.call = self.begins.val();
            self.errand.next.need = self.arrival.val().rights;
            if !self.kind.val().begins {
                self.errand.next.call = self.goes_on_call.val();
                self.errand.next.place = self.last_place.val();
            }
        }
        if self.verdict.val().applies {
            self.errand.next.place = bit_cast::<4, 5>(self.standing.val().atomics);
        }
        self.is_ended.next = self.verdict.val().calls & self.kind.val().ends;
        self.errand.next.call_ends = self.is_ended.val();
        self.errand.next.kernel = self.callee.val().kernel;
        self.errand.next.refusal = self.callee.val().refusal;
        self.errand.next.reserved = self.callee.val().reserved;

        // The answer.
        self.errand.next.answer = self.reply.val().answer;
        self.errand.next.psn = self.reply.val().psn;
        self.errand.next.syndrome = self.reply.val().syndrome;
        self.errand.next.msn = self.reply.val().msn;
        self.errand.next.counts = self.reply.val().counts;
        self.errand.next.fresh = self.verdict.val().reads | self.is_ended.val();

        // A refusal is told by an event, whatever receive is open then: that one is recalled. A key that cannot be ended is
        // told by the receive of its SEND.
        self.errand.next.fails = self.verdict.val().refuses | self.verdict.val().denies;
        self.errand.next.status = 0.into();
        if self.verdict.val().completes {
            self.errand.next.status = self.receipt.val().status;
        }
        if self.verdict.val().refuses {
            self.errand.next.status = self.refused.val();
        }
        self.errand.next.completes = self.verdict.val().completes;
        self.errand.next.cq = self.arrival.val().receive_cq;
        self.errand.next.index = self.receipt.val().index;
        self.errand.next.opcode = self.receipt.val().opcode;
        self.errand.next.detail = self.arrival.val().imm;
        if self.verdict.val().concludes {
            self.errand.next.detail = self.standing.val().key;
        }
        self.errand.next.flags = self.receipt.val().flags;
        self.errand.next.length = self.receipt.val().length;
        if self.verdict.val().calls {
            self.errand.next.length = self.arrival.val().len;
        }
        self.errand.next.vendor = 0.into();
        if self.verdict.val().denies {
            self.errand.next.vendor = self.arrival.val().status;
        }
        self.errand.next.last_receive = self.verdict.val().is_last_receive;
        self.errand.next.retires = false;
        self.errand.next.tail = 0.into();
        self.errand.next.reads = 0.into();
    }
}
