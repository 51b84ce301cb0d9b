//! Pour: the payload passes to memory, and by the counters.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::slot::SlotWrite;
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use super::cut::{BEAT_BITS, Piece};
use super::settle::Entry;

/// How far a sweep of the registers has come.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// None is under way.
    None,
    /// One is.
    Sweep,
    /// It has ended.
    Over,
}

block! {
    /// Carries pieces out, one after the other.
    ///
    /// - **Ports** `piece`: what is to be done; `data_in`: the payload of those that have some; `write`, `write_data`: of those that store it. `counts`: one cycle, the items of `beat` are to
    ///   be counted, of size `item`. `begins_sweep`: one cycle, the piece `reads` or `wipes` the registers, and stays until `sweep_ends`; not before `is_idle`, so that no answer
    ///   to one before it falls into its data. `entry`: for each write, and for each task without, what the answer
    ///   waits for; of a task without when all of it has been done.
    /// - **Latency** 1 cycle from `data_in` to `write`, 2 to `write_data`: who takes data behind their write only need not stall them. None to `beat`. **Rate** a beat per cycle, without a gap between pieces.
    /// - **Backpressure** `write`, `write_data` and `entry` stall `data_in`, some beats later but for `entry`, whose `ready` is a register; a sweep does, too.
    /// - **Reset** forgets the piece under way; the next beat begins one.
    pub struct Pour<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub piece: StreamSink<Piece>,
        pub data_in: StreamSink<Beat<D>>,
        pub write: StreamSource<SlotWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub counts: Signal<Out, Bit>,
        pub beat: Signal<Out, Beat<D>>,
        pub item: Signal<Out, Bits<2>>,
        pub begins_sweep: Signal<Out, Bit>,
        pub reads: Signal<Out, Bit>,
        pub wipes: Signal<Out, Bit>,
        pub sweep_ends: Signal<In, Bit>,
        pub is_idle: Signal<In, Bit>,
        pub entry: StreamSource<Entry>,
        /// Beats of the piece that have moved.
        at: Reg<Bits<BEAT_BITS>>,
        is_first: Reg<Bit>,
        step: Reg<Step>,
        write_cut: Skid<SlotWrite>,
        data_cut: Skid<Beat<D>>,
        behind: Skid<Beat<D>>,
        now: Signal<Local, Piece>,
        is_sweep: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        is_done: Signal<Local, Bit>,
        is_write: Signal<Local, Bit>,
    }
}

impl<const D: usize> Logic for Pour<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, write_cut, data_cut, behind);
        dff_setup!(self, clock, at, is_first, step);
        self.write_cut.reset.next = self.reset.val();
        self.data_cut.reset.next = self.reset.val();
        self.behind.reset.next = self.reset.val();
        self.now.next = self.piece.payload.val();
        self.is_sweep.next = self.now.val().reads | self.now.val().wipes;

        self.takes.next = self.piece.valid.val() & self.now.val().has_payload & self.entry.ready.val();
        if self.now.val().stores {
            self.takes.next = self.piece.valid.val()
                & self.entry.ready.val()
                & self.data_cut.sink.ready.val()
                & self.write_cut.sink.ready.val();
        }
        self.data_in.ready.next = self.takes.val();
        self.moves.next = self.takes.val() & self.data_in.valid.val();
        self.ends.next = self.data_in.payload.val().eop;
        if !self.now.val().is_last {
            self.ends.next = self.at.q.val() == self.now.val().last_beat;
        }
        if self.moves.val() {
            self.is_first.d.next = self.ends.val();
            self.at.d.next = self.at.q.val() + 1;
            if self.ends.val() {
                self.at.d.next = 0.into();
            }
        }

        self.is_write.next = self.moves.val() & self.now.val().stores & self.is_first.q.val();
        self.write_cut.sink.valid.next = self.is_write.val();
        self.write_cut.sink.payload.next.ticket = self.now.val().ticket;
        self.write_cut.sink.payload.next.va = self.now.val().va;
        self.write_cut.sink.payload.next.key = self.now.val().key;
        self.write_cut.sink.payload.next.len = self.now.val().len;
        self.data_cut.sink.valid.next = self.moves.val() & self.now.val().stores;
        self.data_cut.sink.payload.next.data = self.data_in.payload.val().data;
        self.data_cut.sink.payload.next.nbytes = self.data_in.payload.val().nbytes;
        self.data_cut.sink.payload.next.sop = self.is_first.q.val();
        self.data_cut.sink.payload.next.eop = self.ends.val();
        self.data_cut.sink.payload.next.err = false;
        self.counts.next = self.moves.val() & self.now.val().counts;
        self.beat.next = self.data_in.payload.val();
        self.item.next = self.now.val().item;

        self.reads.next = self.now.val().reads;
        self.wipes.next = self.now.val().wipes;
        self.begins_sweep.next = self.piece.valid.val()
            & self.is_sweep.val()
            & self.is_idle.val()
            & (self.step.q.val() == Step::None);
        if self.begins_sweep.val() {
            self.step.d.next = Step::Sweep;
        }
        if self.sweep_ends.val() {
            self.step.d.next = Step::Over;
        }

        // Without a write: everything has been taken or swept.
        self.is_done.next = self.moves.val() & !self.now.val().stores & self.ends.val();
        if self.is_sweep.val() {
            self.is_done.next = self.step.q.val() == Step::Over;
        } else if !self.now.val().has_payload {
            self.is_done.next = self.piece.valid.val();
        }
        self.entry.valid.next = self.is_write.val() | self.is_done.val();
        self.entry.payload.next.ticket = self.now.val().ticket;
        self.entry.payload.next.awaits = self.now.val().stores;
        self.entry.payload.next.is_last = self.now.val().is_last;
        self.entry.payload.next.is_bad = self.now.val().is_bad;
        self.entry.payload.next.is_other = self.now.val().is_other;
        self.entry.payload.next.is_taken = self.now.val().is_taken;
        self.entry.payload.next.has_registers = self.now.val().reads;
        self.piece.ready.next = (self.moves.val() & self.ends.val())
            | (self.is_done.val() & !self.now.val().has_payload & self.entry.ready.val());
        if self.is_done.val() & self.entry.ready.val() {
            self.step.d.next = Step::None;
        }

        StreamSource::<SlotWrite>::link(&mut self.write, &mut self.write_cut.source);
        StreamSource::<Beat<D>>::join(&mut self.data_cut.source, &mut self.behind.sink);
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.behind.source);
        if self.reset.val() {
            self.at.d.next = 0.into();
            self.is_first.d.next = true;
            self.step.d.next = Step::None;
        }
    }
}
