//! What is known of the RPCs of each queue pair: which ran, which still run, and how they ended.

#[cfg(test)]
mod model;
pub mod search;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;

use search::Search;

use super::records::{Call, Calling, Ended, NO_KERNEL, News, PLACES_LOG};
use crate::constant::number;
use crate::host::work::QpChange;
use crate::prim::fifo::Fifo;
use crate::prim::ram::{BlockRam, UltraRam};
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::record;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::TxFailure;

/// RPCs of a queue pair that are known.
const PLACES: usize = 1 << PLACES_LOG;
/// log2 of the questions that wait.
const QUESTIONS_LOG: usize = 3;
/// [`News::answer`]: those of [`Answer`](crate::transport::records::Answer).
pub const FINISHED: u8 = 5;
/// Likewise.
pub const REPLAY: u8 = 6;
/// Likewise.
pub const PENDING: u8 = 7;

record! {
    /// The RPCs of a queue pair.
    pub struct CallRow {
        /// Places that hold one.
        pub known: Bits<PLACES>,
        /// Those of them whose answers are kept.
        pub done: Bits<PLACES>,
        /// Nothing begins for it any more.
        pub stopped: Bit,
    }
}

record! {
    /// An RPC.
    pub struct CallEntry {
        /// First PSN of its answer.
        pub psn: Bits<24>,
        /// PSNs reserved for it.
        pub reserved: Bits<9>,
        /// Its status, when it has one.
        pub status: Bits<32>,
        /// Bytes of its answer, likewise.
        pub length: Bits<17>,
    }
}

block! {
    /// Keeps the last 16 RPCs of each of `2^QPS` queue pairs, hands new ones on, and answers what is asked again.
    ///
    /// What runs is never handed on twice: only packets that are accepted come here as such, and those that came again are
    /// looked up. Of several RPCs with the same PSN, a lap of PSNs apart, the newest is meant.
    ///
    /// - **Ports** `call`: packets of RPCs, in order. `given`: those for a kernel, for its port, `gives_up` or not. `ended`: answers that are
    ///   complete, and again when they are kept. `news`: `Finished` for each end, and for each RPC without a kernel when it is
    ///   complete; for one that is asked for again `Replay` if its answer is kept and has that packet, `Pending` if it still runs, nothing if
    ///   it is not known. `failure`: an answer could not be kept. `change`: a queue pair that resets is
    ///   forgotten; what comes of one that has stopped is handed on as `gives_up`. A cycle high: `asks`: a question was begun to be looked up in the cycle before; `drops`: one had no room. `ready`: the rows are scrubbed. `busy`:
    ///   they are not, or something is inside.
    /// - **Latency** 2 cycles from `call` to `given`, 3 to `news`, as from `ended`; 5 to 20 for a question. **Rate** an operation every 2
    ///   cycles; a question takes 4 to 19.
    /// - **Order** changes, then ends, then calls, then questions. What is told of an RPC that has ended is told behind what was told before.
    /// - **Backpressure** 8 questions wait, further ones are dropped, and the peer asks again: `call` waits only for `given`, `news` and `failure`, whose
    ///   takers wait for nobody, and for at most one question. No combinational path from port to port, but that `call.ready` follows
    ///   all `valid`s.
    /// - **Reset** forgets everything and scrubs a row a cycle, with `ready` low; all wait.
    /// - **Limits** `RING` is `QPS + 4`; anything else panics when the block is built. Queue pairs beyond the table share the rows of
    ///   those below.
    pub struct Calls<const QPS: usize, const RING: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub call: StreamSink<Call>,
        pub ended: StreamSink<Ended>,
        pub change: StreamSink<QpChange>,
        pub given: StreamSource<Call>,
        pub news: StreamSource<News>,
        pub failure: StreamSource<TxFailure>,
        pub asks: Signal<Out, Bit>,
        pub drops: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        rows: BlockRam<CallRow, QPS>,
        entries: UltraRam<CallEntry, RING> = entries::<QPS, RING>(),
        questions: Fifo<Call, QUESTIONS_LOG>,
        search: Search,
        handed: Skid<Call>,
        told: Fifo<News, 2>,
        failures: Fifo<TxFailure, 2>,
        is_scrubbing: Reg<Bit>,
        /// An operation's row and entry are there; which kind it is.
        is_acting: Reg<Bit>,
        is_change: Reg<Bit>,
        is_end: Reg<Bit>,
        stops: Reg<Bit>,
        held: Reg<Call>,
        end: Reg<Ended>,
        /// Of the operation; after reset the row to be cleared.
        queue_pair: Reg<Bits<QPS>>,
        was_dropped: Reg<Bit>,
        was_asked: Reg<Bit>,
        is_again: Signal<Local, Bit>,
        has_room: Signal<Local, Bit>,
        takes_change: Signal<Local, Bit>,
        takes_end: Signal<Local, Bit>,
        takes_call: Signal<Local, Bit>,
        begins_search: Signal<Local, Bit>,
        chosen: Signal<Local, Bits<QPS>>,
        place: Signal<Local, Bits<PLACES_LOG>>,
        acts_change: Signal<Local, Bit>,
        acts_end: Signal<Local, Bit>,
        acts_call: Signal<Local, Bit>,
        has_kernel: Signal<Local, Bit>,
        gives_up: Signal<Local, Bit>,
        enters: Signal<Local, Bit>,
        is_known: Signal<Local, Bit>,
        at: Signal<Local, Bits<PLACES_LOG>>,
        changed: Signal<Local, CallRow>,
        entered: Signal<Local, CallEntry>,
        tells: Signal<Local, Bit>,
        fact: Signal<Local, News>,
        again: Constant<Bits<2>> = number(Calling::Again as u8),
        no_kernel: Constant<Bits<4>> = number(NO_KERNEL),
        finished: Constant<Bits<3>> = number(FINISHED),
        general: Constant<Bits<8>> = number(Status::General as u8),
        nothing: Constant<CallRow> = Constant::new(CallRow::default()),
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
    }
}

fn entries<const QPS: usize, const RING: usize>() -> UltraRam<CallEntry, RING> {
    assert_eq!(RING, QPS + PLACES_LOG, "2^{QPS} queue pairs have 2^{RING} RPCs");
    UltraRam::default()
}

impl<const QPS: usize, const RING: usize> Logic for Calls<QPS, RING> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "two cycles of three kinds of operation, and what they tell")]
    fn update(&mut self) {
        clock!(self, clock, rows, entries, questions, search, handed, told, failures);
        dff_setup!(self, clock, was_dropped, was_asked);
        dff_setup!(self, clock, is_scrubbing, is_acting, is_change, is_end, stops, held, end, queue_pair);
        self.questions.reset.next = self.reset.val();
        self.search.reset.next = self.reset.val();
        self.handed.reset.next = self.reset.val();
        self.told.reset.next = self.reset.val();
        self.failures.reset.next = self.reset.val();

        // Choose. What is told has room: an operation tells one thing at most.
        self.is_again.next = self.call.payload.val().calling == self.again.val();
        self.has_room.next = !self.is_scrubbing.q.val()
            & !self.is_acting.q.val()
            & !self.search.busy.val()
            & self.told.sink.ready.val()
            & self.failures.sink.ready.val()
            & self.handed.sink.ready.val();
        self.takes_change.next = self.has_room.val() & self.change.valid.val();
        self.takes_end.next = self.has_room.val() & !self.change.valid.val() & self.ended.valid.val();
        self.takes_call.next = self.has_room.val()
            & !self.change.valid.val()
            & !self.ended.valid.val()
            & self.call.valid.val()
            & !self.is_again.val();
        self.begins_search.next = self.has_room.val()
            & !self.change.valid.val()
            & !self.ended.valid.val()
            & (!self.call.valid.val() | self.is_again.val())
            & self.questions.source.valid.val();
        self.change.ready.next = self.has_room.val();
        self.ended.ready.next = self.takes_end.val();
        self.call.ready.next = self.takes_call.val() | self.is_again.val();
        self.questions.sink.valid.next = self.call.valid.val() & self.is_again.val();
        self.questions.sink.payload.next = self.call.payload.val();
        self.questions.source.ready.next = self.begins_search.val();
        self.was_dropped.d.next =
            self.call.valid.val() & self.is_again.val() & !self.questions.sink.ready.val();
        self.was_asked.d.next = self.begins_search.val();
        self.drops.next = self.was_dropped.q.val();
        self.asks.next = self.was_asked.q.val();

        self.chosen.next = bit_cast::<QPS, 24>(self.call.payload.val().qpn);
        self.place.next = self.call.payload.val().place;
        if self.takes_change.val() {
            self.chosen.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
        }
        if self.takes_end.val() {
            self.chosen.next = bit_cast::<QPS, 24>(self.ended.payload.val().qpn);
            self.place.next = self.ended.payload.val().place;
        }
        if self.begins_search.val() {
            self.chosen.next = bit_cast::<QPS, 24>(self.questions.source.payload.val().qpn);
        }
        if self.has_room.val() {
            self.is_change.d.next = self.takes_change.val();
            self.is_end.d.next = self.takes_end.val();
            self.stops.d.next = self.change.payload.val().stops & !self.change.payload.val().resets;
            self.held.d.next = self.call.payload.val();
            self.end.d.next = self.ended.payload.val();
            self.queue_pair.d.next = self.chosen.val();
        }
        self.is_acting.d.next = self.takes_call.val()
            | self.takes_end.val()
            | (self.takes_change.val()
                & (self.change.payload.val().resets | self.change.payload.val().stops));
        self.rows.read_enable.next = self.has_room.val();
        self.rows.read_address.next = self.chosen.val();
        self.entries.read_enable.next = self.has_room.val() | self.search.looks.val();
        self.entries.read_address.next =
            (bit_cast::<RING, QPS>(self.chosen.val()) << 4) | bit_cast::<RING, PLACES_LOG>(self.place.val());
        if self.search.looks.val() {
            self.entries.read_address.next = (bit_cast::<RING, QPS>(self.queue_pair.q.val()) << 4)
                | bit_cast::<RING, PLACES_LOG>(self.search.place.val());
        }

        // Act.
        self.acts_change.next = self.is_acting.q.val() & self.is_change.q.val();
        self.acts_end.next = self.is_acting.q.val() & self.is_end.q.val();
        self.acts_call.next = self.is_acting.q.val() & !self.is_change.q.val() & !self.is_end.q.val();
        self.has_kernel.next = self.held.q.val().kernel != self.no_kernel.val();
        self.handed.sink.valid.next = self.acts_call.val() & self.has_kernel.val();
        self.gives_up.next = self.held.q.val().gives_up | self.rows.read_data.val().stopped;
        self.handed.sink.payload.next = self.held.q.val();
        self.handed.sink.payload.next.gives_up = self.gives_up.val();
        StreamSource::<Call>::link(&mut self.given, &mut self.handed.source);
        self.enters.next = self.acts_call.val() & self.held.q.val().ends & !self.gives_up.val();
        self.at.next = self.held.q.val().place;
        if self.is_end.q.val() {
            self.at.next = self.end.q.val().place;
        }
        self.is_known.next = self.rows.read_data.val().known.get_bit(self.at.val().index());
        self.changed.next = self.rows.read_data.val();
        if self.enters.val() {
            self.changed.next.known =
                self.rows.read_data.val().known.replace_bit(self.at.val().index(), true);
            self.changed.next.done =
                self.rows.read_data.val().done.replace_bit(self.at.val().index(), !self.has_kernel.val());
        }
        if self.acts_end.val() & self.is_known.val() & self.end.q.val().is_kept {
            self.changed.next.done = self.rows.read_data.val().done.replace_bit(self.at.val().index(), true);
        }
        if self.acts_change.val() {
            self.changed.next = self.nothing.val();
            if self.stops.q.val() {
                self.changed.next = self.rows.read_data.val();
                self.changed.next.stopped = true;
            }
        }
        self.rows.write_enable.next = self.is_acting.q.val() | self.is_scrubbing.q.val();
        self.rows.write_address.next = self.queue_pair.q.val();
        self.rows.write_data.next = self.changed.val();
        if self.is_scrubbing.q.val() {
            self.rows.write_data.next = self.nothing.val();
            self.queue_pair.d.next = self.queue_pair.q.val() + 1;
            self.is_scrubbing.d.next = self.queue_pair.q.val() != self.last.val();
        }
        self.entered.next = self.entries.read_data.val();
        if self.acts_end.val() {
            self.entered.next.status = self.end.q.val().status;
            self.entered.next.length = self.end.q.val().length;
        } else {
            self.entered.next.psn = self.held.q.val().psn;
            self.entered.next.reserved = self.held.q.val().reserved;
            self.entered.next.status = bit_cast::<32, 3>(self.held.q.val().refusal);
            self.entered.next.length = 0.into();
        }
        self.entries.write_enable.next = self.enters.val() | self.acts_end.val();
        self.entries.write_address.next = (bit_cast::<RING, QPS>(self.queue_pair.q.val()) << 4)
            | bit_cast::<RING, PLACES_LOG>(self.at.val());
        self.entries.write_data.next = self.entered.val();

        // Look up what is asked again.
        self.search.begins.next = self.begins_search.val();
        self.search.question.next = self.questions.source.payload.val();
        self.search.row.next = self.rows.read_data.val();
        self.search.entry.next = self.entries.read_data.val();

        // Tell. A place in the staging comes back only from who hears of it.
        self.tells.next = (self.enters.val() & !self.has_kernel.val())
            | (self.acts_end.val()
                & !self.end.q.val().is_lost
                & (self.is_known.val() | !self.end.q.val().is_kept));
        self.fact.next.answer = self.finished.val();
        self.fact.next.qpn = self.held.q.val().qpn;
        self.fact.next.pd = self.held.q.val().pd;
        self.fact.next.path_mtu = self.held.q.val().path_mtu;
        self.fact.next.place = self.at.val();
        self.fact.next.psn = 0.into();
        self.fact.next.msn = 0.into();
        self.fact.next.before = 0.into();
        self.fact.next.length = self.entered.val().length;
        self.fact.next.status = self.entered.val().status;
        self.fact.next.staged = self.acts_end.val() & !self.end.q.val().is_kept;
        self.fact.next.stage = self.end.q.val().stage;
        if self.acts_end.val() {
            self.fact.next.qpn = self.end.q.val().qpn;
        }
        if self.search.tells.val() {
            self.fact.next = self.search.news.val();
        }
        self.told.sink.valid.next = self.tells.val() | self.search.tells.val();
        self.told.sink.payload.next = self.fact.val();
        StreamSource::<News>::link(&mut self.news, &mut self.told.source);
        self.failures.sink.valid.next = self.acts_end.val() & self.end.q.val().is_lost & self.is_known.val();
        self.failures.sink.payload.next.is_response = true;
        self.failures.sink.payload.next.qpn = self.end.q.val().qpn;
        self.failures.sink.payload.next.psn = self.entries.read_data.val().psn;
        self.failures.sink.payload.next.slot = 0.into();
        self.failures.sink.payload.next.status = self.general.val();
        self.failures.sink.payload.next.vendor = 0.into();
        StreamSource::<TxFailure>::link(&mut self.failure, &mut self.failures.source);

        self.ready.next = !self.is_scrubbing.q.val();
        self.busy.next = self.is_scrubbing.q.val()
            | self.is_acting.q.val()
            | self.search.busy.val()
            | self.questions.source.valid.val()
            | self.handed.source.valid.val()
            | self.told.source.valid.val()
            | self.failures.source.valid.val();
        if self.reset.val() {
            self.is_scrubbing.d.next = true;
            self.is_acting.d.next = false;
            self.was_dropped.d.next = false;
            self.was_asked.d.next = false;
            self.queue_pair.d.next = 0.into();
        }
    }
}
