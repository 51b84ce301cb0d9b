//! A step's verdict, put into records.

use rust_hdl::prelude::*;
use stroma_abi::desc::region::rights;

use super::judge::Verdict;
use super::rows::Answered;
use crate::constant::number;
use crate::transport::records::{Alarm, Answer, Arrival, Errand, Rewind, Sent};

block! {
    /// Fills in what a step tells others. Logic only.
    ///
    /// - **Ports** `arrival`, `entry`: what came, and the message; `place`: where its next data go; `verdict`, `after`: of the
    ///   step. `errand`; `rewind`, `alarm`: meant if the verdict says so.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Tell {
        pub arrival: Signal<In, Arrival>,
        pub entry: Signal<In, Sent>,
        pub place: Signal<In, Bits<64>>,
        pub verdict: Signal<In, Verdict>,
        pub after: Signal<In, Answered>,
        pub errand: Signal<Out, Errand>,
        pub rewind: Signal<Out, Rewind>,
        pub alarm: Signal<Out, Alarm>,
        no_answer: Constant<Bits<2>> = number(Answer::None as u8),
        write_right: Constant<Bits<5>> = number(rights::LOCAL_WRITE),
    }
}

impl Logic for Tell {
    #[hdl_gen]
    fn update(&mut self) {
        self.errand.next.ends = !self.verdict.val().continues;
        self.errand.next.colour = self.arrival.val().colour;
        self.errand.next.qpn = self.arrival.val().qpn;
        self.errand.next.pd = self.arrival.val().pd;
        self.errand.next.path_mtu = self.arrival.val().path_mtu;
        self.errand.next.payload_len = 0.into();
        if !self.verdict.val().continues {
            self.errand.next.payload_len = self.arrival.val().payload_len;
        }
        self.errand.next.places = self.verdict.val().places;
        self.errand.next.va = self.place.val();
        self.errand.next.key = self.entry.val().key;
        self.errand.next.need = self.write_right.val();
        self.errand.next.span = 0.into();
        if self.verdict.val().places {
            self.errand.next.span = bit_cast::<32, 13>(self.arrival.val().payload_len);
        }
        self.errand.next.answer = self.no_answer.val();
        self.errand.next.psn = 0.into();
        self.errand.next.msn = 0.into();
        self.errand.next.counts = false;
        self.errand.next.syndrome = 0.into();
        self.errand.next.fresh = false;
        self.errand.next.completes = self.verdict.val().completes;
        self.errand.next.cq = self.arrival.val().cq;
        self.errand.next.index = self.entry.val().index;
        self.errand.next.opcode = self.entry.val().opcode;
        self.errand.next.status = self.verdict.val().status;
        self.errand.next.vendor = self.verdict.val().vendor;
        self.errand.next.length = self.entry.val().length;
        if self.verdict.val().status.any() {
            self.errand.next.length = 0.into();
        }
        self.errand.next.fails = self.verdict.val().fails;
        self.errand.next.retires = self.verdict.val().retires;
        self.errand.next.tail = self.after.val().tail;
        self.errand.next.reads = self.after.val().reads;

        self.rewind.next.qpn = self.arrival.val().qpn;
        self.rewind.next.index = self.entry.val().index;
        self.rewind.next.slot = self.after.val().tail;
        self.rewind.next.psn = self.verdict.val().psn;
        self.rewind.next.skips = self.after.val().progress;
        self.alarm.next.qpn = self.arrival.val().qpn;
        self.alarm.next.timeout = self.arrival.val().timeout;
    }
}
