//! What kernels write: whole packets, in turn.

use rust_hdl::prelude::*;

use super::settle::{Settle, WRITES_LOG};
use super::store::Store;
use crate::constant::number;
use crate::fabric::records::Access;
use crate::host::work::HostWrite;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::prim::round_robin::RoundRobin;
use crate::prim::skid::Skid;
use crate::record;
use crate::slot::{Ending, SlotDone};
use crate::state::access::{Cause, XlatRequest};
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, StreamSink, StreamSource};
use crate::transport::place::carry::{Carry, Pass};
use crate::transport::place::collect::Collect;
use crate::transport::place::command::Command;

/// The MMU's client for what kernels write.
pub const CLIENT: u8 = 6;
/// log2 of the questions that may be unanswered: as many as their collector has places for.
const QUESTIONS_LOG: usize = 4;
/// log2 of the writes between their answer and their last byte.
const JUDGED_LOG: usize = 5;

record! {
    /// A write that waits for its answer.
    pub struct Asking<const N: usize> {
        /// Whose it is, one bit of all.
        pub to: Bits<N>,
        /// Nothing was asked.
        pub refused: Bit,
        /// Colour it was begun in.
        pub colour: Bit,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Its bytes.
        pub len: Bits<13>,
    }
}

record! {
    /// A write that is judged.
    pub struct Judged<const N: usize> {
        /// Whose it is, one bit of all.
        pub to: Bits<N>,
        /// An [`Ending`].
        pub ending: Bits<2>,
        /// Colour it was begun in.
        pub colour: Bit,
    }
}

block! {
    /// Writes for `N` clients, each of which holds `2^LOG` beats.
    ///
    /// ```text
    ///   access[i], data[i] ─ Store ─ turn ─ xlat   answer ─ Collect ─ Command ─ write
    ///                          └──────── bytes ─────────────────── Carry ─ write_data
    ///   done[i] ───────────────────────────────────────── Settle ───┘
    /// ```
    ///
    /// - **Ports** `access[i]`, `data[i]`: what client `i` writes; `done[i]`: the end of each, in order, when it is visible. `xlat`, `answer`: the
    ///   MMU, as client [`CLIENT`]. `write`, `write_data`: commands, and a packet for each; `issued`: the ticket of the last command taken, a
    ///   cycle later at most; `visible`: the last ticket all before which are. `colour`, `enters`: a write begins, in that colour; `leaves`,
    ///   `leaves_colour`: its last byte was handed over. `hold`: a bit for each client: nothing of it begins, and what has not is forgotten
    ///   when it is idle, with the ends it has not heard; `idle`: nothing of it is under way. `busy`: a write's end has not been told.
    /// - **Refused** nothing of it is written, whichever page of it is refused.
    /// - **Latency** from the last beat of `data` to `xlat` 2 cycles, from the last answer to `write` 2, to `write_data` 7. **Rate** 1 write and 1 beat per
    ///   cycle, 1 more for a write cut within a beat.
    /// - **Fairness** a write waits for at most one of each other client. **Backpressure** a client has at most 64 writes that it has not heard of: as
    ///   many of 256 bytes as a host takes at the rate of the wire, twice.
    ///   16 questions are unanswered at most. `answer` is always taken. No combinational path from port to port.
    /// - **Reset** forgets everything; the MMU and the writer have to be reset with it.
    /// - **Limits** `N` at most 16. `hold` stays until `idle`, and a cycle longer; what a client gives meanwhile may be forgotten, too.
    pub struct Writers<const D: usize, const N: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub access: [StreamSink<Access>; N] = std::array::from_fn(|_| StreamSink::default()),
        pub data: [StreamSink<Beat<D>>; N] = std::array::from_fn(|_| StreamSink::default()),
        pub done: [StreamSource<SlotDone>; N] = std::array::from_fn(|_| StreamSource::default()),
        pub xlat: StreamSource<XlatRequest>,
        pub answer: StreamSink<XlatResponse>,
        pub write: StreamSource<HostWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub issued: Signal<In, Bits<16>>,
        pub visible: Signal<In, Bits<16>>,
        pub colour: Signal<In, Bit>,
        pub enters: Signal<Out, Bit>,
        pub leaves: Signal<Out, Bit>,
        pub leaves_colour: Signal<Out, Bit>,
        pub hold: Signal<In, Bits<N>>,
        pub idle: Signal<Out, Bits<N>>,
        pub busy: Signal<Out, Bit>,
        stores: [Store<D, LOG>; N] = std::array::from_fn(|_| Store::default()),
        turn: RoundRobin<N>,
        cut: Skid<XlatRequest>,
        asking: Fifo<Asking<N>, QUESTIONS_LOG>,
        collect: Collect,
        command: Command,
        /// Whose packet is carried next, and whose end is told next.
        carried: Fifo<Bits<N>, JUDGED_LOG>,
        judged: Fifo<Judged<N>, JUDGED_LOG>,
        /// Between the choice among clients and what is made of their bytes.
        fed: Skid<Beat<D>>,
        carry: Carry<D>,
        settle: Settle<N>,
        /// Of each client: writes begun whose end it has not heard, and those whose end has not come.
        open: [Reg<Bits<7>>; N] = std::array::from_fn(|_| Reg::default()),
        inside: [Reg<Bits<7>>; N] = std::array::from_fn(|_| Reg::default()),
        request: Signal<Local, Bits<N>>,
        chosen: Signal<Local, Access>,
        goes: Signal<Local, Bit>,
        begins: Signal<Local, Bits<N>>,
        judges: Signal<Local, Bit>,
        ending: Signal<Local, Bits<2>>,
        is_good: Signal<Local, Bit>,
        feeds: Signal<Local, Bits<N>>,
        beat: Signal<Local, Beat<D>>,
        has_beat: Signal<Local, Bit>,
        clears: Signal<Local, Bits<N>>,
        heard: Signal<Local, Bit>,
        is_idle: Signal<Local, Bits<N>>,
        is_open: Signal<Local, Bit>,
        most: Constant<Bits<7>> = number(1 << WRITES_LOG),
        client: Constant<Bits<3>> = number(CLIENT),
        good: Constant<Bits<2>> = number(Ending::Good as u8),
        refused: Constant<Bits<2>> = number(Ending::Refused as u8),
        failed: Constant<Bits<2>> = number(Ending::Failed as u8),
        page_list: Constant<Bits<3>> = number(Cause::PageList as u8),
    }
}

impl<const D: usize, const N: usize, const LOG: usize> Logic for Writers<D, N, LOG> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "the choice, the judgement, and a line a wire of five blocks")]
    fn update(&mut self) {
        clock!(self, clock, turn, cut, asking, collect, command, carried, judged, fed, carry, settle);
        self.turn.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();
        self.asking.reset.next = self.reset.val();
        self.collect.reset.next = self.reset.val();
        self.command.reset.next = self.reset.val();
        self.carried.reset.next = self.reset.val();
        self.judged.reset.next = self.reset.val();
        self.fed.reset.next = self.reset.val();
        self.carry.reset.next = self.reset.val();
        self.settle.reset.next = self.reset.val();

        // Whose turn it is.
        self.request.next = 0.into();
        self.clears.next = 0.into();
        for i in 0..N {
            self.stores[i].clock.next = self.clock.val();
            self.open[i].clock.next = self.clock.val();
            self.inside[i].clock.next = self.clock.val();
            StreamSink::<Access>::link(&mut self.access[i], &mut self.stores[i].access);
            StreamSink::<Beat<D>>::link(&mut self.data[i], &mut self.stores[i].data);
            self.request.next = self.request.val().replace_bit(
                i,
                self.stores[i].offer.valid.val()
                    & (self.open[i].q.val() != self.most.val())
                    & !self.hold.val().get_bit(i),
            );
            self.clears.next =
                self.clears.val().replace_bit(i, self.hold.val().get_bit(i) & !self.inside[i].q.val().any());
        }
        self.turn.request.next = self.request.val();
        self.goes.next = self.request.val().any()
            & self.cut.sink.ready.val()
            & self.asking.sink.ready.val()
            & self.collect.due.ready.val();
        self.turn.taken.next = self.goes.val();
        self.begins.next = 0.into();
        if self.goes.val() {
            self.begins.next = self.turn.grant.val();
        }
        self.chosen.next = self.stores[0].offer.payload.val();
        for i in 0..N {
            if self.turn.grant.val().get_bit(i) {
                self.chosen.next = self.stores[i].offer.payload.val();
            }
            self.stores[i].offer.ready.next = self.begins.val().get_bit(i);
            self.stores[i].reset.next = self.reset.val() | self.clears.val().get_bit(i);
        }
        self.cut.sink.valid.next = self.goes.val() & !self.chosen.val().refused;
        self.cut.sink.payload.next.client = self.client.val();
        self.cut.sink.payload.next.tag = 0.into();
        self.cut.sink.payload.next.key = self.chosen.val().key;
        self.cut.sink.payload.next.pd = self.chosen.val().pd;
        self.cut.sink.payload.next.qpn = self.chosen.val().qpn;
        self.cut.sink.payload.next.va = self.chosen.val().va;
        self.cut.sink.payload.next.len = self.chosen.val().len;
        self.cut.sink.payload.next.need = self.chosen.val().need;
        StreamSource::<XlatRequest>::link(&mut self.xlat, &mut self.cut.source);
        self.collect.due.valid.next = self.goes.val() & !self.chosen.val().refused;
        self.collect.due.payload.next = false;
        self.asking.sink.valid.next = self.goes.val();
        self.asking.sink.payload.next.to = self.turn.grant.val();
        self.asking.sink.payload.next.refused = self.chosen.val().refused;
        self.asking.sink.payload.next.colour = self.colour.val();
        self.asking.sink.payload.next.qpn = self.chosen.val().qpn;
        self.asking.sink.payload.next.len = self.chosen.val().len;
        self.enters.next = self.goes.val();

        // It is judged: all of it is written, or nothing.
        StreamSink::<XlatResponse>::link(&mut self.answer, &mut self.collect.answer);
        self.ending.next = self.good.val();
        if self.asking.source.payload.val().refused {
            self.ending.next = self.refused.val();
        } else if self.collect.found.payload.val().cause == self.page_list.val() {
            self.ending.next = self.failed.val();
        } else if self.collect.found.payload.val().cause.any() {
            self.ending.next = self.refused.val();
        }
        self.is_good.next = self.ending.val() == self.good.val();
        self.judges.next = self.asking.source.valid.val()
            & (self.asking.source.payload.val().refused | self.collect.found.valid.val())
            & self.command.piece.ready.val()
            & self.carried.sink.ready.val()
            & self.judged.sink.ready.val();
        self.asking.source.ready.next = self.judges.val();
        self.collect.found.ready.next = self.judges.val() & !self.asking.source.payload.val().refused;
        self.command.piece.valid.next = self.judges.val();
        self.command.piece.payload.next.writes = self.is_good.val();
        self.command.piece.payload.next.drops = !self.is_good.val();
        self.command.piece.payload.next.calls = false;
        self.command.piece.payload.next.kernel = 0.into();
        self.command.piece.payload.next.begins = false;
        self.command.piece.payload.next.has_value = false;
        self.command.piece.payload.next.value = 0.into();
        self.command.piece.payload.next.qpn = self.asking.source.payload.val().qpn;
        self.command.piece.payload.next.iova = self.collect.found.payload.val().iova;
        self.command.piece.payload.next.next_iova = self.collect.found.payload.val().next_iova;
        self.command.piece.payload.next.crosses =
            self.is_good.val() & self.collect.found.payload.val().crosses;
        self.command.piece.payload.next.continues = false;
        self.command.piece.payload.next.len = self.asking.source.payload.val().len;
        if self.is_good.val() & self.collect.found.payload.val().crosses {
            self.command.piece.payload.next.len = self.collect.found.payload.val().len;
        }
        self.command.piece.payload.next.rest =
            self.asking.source.payload.val().len - self.collect.found.payload.val().len;
        StreamSource::<HostWrite>::link(&mut self.write, &mut self.command.write);
        self.carried.sink.valid.next = self.judges.val();
        self.carried.sink.payload.next = self.asking.source.payload.val().to;
        self.judged.sink.valid.next = self.judges.val();
        self.judged.sink.payload.next.to = self.asking.source.payload.val().to;
        self.judged.sink.payload.next.ending = self.ending.val();
        self.judged.sink.payload.next.colour = self.asking.source.payload.val().colour;

        // Its bytes go.
        StreamSource::<Pass>::join(&mut self.command.pass, &mut self.carry.pass);
        self.feeds.next = 0.into();
        if self.carried.source.valid.val() {
            self.feeds.next = self.carried.source.payload.val();
        }
        self.has_beat.next = false;
        self.beat.next = self.stores[0].bytes.payload.val();
        for i in 0..N {
            if self.feeds.val().get_bit(i) {
                self.has_beat.next = self.stores[i].bytes.valid.val();
                self.beat.next = self.stores[i].bytes.payload.val();
            }
            self.stores[i].bytes.ready.next = self.feeds.val().get_bit(i) & self.fed.sink.ready.val();
        }
        self.fed.sink.valid.next = self.has_beat.val();
        self.fed.sink.payload.next = self.beat.val();
        self.carried.source.ready.next =
            self.has_beat.val() & self.fed.sink.ready.val() & self.beat.val().eop;
        StreamSource::<Beat<D>>::join(&mut self.fed.source, &mut self.carry.payload);
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.carry.write_data);
        self.carry.call_data.ready.next = true;

        // Its end is told.
        self.judged.source.ready.next = self.carry.over.val();
        self.leaves.next = self.carry.over.val();
        self.leaves_colour.next = self.judged.source.payload.val().colour;
        self.settle.comes.next = self.carry.over.val();
        self.settle.written.next.to = self.judged.source.payload.val().to;
        self.settle.written.next.ending = self.judged.source.payload.val().ending;
        self.settle.written.next.ticket = self.issued.val();
        self.settle.visible.next = self.visible.val();
        self.settle.clear.next = self.clears.val();
        self.is_idle.next = 0.into();
        self.is_open.next = false;
        for i in 0..N {
            StreamSource::<SlotDone>::link(&mut self.done[i], &mut self.settle.done[i]);
            self.is_idle.next = self.is_idle.val().replace_bit(i, !self.inside[i].q.val().any());
            self.is_open.next = self.is_open.val() | self.open[i].q.val().any();
            self.inside[i].d.next = self.inside[i].q.val();
            if self.begins.val().get_bit(i) & !self.settle.told.val().get_bit(i) {
                self.inside[i].d.next = self.inside[i].q.val() + 1;
            }
            if !self.begins.val().get_bit(i) & self.settle.told.val().get_bit(i) {
                self.inside[i].d.next = self.inside[i].q.val() - 1;
            }
            self.heard.next = self.settle.done[i].valid.val() & self.done[i].ready.val();
            self.open[i].d.next = self.open[i].q.val();
            if self.begins.val().get_bit(i) & !self.heard.val() {
                self.open[i].d.next = self.open[i].q.val() + 1;
            }
            if !self.begins.val().get_bit(i) & self.heard.val() {
                self.open[i].d.next = self.open[i].q.val() - 1;
            }
            if self.clears.val().get_bit(i) {
                self.open[i].d.next = 0.into();
            }
            if self.reset.val() {
                self.inside[i].d.next = 0.into();
                self.open[i].d.next = 0.into();
            }
        }
        self.idle.next = self.is_idle.val();
        self.busy.next = self.is_open.val();
    }
}
