//! The walker: reads page-list lines from host memory while the rest goes on.

use rust_hdl::prelude::*;

use super::pages::LINE_BITS;
use crate::constant::number;
use crate::prim::fifo::Fifo;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

/// Walks under way at once.
pub const WALKS: usize = 8;

record! {
    /// Asks for 64 bytes of host memory.
    pub struct LineRequest {
        /// Of the first byte, a multiple of 64.
        pub addr: Bits<64>,
        /// The walk it is for; no two under way share one.
        pub id: Bits<3>,
    }
}

record! {
    /// 64 bytes of host memory.
    pub struct Line {
        /// The bytes, lowest address lowest.
        pub data: Bits<512>,
        /// The walk they are for.
        pub id: Bits<3>,
        /// They could not be read, and `data` means nothing.
        pub err: Bit,
    }
}

record! {
    /// Whose line a walk is for.
    pub struct Goal<const MRS: usize> {
        /// The region.
        pub region: Bits<MRS>,
        /// The line of its page list.
        pub line: Bits<LINE_BITS>,
    }
}

block! {
    /// Fetches lines for lookups that missed, each line once however many wait for it.
    ///
    /// A walk keeps its line until the last lookup that waits for it has gone, so nobody asks the TLB twice.
    ///
    /// - **Ports** `ask`, `region`, `line`, `list`: a lookup missed, and joins the walk named by `walk` in each cycle in
    ///   which `granted` is high too. `moves`, `next_region`, `next_line`: the lookup behind it takes its place, and is
    ///   compared with the walks already, so that `granted` follows no port: each lookup comes this way before it may ask.
    ///   `arrived`, `failed`: a bit for each walk: its line is there, it could not be read.
    ///   `look`: `data` shows the line of that walk. `gone`, `gone_walk`: a lookup that had joined goes.
    ///   `line_request`, `answer`: to host memory, answered in any order. `fill*`: the line that has come, for the TLB.
    ///   `starts`: a walk begins.
    /// - **Latency** 1 cycle from `ask` to `line_request.valid`, and from `answer` to `arrived`.
    /// - **Rate** one lookup, one leaving, one line per cycle.
    /// - **Backpressure** a ninth line at once is not `granted` until a walk is free; `answer` is always taken.
    /// - **Reset** forgets all walks; lines asked for before must not come any more.
    /// - **Limits** at most 255 lookups wait for one line.
    pub struct Walker<const MRS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub ask: Signal<In, Bit>,
        pub region: Signal<In, Bits<MRS>>,
        pub line: Signal<In, Bits<LINE_BITS>>,
        pub list: Signal<In, Bits<58>>,
        pub moves: Signal<In, Bit>,
        pub next_region: Signal<In, Bits<MRS>>,
        pub next_line: Signal<In, Bits<LINE_BITS>>,
        pub granted: Signal<Out, Bit>,
        pub walk: Signal<Out, Bits<3>>,
        pub arrived: Signal<Out, Bits<WALKS>>,
        pub failed: Signal<Out, Bits<WALKS>>,
        pub look: Signal<In, Bits<3>>,
        pub data: Signal<Out, Bits<512>>,
        pub gone: Signal<In, Bit>,
        pub gone_walk: Signal<In, Bits<3>>,
        pub line_request: StreamSource<LineRequest>,
        pub answer: StreamSink<Line>,
        pub fill: Signal<Out, Bit>,
        pub fill_region: Signal<Out, Bits<MRS>>,
        pub fill_line: Signal<Out, Bits<LINE_BITS>>,
        pub fill_data: Signal<Out, Bits<512>>,
        pub starts: Signal<Out, Bit>,
        is_busy: Reg<Bits<WALKS>>,
        has_arrived: Reg<Bits<WALKS>>,
        has_failed: Reg<Bits<WALKS>>,
        regions: [Reg<Bits<MRS>>; WALKS],
        lines: [Reg<Bits<LINE_BITS>>; WALKS],
        /// `regions` and `lines` once more, for the line that comes: a memory finds them at once.
        goals: LutRam<Goal<MRS>, 3>,
        waiters: [Reg<Bits<8>>; WALKS],
        /// The walk for the line of the lookup that may ask, unless it has ended since; and whether there is one.
        matching: Reg<Bits<WALKS>>,
        has_match: Reg<Bit>,
        kept: LutRam<Bits<512>, 3>,
        /// As long as there are walks, so always ready.
        requests: Fifo<LineRequest, 3>,
        is_same: Signal<Local, Bit>,
        matches: Signal<Local, Bits<WALKS>>,
        known: Signal<Local, Bits<WALKS>>,
        free: Signal<Local, Bits<WALKS>>,
        chosen: Signal<Local, Bits<WALKS>>,
        begins: Signal<Local, Bit>,
        number: Signal<Local, Bits<3>>,
        joins: [Signal<Local, Bit>; WALKS],
        leaves: [Signal<Local, Bit>; WALKS],
        busy: Signal<Local, Bits<WALKS>>,
        there: Signal<Local, Bits<WALKS>>,
        bad: Signal<Local, Bits<WALKS>>,
        numbers: [Constant<Bits<3>>; WALKS] = std::array::from_fn(number),
    }
}

impl<const MRS: usize> Logic for Walker<MRS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, goals, kept, requests);
        dff_setup!(self, clock, is_busy, has_arrived, has_failed, matching, has_match);
        self.requests.reset.next = self.reset.val();

        // The walk for this line, or else the first that is free.
        self.known.next = self.matching.q.val() & self.is_busy.q.val();
        self.free.next = !self.is_busy.q.val();
        self.chosen.next = self.free.val() & (!self.free.val() + 1);
        if self.known.val().any() {
            self.chosen.next = self.known.val();
        }
        // A walk that matched and has ended is free itself.
        self.granted.next = self.has_match.q.val() | self.free.val().any();
        self.begins.next = self.ask.val() & !self.known.val().any() & self.free.val().any();
        self.starts.next = self.begins.val();
        self.number.next = 0.into();
        for i in 0..WALKS {
            if self.chosen.val().get_bit(i) {
                self.number.next = self.numbers[i].val();
            }
        }
        self.walk.next = self.number.val();

        // The walk for the next one, perhaps that which begins now; no walk begins between here and its turn.
        self.is_same.next = self.ask.val()
            & (self.region.val() == self.next_region.val())
            & (self.line.val() == self.next_line.val());
        self.matches.next = 0.into();
        for i in 0..WALKS {
            self.matches.next = self.matches.val().replace_bit(
                i,
                (self.is_same.val() & self.chosen.val().get_bit(i))
                    | (self.is_busy.q.val().get_bit(i)
                        & (self.regions[i].q.val() == self.next_region.val())
                        & (self.lines[i].q.val() == self.next_line.val())),
            );
        }
        if self.moves.val() {
            self.matching.d.next = self.matches.val();
            self.has_match.d.next = self.matches.val().any();
        }

        self.requests.sink.valid.next = self.begins.val();
        self.requests.sink.payload.next.id = self.number.val();
        self.requests.sink.payload.next.addr =
            bit_cast::<64, 58>(self.list.val() + bit_cast::<58, 34>(self.line.val())) << 6;
        StreamSource::<LineRequest>::link(&mut self.line_request, &mut self.requests.source);

        // The line that comes.
        self.answer.ready.next = true;
        self.kept.write_enable.next = self.answer.valid.val();
        self.kept.write_address.next = self.answer.payload.val().id;
        self.kept.write_data.next = self.answer.payload.val().data;
        self.kept.read_address.next = self.look.val();
        self.data.next = self.kept.read_data.val();
        self.fill.next = self.answer.valid.val() & !self.answer.payload.val().err;
        self.fill_data.next = self.answer.payload.val().data;
        self.goals.write_enable.next = self.begins.val();
        self.goals.write_address.next = self.number.val();
        self.goals.write_data.next.region = self.region.val();
        self.goals.write_data.next.line = self.line.val();
        self.goals.read_address.next = self.answer.payload.val().id;
        self.fill_region.next = self.goals.read_data.val().region;
        self.fill_line.next = self.goals.read_data.val().line;

        self.busy.next = self.is_busy.q.val();
        self.there.next = self.has_arrived.q.val();
        self.bad.next = self.has_failed.q.val();
        for i in 0..WALKS {
            self.regions[i].clock.next = self.clock.val();
            self.lines[i].clock.next = self.clock.val();
            self.waiters[i].clock.next = self.clock.val();
            self.regions[i].d.next = self.regions[i].q.val();
            self.lines[i].d.next = self.lines[i].q.val();
            self.waiters[i].d.next = self.waiters[i].q.val();
            self.joins[i].next = self.ask.val() & self.chosen.val().get_bit(i);
            self.leaves[i].next = self.gone.val() & (self.gone_walk.val().index() == i);
            if self.answer.valid.val() & (self.answer.payload.val().id.index() == i) {
                self.there.next = self.there.val().replace_bit(i, true);
                self.bad.next = self.bad.val().replace_bit(i, self.answer.payload.val().err);
            }
            if self.joins[i].val() & !self.leaves[i].val() {
                self.waiters[i].d.next = self.waiters[i].q.val() + 1;
            }
            if self.leaves[i].val() & !self.joins[i].val() {
                self.waiters[i].d.next = self.waiters[i].q.val() - 1;
                if self.waiters[i].q.val() == 1 {
                    self.busy.next = self.busy.val().replace_bit(i, false);
                }
            }
            if self.begins.val() & self.chosen.val().get_bit(i) {
                self.regions[i].d.next = self.region.val();
                self.lines[i].d.next = self.line.val();
                self.busy.next = self.busy.val().replace_bit(i, true);
                self.there.next = self.there.val().replace_bit(i, false);
            }
            if self.reset.val() {
                self.waiters[i].d.next = 0.into();
            }
        }
        self.arrived.next = self.has_arrived.q.val();
        self.failed.next = self.has_failed.q.val();
        self.is_busy.d.next = self.busy.val();
        self.has_arrived.d.next = self.there.val();
        self.has_failed.d.next = self.bad.val();
        if self.reset.val() {
            self.is_busy.d.next = 0.into();
        }
    }
}
