//! Check: before a byte moves, every place in this host that a WQE names is looked up.

pub mod ask;
pub mod intake;
pub mod model;
pub mod ranges;
#[cfg(test)]
mod rig;
pub mod settle;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::desc::wqe::UNITS_MAX;

use ask::{Ask, Expected, Range};
use intake::{Intake, Kind, Look};
use ranges::Ranges;
use settle::{Settle, Verdict};

use super::parse::operations::RESPONSE_MAX;
use super::work::Work;
use crate::prim::fifo::Fifo;
use crate::prim::ram::LutRam;
use crate::prim::skid::Skid;
use crate::state::access::XlatRequest;
use crate::state::mmu::XlatResponse;
use crate::stream::{StreamSink, StreamSource};

/// `2^LOG` units are held: those of two of the longest WQEs.
pub const HELD_LOG: usize = 4;
/// Bits of a place among them, with two more to tell full from empty, and units that are to come from those that came.
pub const PLACE_BITS: usize = HELD_LOG + 2;
/// `2^LOG` works are inside at most: with two questions each, as many as the MMU takes to answer them and more.
pub const WORKS_LOG: usize = 4;
/// `2^LOG` requests are unanswered at most.
pub const UNANSWERED_LOG: usize = 4;
/// Longest payload.
pub const LENGTH_MAX: u64 = 1 << 31;
/// Longest payload of an RPC: with its answer it takes no more PSNs than another of [`LENGTH_MAX`], whatever the path MTU.
pub const CALL_MAX: u64 = LENGTH_MAX - RESPONSE_MAX as u64;

const _: () = assert!(1 << HELD_LOG == 2 * UNITS_MAX, "one WQE is checked while the next arrives");

block! {
    /// Passes on WQEs that may be carried out, with their units, and all others with the status that refuses them.
    ///
    /// ```text
    ///   work ─ Intake ─ FIFO ───────────────────────────── Settle ─ checked
    ///            │ └─ Skid ─ Ranges ─ FIFO ─ Ask ── FIFO ─────▲ └─ units
    ///   work_units ─ held ──────▲─────────────│───────────────▲
    ///                                  xlat ─FIFO   answer ─FIFO
    /// ```
    ///
    /// A WQE with units and bytes is looked at: of GATHER and SCATTER the one place, then of all each entry of the list that
    /// has bytes; of an atomic that is where its result goes. Of an RPC first the place of its result is, as many bytes as its
    /// answer may have, with or without a payload. What requests name at the peer is the peer's to check, so inline
    /// data take no question there. Memory that a key stands for is one piece, so a range lies in it if its first byte and its
    /// last one do. What is written, by GATHER, SCATTER, READ, an atomic or the answer of an RPC, needs the right to be written. Defects are told in
    /// this order: entries whose bytes do not add up to the length ([`Defect::Sum`](super::parse::Defect)), a length beyond
    /// [`LENGTH_MAX`] or [`CALL_MAX`], the first range that is refused. A range that goes on behind address `2^64` is refused as out of
    /// bounds, without asking. Everything else passes as it is, and does not wait but for those before it.
    ///
    /// - **Ports** `work`, `work_units`: from [`Parse`](super::parse::Parse); `checked`, `units`: the same, in the same order,
    ///   without the units of a WQE that has got a status; the units of a work are offered from a cycle behind it on, be it
    ///   taken or not; `xlat`, `answer`: questions to the MMU as client 0 with tag 0, one byte each, and one answer to each, in
    ///   order; `busy`: something is inside.
    /// - **Latency** 1 cycle to `checked` and 2 to `units` if nothing is looked up, as of a request with inline data.
    ///   Otherwise 4 and 5 for one question and what the MMU takes, and one for each question more: 5 and 6 for a request
    ///   of one entry, 7 and 8 for a copy.
    ///   **Rate** a cycle for each unit or question, whichever are more, and at least one a work: 2 for a request of one entry,
    ///   an atomic, or inline data in two units; 4 for one of two entries, or a copy of one; 1 for work without units. One that
    ///   is refused keeps the next waiting for 2 cycles and one for each of its units.
    /// - **Backpressure** stalls `work` at 16 works inside or when units of those before are missing, `work_units` at 16
    ///   units, questions at 16 unanswered. `answer` is always taken. No combinational path from port to port; `checked` is
    ///   made of memories and registers.
    /// - **Reset** forgets everything; answers to questions from before must not come any more.
    /// - **Limits** `work` is as `Parse` gives it: 1 to 8 units follow, and they hold the entries or the
    ///   inline data; an atomic has one entry, and every other WQE with bytes that are not inline at least one.
    pub struct Check {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub work: StreamSink<Work>,
        pub work_units: StreamSink<Bits<512>>,
        pub xlat: StreamSource<XlatRequest>,
        pub answer: StreamSink<XlatResponse>,
        pub checked: StreamSource<Work>,
        pub units: StreamSource<Bits<512>>,
        pub busy: Signal<Out, Bit>,
        intake: Intake,
        works: Fifo<Work, WORKS_LOG>,
        kinds: Fifo<Kind, WORKS_LOG>,
        looks: Skid<Look>,
        /// The units, for those who look at them and for those who get them.
        listed: LutRam<Bits<512>, HELD_LOG>,
        held: LutRam<Bits<512>, HELD_LOG>,
        ranges: Ranges,
        range_queue: Fifo<Range, 2>,
        ask: Ask,
        questions: Fifo<XlatRequest, 2>,
        expected: Fifo<Expected, UNANSWERED_LOG>,
        verdicts: Fifo<Verdict, UNANSWERED_LOG>,
        settle: Settle,
    }
}

impl Logic for Check {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, intake, works, kinds, looks, listed, held, ranges);
        clock!(self, clock, range_queue, ask, questions, expected, verdicts, settle);
        self.intake.reset.next = self.reset.val();
        self.works.reset.next = self.reset.val();
        self.kinds.reset.next = self.reset.val();
        self.looks.reset.next = self.reset.val();
        self.ranges.reset.next = self.reset.val();
        self.range_queue.reset.next = self.reset.val();
        self.ask.reset.next = self.reset.val();
        self.questions.reset.next = self.reset.val();
        self.expected.reset.next = self.reset.val();
        self.verdicts.reset.next = self.reset.val();
        self.settle.reset.next = self.reset.val();

        StreamSink::<Work>::link(&mut self.work, &mut self.intake.work);
        StreamSink::<Bits<512>>::link(&mut self.work_units, &mut self.intake.work_units);
        StreamSource::<Work>::join(&mut self.intake.taken, &mut self.works.sink);
        StreamSource::<Kind>::join(&mut self.intake.kind, &mut self.kinds.sink);
        StreamSource::<Look>::join(&mut self.intake.look, &mut self.looks.sink);

        self.listed.write_enable.next = self.intake.write.val();
        self.listed.write_address.next = self.intake.write_at.val();
        self.listed.write_data.next = self.intake.unit.val();
        self.listed.read_address.next = self.ranges.read_at.val();
        self.ranges.found.next = self.listed.read_data.val();
        self.held.write_enable.next = self.intake.write.val();
        self.held.write_address.next = self.intake.write_at.val();
        self.held.write_data.next = self.intake.unit.val();
        self.held.read_address.next = bit_cast::<HELD_LOG, PLACE_BITS>(self.settle.at.val());
        self.settle.found.next = self.held.read_data.val();
        self.ranges.written.next = self.intake.written.val();
        self.settle.written.next = self.intake.written.val();
        self.intake.free_from.next = self.settle.at.val();

        StreamSource::<Look>::join(&mut self.looks.source, &mut self.ranges.look);
        StreamSource::<Range>::join(&mut self.ranges.range, &mut self.range_queue.sink);
        StreamSource::<Range>::join(&mut self.range_queue.source, &mut self.ask.range);
        StreamSource::<XlatRequest>::join(&mut self.ask.question, &mut self.questions.sink);
        StreamSource::<Expected>::join(&mut self.ask.expected, &mut self.expected.sink);
        StreamSource::<XlatRequest>::link(&mut self.xlat, &mut self.questions.source);

        // An unanswered question keeps its place in `expected`, so there is room for its answer. When all are answered the
        // FIFO may be full; but others have their answers from the same stream, and must not wait for that.
        self.answer.ready.next = true;
        self.verdicts.sink.valid.next = self.answer.valid.val();
        self.verdicts.sink.payload.next.ok = self.answer.payload.val().ok;
        self.verdicts.sink.payload.next.cause = self.answer.payload.val().cause;

        StreamSource::<Work>::join(&mut self.works.source, &mut self.settle.work);
        StreamSource::<Kind>::join(&mut self.kinds.source, &mut self.settle.kind);
        StreamSource::<Expected>::join(&mut self.expected.source, &mut self.settle.expected);
        StreamSource::<Verdict>::join(&mut self.verdicts.source, &mut self.settle.verdict);
        StreamSource::<Work>::link(&mut self.checked, &mut self.settle.checked);
        StreamSource::<Bits<512>>::link(&mut self.units, &mut self.settle.units);
        // A work stays in `works` until nothing is left of it before Settle but units that nobody wants.
        self.busy.next = self.works.source.valid.val() | self.settle.busy.val() | self.intake.busy.val();
    }
}
