//! The end of an atomic: its write, then all that tells of it.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;
use stroma_abi::wire::{NakCode, Syndrome};

use super::apply::Outcome;
use super::reads::WORD_BYTES;
use super::rows::{AtomicRow, Found};
use super::words::WORDS_LOG;
use crate::constant::number;
use crate::host::work::{HostWrite, QpError};
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{Beat, StreamSink, StreamSource};
use crate::transport::records::{Answer, Atomic, Operation, Task};

/// log2 of the values, and of the tasks, that wait to be taken.
const WAITING_LOG: usize = 2;
/// log2 of the errors.
const ERRORS_LOG: usize = 4;

block! {
    /// Hands a write over, and in the same cycle notes the result, tells the peer, and lets the operation go.
    ///
    /// - **Ports** `outcome`, `done`: what came of which operation; `row`: its queue pair's. `changes`, `changed`: that row from now on; `keeps`,
    ///   `kept`: the result. `write`, `write_data`, `task`, `error`: as of [`Atomics`](super::Atomics). A cycle later `goes`, `gone_word`,
    ///   `gone_writes`: for [`Words`](super::words::Words); `leaves`, `leaves_colour`: of every operation. `busy`: something is not taken.
    /// - **Latency** 0 cycles to `write`, 1 to the rest. **Rate** an outcome per cycle.
    /// - **Backpressure** stalls `outcome` until the write is taken, and with 4 values or tasks that wait. 16 errors
    ///   wait, and further ones are lost: who takes them may wait for this very block.
    /// - **Reset** forgets what waits.
    pub struct Conclude<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub outcome: StreamSink<Outcome>,
        pub done: Signal<In, Operation>,
        pub row: Signal<In, AtomicRow>,
        pub changes: Signal<Out, Bit>,
        pub changed: Signal<Out, AtomicRow>,
        pub keeps: Signal<Out, Bit>,
        pub kept: Signal<Out, Found>,
        pub write: StreamSource<HostWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub task: StreamSource<Task>,
        pub error: StreamSource<QpError>,
        pub goes: Signal<Out, Bit>,
        pub gone_word: Signal<Out, Bits<WORDS_LOG>>,
        pub gone_writes: Signal<Out, Bit>,
        pub leaves: Signal<Out, Bit>,
        pub leaves_colour: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        values: Fifo<Bits<64>, WAITING_LOG>,
        tasks: Fifo<Task, WAITING_LOG>,
        errors: Fifo<QpError, ERRORS_LOG>,
        has_gone: Reg<Bit>,
        has_left: Reg<Bit>,
        word: Reg<Bits<WORDS_LOG>>,
        has_written: Reg<Bit>,
        colour: Reg<Bit>,
        room: Signal<Local, Bit>,
        passes: Signal<Local, Bit>,
        is_fresh: Signal<Local, Bit>,
        counts: Signal<Local, Bit>,
        bytes: Constant<Bits<13>> = number(WORD_BYTES),
        beat_bytes: Constant<Bits<7>> = number(WORD_BYTES),
        replay: Constant<Bits<2>> = number(Atomic::Replay as u8),
        acknowledge: Constant<Bits<3>> = number(Answer::Acknowledge as u8),
        refused: Constant<Bits<8>> = number(Syndrome::Nak(NakCode::RemoteOperational).encode()),
        general: Constant<Bits<8>> = number(Status::General as u8),
        /// An answer with a value.
        blank: Constant<Task> =
            Constant::new(Task { answer: (Answer::Value as u64).into(), ..Task::default() }),
    }
}

impl<const D: usize> Logic for Conclude<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, values, tasks, errors);
        dff_setup!(self, clock, has_gone, has_left, word, has_written, colour);
        self.values.reset.next = self.reset.val();
        self.tasks.reset.next = self.reset.val();
        self.errors.reset.next = self.reset.val();

        // Room stays until it is used, so an offered write stays, too.
        self.room.next = self.values.sink.ready.val() & self.tasks.sink.ready.val();
        self.write.valid.next =
            self.outcome.valid.val() & self.outcome.payload.val().writes & self.room.val();
        self.write.payload.next.iova = self.done.val().iova;
        self.write.payload.next.len = self.bytes.val();
        self.write.payload.next.qpn = self.done.val().qpn;
        self.passes.next = self.outcome.valid.val()
            & self.room.val()
            & (self.write.ready.val() | !self.outcome.payload.val().writes);
        self.outcome.ready.next =
            self.room.val() & (self.write.ready.val() | !self.outcome.payload.val().writes);

        self.values.sink.valid.next = self.passes.val() & self.outcome.payload.val().writes;
        self.values.sink.payload.next = self.outcome.payload.val().value;
        self.write_data.valid.next = self.values.source.valid.val();
        self.write_data.payload.next.data = bit_cast::<D, 64>(self.values.source.payload.val());
        self.write_data.payload.next.nbytes = self.beat_bytes.val();
        self.write_data.payload.next.sop = true;
        self.write_data.payload.next.eop = true;
        self.write_data.payload.next.err = false;
        self.values.source.ready.next = self.write_data.ready.val();

        self.is_fresh.next = self.done.val().atomic != self.replay.val();
        self.counts.next = self.passes.val() & self.outcome.payload.val().tells & self.is_fresh.val();
        self.keeps.next = self.counts.val();
        self.kept.next.psn = self.done.val().psn;
        self.kept.next.value = self.outcome.payload.val().found;
        self.changes.next = self.counts.val() | (self.passes.val() & self.outcome.payload.val().fails);
        self.changed.next.finished = self.row.val().finished + self.counts.val();
        self.changed.next.kept = self.row.val().kept;
        if self.counts.val() {
            self.changed.next.kept = self.row.val().kept.replace_bit(self.done.val().slot.index(), true);
        }
        self.changed.next.failed = self.row.val().failed | self.outcome.payload.val().fails;

        self.tasks.sink.valid.next =
            self.passes.val() & (self.outcome.payload.val().tells | self.outcome.payload.val().fails);
        self.tasks.sink.payload.next = self.blank.val();
        self.tasks.sink.payload.next.qpn = self.done.val().qpn;
        self.tasks.sink.payload.next.pd = self.done.val().pd;
        self.tasks.sink.payload.next.path_mtu = self.done.val().path_mtu;
        self.tasks.sink.payload.next.psn = self.done.val().psn;
        self.tasks.sink.payload.next.msn = self.done.val().msn;
        self.tasks.sink.payload.next.value = self.outcome.payload.val().found;
        self.tasks.sink.payload.next.fresh = self.is_fresh.val();
        if self.outcome.payload.val().fails {
            self.tasks.sink.payload.next.answer = self.acknowledge.val();
            self.tasks.sink.payload.next.syndrome = self.refused.val();
            self.tasks.sink.payload.next.msn = self.done.val().msn - 1;
            self.tasks.sink.payload.next.value = 0.into();
            self.tasks.sink.payload.next.fresh = false;
        }
        StreamSource::<Task>::link(&mut self.task, &mut self.tasks.source);
        self.errors.sink.valid.next = self.passes.val() & self.outcome.payload.val().fails;
        self.errors.sink.payload.next.qpn = self.done.val().qpn;
        self.errors.sink.payload.next.status = self.general.val();
        self.errors.sink.payload.next.untold = true;
        StreamSource::<QpError>::link(&mut self.error, &mut self.errors.source);

        self.has_left.d.next = self.passes.val();
        self.has_gone.d.next = self.passes.val() & self.outcome.payload.val().has_word;
        self.word.d.next = self.outcome.payload.val().word;
        self.has_written.d.next = self.outcome.payload.val().writes;
        self.colour.d.next = self.done.val().colour;
        self.goes.next = self.has_gone.q.val();
        self.gone_word.next = self.word.q.val();
        self.gone_writes.next = self.has_written.q.val();
        self.leaves.next = self.has_left.q.val();
        self.leaves_colour.next = self.colour.q.val();
        self.busy.next = self.has_left.q.val()
            | self.values.source.valid.val()
            | self.tasks.source.valid.val()
            | self.errors.source.valid.val();
        if self.reset.val() {
            self.has_left.d.next = false;
            self.has_gone.d.next = false;
        }
    }
}
