//! The responder's order: is a request the next one, an old one, or one too many, and may it be carried out?

pub mod account;
pub mod advance;
pub mod callee;
pub mod classify;
pub mod commission;
pub mod decide;
pub mod fit;
pub mod judge;
pub mod measure;
pub mod model;
pub mod receipt;
pub mod reply;
#[cfg(test)]
mod rig;
pub mod standing;
#[cfg(test)]
mod tests;
pub mod wait;

use rust_hdl::prelude::*;
use stroma_abi::desc::statistics::RESPONDER_COUNTERS;

use account::Account;
use callee::{Callee, Callees};
use classify::{Classify, Kind};
use fit::{Fit, Fitting};
use judge::Judge;
use measure::{Measure, Measured};
use standing::Standing;
use wait::{Reasons, Waiting};

use super::records::{Arrival, DEFERRED_LOG, Deferral, Errand, ResponderRow, Stock};
use crate::constant::number;
use crate::fabric::records::{KERNEL_BITS, NO_KERNEL};
use crate::host::work::QpChange;
use crate::prim::fifo::Fifo;
use crate::prim::ram::BlockRam;
use crate::prim::reg::Reg;
use crate::state::command::{KeyVerb, KeyWork};
use crate::stream::{StreamSink, StreamSource};

/// log2 of the errands that wait.
const ERRANDS_LOG: usize = 2;

block! {
    /// Judges the requests of the peers of `2^QPS` queue pairs, each with all that the one before has changed.
    ///
    /// ```text
    ///   arrival ─▮─ rows ─────────────┬─ Classify, Fitting, Measure ─┬─▮─ Judge ─┬─ FIFO ─ errand
    ///   change ──┘                    │  Callees, Waiting ───────────┘           ├─ rows
    ///   look, counts ─ stock, answered, finished, room, roomy                    └─ take, part, reserves
    /// ```
    ///
    /// 1. The next request is judged in this order; the first that holds decides.
    ///    - Atomics of its queue pair are not finished, and it is no atomic, or is to be refused: it is deferred. So what follows an
    ///      atomic takes effect after it, no refusal overtakes its answer, and nobody else waits.
    ///    - It is to be refused, and an RPC before it, of which all has come, is not answered: likewise, if `roomy`. Otherwise it is
    ///      thrown away, and the peer is told to send again from there, each time it comes.
    ///    - It breaks a rule (its place in its message, the queue pair's right, its length, the address of an atomic, the
    ///      parameters and the longest answer of an RPC): it is
    ///      refused as invalid, and what follows of the queue pair is thrown away until it resets. Key and bounds are for
    ///      whoever carries out the errand.
    ///    - It is a READ, an atomic or the beginning of an RPC beyond `reads_in` that are not answered: likewise.
    ///    - It is the last packet of a SEND that ends a key, and a READ or an RPC is not answered, or `part` has no room: as before an RPC's
    ///      answer.
    ///    - It needs a receive (the beginning of a SEND, the end of a WRITE with immediate data), and there is none; or it is a
    ///      packet for a kernel that has no room: it is thrown away, and the peer is told to send again later.
    ///    - It is carried out.
    /// 2. What has been there before is thrown away while atomics are not finished. Otherwise a SEND or WRITE is acknowledged
    ///    again, with the last PSN before the next. A READ is carried out again when all its answer lies before the next
    ///    PSN, and it keeps the rules. An atomic is answered again by whoever knows what it found. Of an RPC the last packet, or
    ///    `RPC_PARAMS` that ask for more of its answer, go to whoever knows that, whatever they bring; those before are
    ///    acknowledged as a WRITE's are.
    /// 3. A request after a gap is thrown away; the first of them is answered with a NAK, unless the peer was told to send
    ///    again from there before. No gap is what a deferred request leaves: what follows that is deferred, too, until it has gone, so
    ///    the order stays that in which they came.
    /// 4. A recall gives up one receive: that of a SEND that has not ended, or else the next there is; of an SRQ only the
    ///    former, and the first recall tells that no more come back. No request is carried out afterwards.
    /// 5. A raw frame is the next whatever came before, and a SEND of one packet that nobody answers. Without a receive, or
    ///    after a recall, it is thrown away.
    /// 6. A SEND that ends a key is placed as any, and the key is told to `part`. Until its end is told by an arrival, the SEND is
    ///    neither completed nor acknowledged, nor is anything else answered, which would acknowledge it: all that is new is deferred,
    ///    or thrown away if the store is not `roomy`. Then the receive is completed with the key, and the SEND is acknowledged; if something new was thrown away, by
    ///    the NAK that makes the peer send it again. If the key could not be ended, the SEND is refused with a NAK, remote access
    ///    error, its receive is completed with that, and the queue pair fails. What is told of no SEND does nothing.
    ///
    /// 7. The kernel of an RPC is found where it begins, and kept until it ends; so is the status that answers it if there is none
    ///    ([`Callees`]), and such a stream is taken and thrown away. It counts as open from its beginning on. Its last packet
    ///    takes all the PSNs of the longest answer. RPCs of a queue pair have places in turn.
    ///
    /// 8. On an unreliable connection nothing is answered, and nothing comes again. What begins a message is the next request, whatever its
    ///    PSN. All else has to follow what came before it. What does not, breaks a rule, or finds no receive is thrown away, and with it the
    ///    message under way and what still comes of that. A receive that such a message has taken is for the next that needs one.
    ///
    /// - **Ports** `arrival`: requests that are for this card, recalls, and ends of keys; `part`: keys to be ended, in the cycle of `take`; `change`: a queue pair that resets is forgotten.
    ///   `look_*`: which receives are asked for, an SRQ's or the queue pair's own; `stock`: what there is of them, from the
    ///   cycle behind the look to the next; `take`: high for a cycle, one of the look before is taken, and no look from this
    ///   cycle on finds it.
    ///   `acts`: high for a cycle, `acted` is judged; `place`: where it goes if it is deferred; `roomy`: at most half of the store is in
    ///   use, at the same time as `stock`; `deferral`: what came of it, in the next cycle.
    ///   `counts_*`: whose counts are asked for; `answered`, `finished`: READs, atomics and RPCs of the peer that were answered or
    ///   dropped, and atomics that are done, both modulo 32, at the same time as `stock`. `room`, `room_more`: kernels that take the beginning of a request, or
    ///   another packet of the stream they have, at that time; `reserves`: high for a cycle, a packet is taken for the kernel
    ///   `reserves_kernel`, from the peer of `reserves_qpn`, which `reserves_begins` or `reserves_ends` a request; in the next cycle `room` knows of it. `errand`: one for each arrival, in order,
    ///   with `ends`, and with `is_awaited` for a request that is carried out or refused. Each other request gives one of these
    ///   pulses, unless it is deferred: `duplicates`, it came again; `early`, it comes after a gap, or had to be deferred without room for it; `rnr_naks`, there is no receive or no room;
    ///   `unwanted`, its queue pair has failed; `dropped`, it is of an unreliable connection, and not carried out. `naks`: a pulse for each refusal or gap that is told; a
    ///   key that could not be ended is counted by who carries the errand out, for it may come too late to be told. `tally`, `tally_index`: for a
    ///   cycle, what is counted of a queue pair, a bit for each of the abi's counters of responders; `responder_*`: what changes
    ///   of it, to be shown. `raw_taken`, `raw_lost`: a pulse for each raw frame that takes a receive, for each that is thrown away. `ready`: the rows are scrubbed. `busy`: they are not, or something is under way or waits in the FIFO.
    /// - **Latency** 3 cycles from `arrival` to `errand`; 2 to `take` and `reserves`. **Rate** an arrival or change every 2 cycles:
    ///   one is chosen in the cycle in which the one before is acted on. If both are of one queue pair, the row that is being
    ///   written takes the place of the one that is read.
    /// - **Order** changes before arrivals: each is one command of the host.
    /// - **Backpressure** 4 errands wait, then `arrival` does; `change` waits for nobody, and nobody for `part`, whose room must stay
    ///   until it is used. `look_*` and `counts_*` follow
    ///   `arrival` and `change` combinationally, to save a cycle; no other path leads from port to port.
    /// - **Reset** forgets everything and scrubs a row a cycle, with `ready` low; arrivals and changes wait.
    /// - **Limits** `QPS` from 1 to 24; `arrival` and `change` name queue pairs in the table. The path MTU has a code from 1
    ///   to 5. The counts begin at zero when a queue pair resets. Up to 15 kernels, of which several may have
    ///   an RPC op-code, and then take turns; `result_log` is 0, or 12 to 16.
    pub struct Sequence<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub arrival: StreamSink<Arrival>,
        pub change: StreamSink<QpChange>,
        pub look_enable: Signal<Out, Bit>,
        pub look_shared: Signal<Out, Bit>,
        pub look_number: Signal<Out, Bits<24>>,
        pub stock: Signal<In, Stock>,
        pub take: Signal<Out, Bit>,
        pub part: StreamSource<KeyWork>,
        pub counts_enable: Signal<Out, Bit>,
        pub counts_index: Signal<Out, Bits<QPS>>,
        pub answered: Signal<In, Bits<5>>,
        pub finished: Signal<In, Bits<5>>,
        pub roomy: Signal<In, Bit>,
        pub place: Signal<In, Bits<DEFERRED_LOG>>,
        pub acts: Signal<Out, Bit>,
        pub acted: Signal<Out, Arrival>,
        pub deferral: Signal<Out, Deferral>,
        pub room: Signal<In, Bits<16>>,
        pub room_more: Signal<In, Bits<16>>,
        pub reserves: Signal<Out, Bit>,
        pub reserves_kernel: Signal<Out, Bits<KERNEL_BITS>>,
        pub reserves_begins: Signal<Out, Bit>,
        pub reserves_ends: Signal<Out, Bit>,
        pub reserves_qpn: Signal<Out, Bits<24>>,
        pub errand: StreamSource<Errand>,
        pub duplicates: Signal<Out, Bit>,
        pub naks: Signal<Out, Bit>,
        pub rnr_naks: Signal<Out, Bit>,
        pub early: Signal<Out, Bit>,
        pub unwanted: Signal<Out, Bit>,
        pub dropped: Signal<Out, Bit>,
        pub tally: Signal<Out, Bits<RESPONDER_COUNTERS>>,
        pub tally_index: Signal<Out, Bits<QPS>>,
        pub responder_write: Signal<Out, Bit>,
        pub responder_index: Signal<Out, Bits<QPS>>,
        pub responder: Signal<Out, ResponderRow>,
        pub raw_taken: Signal<Out, Bit>,
        pub raw_lost: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        rows: BlockRam<Standing, QPS>,
        classify: Classify,
        fitting: Fitting,
        measure: Measure,
        callees: Callees,
        waiting: Waiting,
        judge: Judge,
        account: Account,
        errands: Fifo<Errand, ERRANDS_LOG>,
        is_scrubbing: Reg<Bit>,
        /// The row is there.
        is_looking: Reg<Bit>,
        /// The measures are there.
        is_acting: Reg<Bit>,
        is_change: Reg<Bit>,
        resets: Reg<Bit>,
        held: Reg<Arrival>,
        /// Of the operation; after reset the row to be cleared.
        queue_pair: Reg<Bits<QPS>>,
        /// The row written last.
        written: Reg<Standing>,
        /// It was written while this operation's was read, and is the newer one.
        is_newer: Reg<Bit>,
        kind: Reg<Kind>,
        fit: Reg<Fit>,
        measured: Reg<Measured>,
        callee: Reg<Callee>,
        reasons: Reg<Reasons>,
        /// Kernels behind the one that was called last.
        behind: Reg<Bits<16>>,
        was_duplicate: Reg<Bit>,
        was_negative: Reg<Bit>,
        was_not_ready: Reg<Bit>,
        was_early: Reg<Bit>,
        was_unwanted: Reg<Bit>,
        was_dropped: Reg<Bit>,
        counted: Reg<Bits<RESPONDER_COUNTERS>>,
        counted_of: Reg<Bits<QPS>>,
        was_raw_taken: Reg<Bit>,
        was_raw_lost: Reg<Bit>,
        was_deferral: Reg<Deferral>,
        has_room: Signal<Local, Bit>,
        starts: Signal<Local, Bit>,
        row: Signal<Local, Standing>,
        changed: Signal<Local, Standing>,
        writes: Signal<Local, Bit>,
        asks: Signal<Local, Bit>,
        chosen: Signal<Local, Bits<QPS>>,
        judges: Signal<Local, Bit>,
        calls: Signal<Local, Bit>,
        forgets: Signal<Local, Bit>,
        every: Constant<Bits<16>> = number(u16::MAX),
        nobody_called: Constant<Bits<KERNEL_BITS>> = number(NO_KERNEL),
        part_verb: Constant<Bits<2>> = number(KeyVerb::Part as u8),
        nothing: Constant<Standing> = Constant::new(Standing::default()),
        nobody: Constant<ResponderRow> = Constant::new(ResponderRow::default()),
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
        full: Constant<Bits<16>> = number(1 << ERRANDS_LOG),
        nearly_full: Constant<Bits<16>> = number((1 << ERRANDS_LOG) - 1),
    }
}

impl<const QPS: usize> Sequence<QPS> {
    /// For kernels with these RPC op-codes, whose places are their numbers.
    ///
    /// # Panics
    /// If there are more than 15.
    #[must_use]
    pub fn new(operations: &[Option<u16>]) -> Self {
        Self { callees: Callees::new(operations), ..Self::default() }
    }
}

impl<const QPS: usize> Logic for Sequence<QPS> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "three cycles and what is told of them: one line a wire")]
    fn update(&mut self) {
        clock!(self, clock, rows, errands);
        dff_setup!(self, clock, is_scrubbing, is_looking, is_acting, is_change, resets, held, queue_pair);
        dff_setup!(self, clock, written, is_newer, kind, fit, measured, callee, reasons, behind);
        dff_setup!(
            self,
            clock,
            was_duplicate,
            was_negative,
            was_not_ready,
            was_early,
            was_unwanted,
            was_dropped
        );
        dff_setup!(self, clock, counted, counted_of);
        dff_setup!(self, clock, was_raw_taken, was_raw_lost, was_deferral);
        self.errands.reset.next = self.reset.val();

        // Choose. The one that is acted on may need a place of its own among the errands.
        self.has_room.next = (self.errands.level.val() != self.full.val())
            & !(self.is_acting.q.val() & (self.errands.level.val() == self.nearly_full.val()));
        self.starts.next = !self.is_scrubbing.q.val()
            & !self.is_looking.q.val()
            & (self.change.valid.val() | (self.arrival.valid.val() & self.has_room.val()));
        self.change.ready.next = self.starts.val();
        self.arrival.ready.next = self.starts.val() & !self.change.valid.val();
        self.chosen.next = bit_cast::<QPS, 24>(self.arrival.payload.val().qpn);
        if self.change.valid.val() {
            self.chosen.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
        }
        self.writes.next = self.is_acting.q.val() & (!self.is_change.q.val() | self.resets.q.val());
        if self.starts.val() {
            self.is_change.d.next = self.change.valid.val();
            self.resets.d.next = self.change.payload.val().resets;
            self.held.d.next = self.arrival.payload.val();
            self.queue_pair.d.next = self.chosen.val();
            self.is_newer.d.next = self.writes.val() & (self.queue_pair.q.val() == self.chosen.val());
        }
        self.is_looking.d.next = self.starts.val();
        self.is_acting.d.next = self.is_looking.q.val();
        self.rows.read_enable.next = self.starts.val();
        self.rows.read_address.next = self.chosen.val();
        self.row.next = self.rows.read_data.val();
        if self.is_newer.q.val() {
            self.row.next = self.written.q.val();
        }
        self.asks.next = self.starts.val() & !self.change.valid.val();
        self.look_enable.next = self.asks.val();
        self.look_shared.next = self.arrival.payload.val().has_srq;
        self.look_number.next = self.arrival.payload.val().qpn;
        if self.arrival.payload.val().has_srq {
            self.look_number.next = self.arrival.payload.val().srq;
        }
        self.counts_enable.next = self.asks.val();
        self.counts_index.next = self.chosen.val();

        // Look.
        self.classify.arrival.next = self.held.q.val();
        self.kind.d.next = self.classify.kind.val();
        self.fitting.arrival.next = self.held.q.val();
        self.fitting.kind.next = self.classify.kind.val();
        self.fitting.standing.next = self.row.val();
        self.fit.d.next = self.fitting.fit.val();
        self.measure.arrival.next = self.held.q.val();
        self.measure.kind.next = self.classify.kind.val();
        self.measure.standing.next = self.row.val();
        self.measure.stock.next = self.stock.val();
        self.measure.answered.next = self.answered.val();
        self.measure.finished.next = self.finished.val();
        self.measure.part_room.next = self.part.ready.val();
        self.measured.d.next = self.measure.measured.val();
        self.callees.arrival.next = self.held.q.val();
        self.callees.kind.next = self.classify.kind.val();
        self.callees.standing.next = self.row.val();
        self.callees.room.next = self.room.val();
        self.callees.room_more.next = self.room_more.val();
        self.callees.behind.next = self.behind.q.val();
        self.callee.d.next = self.callees.callee.val();
        self.waiting.arrival.next = self.held.q.val();
        self.waiting.kind.next = self.classify.kind.val();
        self.waiting.measured.next = self.measure.measured.val();
        self.waiting.standing.next = self.row.val();
        self.waiting.roomy.next = self.roomy.val();
        self.reasons.d.next = self.waiting.reasons.val();

        // Act.
        self.judges.next = self.is_acting.q.val() & !self.is_change.q.val();
        self.forgets.next = self.is_acting.q.val() & self.is_change.q.val() & self.resets.q.val();
        self.judge.arrival.next = self.held.q.val();
        self.judge.kind.next = self.kind.q.val();
        self.judge.fit.next = self.fit.q.val();
        self.judge.measured.next = self.measured.q.val();
        self.judge.callee.next = self.callee.q.val();
        self.judge.reasons.next = self.reasons.q.val();
        self.judge.standing.next = self.row.val();
        self.judge.place.next = self.place.val();
        self.acts.next = self.judges.val();
        self.acted.next = self.held.q.val();
        self.was_deferral.d.next.stored =
            self.judges.val() & self.judge.verdict.val().stays & !self.held.q.val().again;
        self.was_deferral.d.next.judged = self.judges.val() & self.held.q.val().again;
        self.was_deferral.d.next.stays = self.judge.verdict.val().stays;
        self.was_deferral.d.next.follows = self.judge.verdict.val().follows;
        self.deferral.next = self.was_deferral.q.val();
        self.take.next = self.judges.val() & self.judge.verdict.val().takes;
        self.calls.next = self.judges.val()
            & self.judge.verdict.val().calls
            & (self.callee.q.val().kernel != self.nobody_called.val());
        self.reserves.next = self.calls.val();
        self.reserves_kernel.next = self.callee.q.val().kernel;
        self.reserves_qpn.next = self.held.q.val().qpn;
        self.reserves_begins.next = self.kind.q.val().begins;
        self.reserves_ends.next = self.kind.q.val().ends;
        if self.calls.val() & self.kind.q.val().begins {
            self.behind.d.next = (self.every.val() << self.callee.q.val().kernel) << 1;
        }
        self.part.valid.next = self.judges.val() & self.judge.verdict.val().parts;
        self.part.payload.next.verb = self.part_verb.val();
        self.part.payload.next.qpn = self.held.q.val().qpn;
        self.part.payload.next.pd = self.held.q.val().pd;
        self.part.payload.next.key = self.held.q.val().imm;
        self.part.payload.next.region = 0.into();
        self.part.payload.next.base = 0.into();
        self.part.payload.next.length = 0.into();
        self.part.payload.next.rights = 0.into();
        self.errands.sink.valid.next = self.judges.val();
        self.errands.sink.payload.next = self.judge.errand.val();
        StreamSource::<Errand>::link(&mut self.errand, &mut self.errands.source);
        self.was_duplicate.d.next = self.judges.val() & self.judge.verdict.val().is_duplicate;
        self.was_negative.d.next =
            self.judges.val() & (self.judge.verdict.val().refuses | self.judge.verdict.val().tells_gap);
        self.duplicates.next = self.was_duplicate.q.val();
        self.naks.next = self.was_negative.q.val();
        self.was_not_ready.d.next = self.judges.val() & self.judge.verdict.val().rests;
        self.rnr_naks.next = self.was_not_ready.q.val();
        self.was_early.d.next = self.judges.val() & self.judge.verdict.val().is_early;
        self.early.next = self.was_early.q.val();
        self.was_unwanted.d.next = self.judges.val() & self.judge.verdict.val().is_unwanted;
        self.unwanted.next = self.was_unwanted.q.val();
        self.was_dropped.d.next = self.judges.val() & self.judge.verdict.val().drops;
        self.dropped.next = self.was_dropped.q.val();
        self.account.kind.next = self.kind.q.val();
        self.account.measured.next = self.measured.q.val();
        self.account.verdict.next = self.judge.verdict.val();
        self.account.standing.next = self.row.val();
        self.counted.d.next = 0.into();
        if self.judges.val() {
            self.counted.d.next = self.account.counts.val();
        }
        self.counted_of.d.next = self.queue_pair.q.val();
        self.tally.next = self.counted.q.val();
        self.tally_index.next = self.counted_of.q.val();
        self.was_raw_taken.d.next =
            self.judges.val() & self.kind.q.val().is_raw & self.judge.verdict.val().sends;
        self.raw_taken.next = self.was_raw_taken.q.val();
        self.was_raw_lost.d.next = self.judges.val() & self.judge.verdict.val().loses;
        self.raw_lost.next = self.was_raw_lost.q.val();

        self.changed.next = self.nothing.val();
        if self.judges.val() {
            self.changed.next = self.judge.changed.val();
        }
        if self.writes.val() {
            self.written.d.next = self.changed.val();
        }
        self.rows.write_enable.next = self.is_scrubbing.q.val() | self.writes.val();
        self.rows.write_address.next = self.queue_pair.q.val();
        self.rows.write_data.next = self.changed.val();
        self.responder_write.next = self.writes.val();
        self.responder_index.next = self.queue_pair.q.val();
        self.responder.next.started = self.judge.changed.val().started;
        self.responder.next.expected = self.judge.changed.val().expected;
        self.responder.next.msn = self.judge.changed.val().msn;
        self.responder.next.gap_told = self.judge.changed.val().gap_told;
        self.responder.next.failed = self.judge.changed.val().failed;
        if self.forgets.val() {
            self.responder.next = self.nobody.val();
        }
        if self.is_scrubbing.q.val() {
            self.queue_pair.d.next = self.queue_pair.q.val() + 1;
            self.is_scrubbing.d.next = self.queue_pair.q.val() != self.last.val();
        }
        self.ready.next = !self.is_scrubbing.q.val();
        self.busy.next = self.is_scrubbing.q.val()
            | self.is_looking.q.val()
            | self.is_acting.q.val()
            | self.errands.source.valid.val();
        if self.reset.val() {
            self.is_scrubbing.d.next = true;
            self.is_looking.d.next = false;
            self.is_acting.d.next = false;
            self.queue_pair.d.next = 0.into();
            self.behind.d.next = 0.into();
            self.was_duplicate.d.next = false;
            self.was_negative.d.next = false;
            self.was_not_ready.d.next = false;
            self.was_early.d.next = false;
            self.was_unwanted.d.next = false;
            self.was_dropped.d.next = false;
            self.counted.d.next = 0.into();
            self.was_raw_taken.d.next = false;
            self.was_raw_lost.d.next = false;
            self.was_deferral.d.next.stored = false;
            self.was_deferral.d.next.judged = false;
        }
    }
}
