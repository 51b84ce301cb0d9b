//! Check: before a byte moves, every place in this host that a WQE names is looked up.

pub mod ask;
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
use ranges::Ranges;
use settle::{Settle, Verdict};

use super::work::Work;
use crate::prim::fifo::Fifo;
use crate::prim::ram::LutRam;
use crate::state::access::XlatRequest;
use crate::state::mmu::XlatResponse;
use crate::stream::{StreamSink, StreamSource};

/// `2^LOG` units are held: those of two of the longest WQEs.
pub const HELD_LOG: usize = 4;
/// Bits of a place among them, with one more to tell full from empty.
pub const PLACE_BITS: usize = HELD_LOG + 1;
/// `2^LOG` requests are unanswered at most.
pub const UNANSWERED_LOG: usize = 4;
/// Longest payload.
pub const LENGTH_MAX: u64 = 1 << 31;

const _: () = assert!(1 << HELD_LOG == 2 * UNITS_MAX, "one WQE is checked while the next arrives");

block! {
    /// Passes on WQEs that may be carried out, with their units, and all others with the status that refuses them.
    ///
    /// ```text
    ///   work ───────┬─ FIFO ────────────────────────┐
    ///             Ranges ─ FIFO ─ Ask ─┬─ FIFO ── Settle ─┬─ FIFO ─ checked
    ///   work_units ─┴── held units ────│──────────▲  ▲    └─ units
    ///                           xlat ─FIFO   answer ─FIFO
    /// ```
    ///
    /// A WQE with units and bytes is looked at: of GATHER and SCATTER the one place, then of all each entry of the list that
    /// has bytes; of an atomic that is where its result goes. What requests name at the peer is the peer's to check, so inline
    /// data take no question there. Memory that a key stands for is one piece, so a range lies in it if its first byte and its
    /// last one do. What is written, by GATHER, SCATTER, READ or an atomic, needs the right to be written. Defects are told in
    /// this order: entries whose bytes do not add up to the length ([`Defect::Sum`](super::parse::Defect)), a length beyond
    /// [`LENGTH_MAX`], the first range that is refused. A range that goes on behind address `2^64` is refused as out of
    /// bounds, without asking. Everything else passes as it is.
    ///
    /// - **Ports** `work`, `work_units`: from [`Parse`](super::parse::Parse); `checked`, `units`: the same, in the same order,
    ///   without the units of a WQE that has got a status; when other works wait, units may be offered before their work is;
    ///   `xlat`, `answer`: questions to the MMU as client 0 with tag 0, one byte each, and one answer to each, in order; `busy`:
    ///   something is inside.
    /// - **Latency** 9 cycles and what the MMU takes, for a copy of one entry; 8 for a request; 4 for work without units.
    ///   **Rate** a copy takes 3 cycles and one for each unit and each entry, or one for each question and one more, whichever
    ///   is longer: 5 for one entry, 7 for two. A request takes one less by the first rule and two questions less: 4 for
    ///   one entry or an atomic, 5 for two, 3 inline in one unit. Work without units takes 2.
    /// - **Backpressure** stalls `work` at 4 works inside, `work_units` at 16 units, questions at 16 unanswered. `answer`
    ///   is always taken. No combinational path from port to port.
    /// - **Reset** forgets everything; answers to questions from before must not come any more.
    /// - **Limits** `work` is as `Parse` gives it: 1 to 8 units follow, and they hold the entries; an atomic has one.
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
        ranges: Ranges,
        range_queue: Fifo<Range, 2>,
        works: Fifo<Work, 2>,
        held: LutRam<Bits<512>, HELD_LOG>,
        ask: Ask,
        questions: Fifo<XlatRequest, 2>,
        expected: Fifo<Expected, UNANSWERED_LOG>,
        verdicts: Fifo<Verdict, UNANSWERED_LOG>,
        settle: Settle,
        settled: Fifo<Work, 2>,
    }
}

impl Logic for Check {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(
            self,
            clock,
            ranges,
            range_queue,
            works,
            held,
            ask,
            questions,
            expected,
            verdicts,
            settle,
            settled
        );
        self.ranges.reset.next = self.reset.val();
        self.range_queue.reset.next = self.reset.val();
        self.works.reset.next = self.reset.val();
        self.ask.reset.next = self.reset.val();
        self.questions.reset.next = self.reset.val();
        self.expected.reset.next = self.reset.val();
        self.verdicts.reset.next = self.reset.val();
        self.settle.reset.next = self.reset.val();
        self.settled.reset.next = self.reset.val();

        StreamSink::<Work>::link(&mut self.work, &mut self.ranges.work);
        StreamSink::<Bits<512>>::link(&mut self.work_units, &mut self.ranges.units);
        StreamSource::<Work>::join(&mut self.ranges.taken, &mut self.works.sink);
        StreamSource::<Range>::join(&mut self.ranges.range, &mut self.range_queue.sink);
        StreamSource::<Range>::join(&mut self.range_queue.source, &mut self.ask.range);
        StreamSource::<XlatRequest>::join(&mut self.ask.question, &mut self.questions.sink);
        StreamSource::<Expected>::join(&mut self.ask.expected, &mut self.expected.sink);
        StreamSource::<XlatRequest>::link(&mut self.xlat, &mut self.questions.source);

        // An unanswered question keeps its place in `expected`, so there is room for its answer.
        self.answer.ready.next = self.verdicts.sink.ready.val();
        self.verdicts.sink.valid.next = self.answer.valid.val();
        self.verdicts.sink.payload.next.ok = self.answer.payload.val().ok;
        self.verdicts.sink.payload.next.cause = self.answer.payload.val().cause;

        self.held.write_enable.next = self.ranges.write.val();
        self.held.write_address.next = self.ranges.write_at.val();
        self.held.write_data.next = self.ranges.unit.val();
        self.held.read_address.next = bit_cast::<HELD_LOG, PLACE_BITS>(self.settle.at.val());
        self.settle.found.next = self.held.read_data.val();
        self.ranges.free_from.next = self.settle.at.val();

        StreamSource::<Work>::join(&mut self.works.source, &mut self.settle.work);
        StreamSource::<Expected>::join(&mut self.expected.source, &mut self.settle.expected);
        StreamSource::<Verdict>::join(&mut self.verdicts.source, &mut self.settle.verdict);
        StreamSource::<Work>::join(&mut self.settle.checked, &mut self.settled.sink);
        StreamSource::<Work>::link(&mut self.checked, &mut self.settled.source);
        StreamSource::<Bits<512>>::link(&mut self.units, &mut self.settle.units);
        // A work stays in `works` until nothing is left of it before Settle.
        self.busy.next =
            self.works.source.valid.val() | self.settle.busy.val() | self.settled.source.valid.val();
    }
}
