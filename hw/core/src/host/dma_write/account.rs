//! Who is owed a response: the tickets.

use rust_hdl::prelude::*;

use super::Failed;
use super::split::Burst;
use crate::constant::number;
use crate::host::axi::WriteResponse;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

/// Bursts without a response, unless the constructor says otherwise: as many as AMD's bridge keeps.
const OUTSTANDING: usize = 32;
/// `2^LOG` bursts and empty commands can be waited for.
const PENDING_LOG: usize = 6;

record! {
    /// A burst that waits for its response, or an empty command for its turn.
    pub struct Pending {
        pub ends: Bit,
        pub is_empty: Bit,
    }
}

block! {
    /// Counts bursts out and responses in, and says which commands are done.
    ///
    /// - **Ports** `enters`, `burst`: this burst goes out, only with `room`; `b`: responses, in the order of the bursts;
    ///   the rest as in [`DmaWrite`](super::DmaWrite).
    /// - **Latency** 1 cycle from `enters` to `issued`, from `b` to `done`. **Rate** 1 burst and 1 response per cycle.
    /// - **Backpressure** `b` waits for a burst to belong to; `failed` never stalls it.
    /// - **Reset** forgets all bursts; all counts begin at 0.
    pub struct Account {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub enters: Signal<In, Bit>,
        pub burst: Signal<In, Burst>,
        pub room: Signal<Out, Bit>,
        pub b: StreamSink<WriteResponse>,
        pub issued: Signal<Out, Bits<16>>,
        pub done: Signal<Out, Bits<16>>,
        pub failed: StreamSource<Failed>,
        pub missed: Signal<Out, Bits<32>>,
        pub busy: Signal<Out, Bit>,
        pending: Fifo<Pending, PENDING_LOG>,
        failures: Fifo<Failed, 4>,
        outstanding: Reg<Bits<7>>,
        issued_count: Reg<Bits<16>>,
        done_count: Reg<Bits<16>>,
        missed_count: Reg<Bits<32>>,
        /// An earlier burst of the oldest command had a bad response.
        spoilt: Reg<Bit>,
        responds: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        is_bad: Signal<Local, Bit>,
        fails: Signal<Local, Bit>,
        went_out: Signal<Local, Bits<7>>,
        limit: Constant<Bits<7>> = number(OUTSTANDING),
    }
}

impl Account {
    /// An account of at most `outstanding` bursts.
    ///
    /// # Panics
    /// If `outstanding` is not in 1 to 64.
    #[must_use]
    pub fn new(outstanding: usize) -> Self {
        let capacity = 1 << PENDING_LOG;
        assert!(
            (1..=capacity).contains(&outstanding),
            "1 to {capacity} bursts may be outstanding, not {outstanding}"
        );
        Self { limit: number(outstanding), ..Self::default() }
    }
}

impl Logic for Account {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, pending, failures);
        dff_setup!(self, clock, outstanding, issued_count, done_count, missed_count, spoilt);
        self.pending.reset.next = self.reset.val();
        self.failures.reset.next = self.reset.val();
        self.issued.next = self.issued_count.q.val();
        self.done.next = self.done_count.q.val();
        self.missed.next = self.missed_count.q.val();
        // Whatever is inside belongs to a command that is not done.
        self.busy.next =
            (self.issued_count.q.val() != self.done_count.q.val()) | self.failures.source.valid.val();

        self.room.next = (self.outstanding.q.val() != self.limit.val()) & self.pending.sink.ready.val();
        self.pending.sink.valid.next = self.enters.val();
        self.pending.sink.payload.next.ends = self.burst.val().ends;
        self.pending.sink.payload.next.is_empty = self.burst.val().is_empty;
        self.issued_count.d.next = self.issued_count.q.val() + (self.enters.val() & self.burst.val().starts);

        self.b.ready.next = self.pending.source.valid.val() & !self.pending.source.payload.val().is_empty;
        self.responds.next = self.b.valid.val()
            & self.pending.source.valid.val()
            & !self.pending.source.payload.val().is_empty;
        self.pending.source.ready.next = self.b.valid.val() | self.pending.source.payload.val().is_empty;
        self.ends.next = self.pending.source.payload.val().ends
            & (self.responds.val()
                | (self.pending.source.valid.val() & self.pending.source.payload.val().is_empty));
        self.went_out.next = self.outstanding.q.val() + (self.enters.val() & !self.burst.val().is_empty);
        self.outstanding.d.next = self.went_out.val();
        self.is_bad.next = self.spoilt.q.val() | self.b.payload.val().resp.any();
        if self.responds.val() {
            self.outstanding.d.next = self.went_out.val() - 1;
            self.spoilt.d.next = self.is_bad.val() & !self.ends.val();
        }
        self.done_count.d.next = self.done_count.q.val() + self.ends.val();

        self.fails.next = self.responds.val() & self.ends.val() & self.is_bad.val();
        self.failures.sink.valid.next = self.fails.val();
        self.failures.sink.payload.next.ticket = self.done_count.q.val() + 1;
        StreamSource::<Failed>::link(&mut self.failed, &mut self.failures.source);
        if self.fails.val() & !self.failures.sink.ready.val() {
            self.missed_count.d.next = self.missed_count.q.val() + 1;
        }
        if self.reset.val() {
            self.outstanding.d.next = 0.into();
            self.issued_count.d.next = 0.into();
            self.done_count.d.next = 0.into();
            self.missed_count.d.next = 0.into();
            self.spoilt.d.next = false;
        }
    }
}
