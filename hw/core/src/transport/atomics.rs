//! Atomics on host memory: read, change, write back, tell what was there.

pub mod apply;
pub mod conclude;
pub mod enter;
pub mod model;
pub mod reads;
#[cfg(test)]
mod rig;
pub mod rows;
#[cfg(test)]
mod tests;
pub mod words;

use rust_hdl::prelude::*;

use apply::{Apply, Outcome};
use conclude::Conclude;
use enter::Enter;
use reads::Reads;
use rows::Rows;
use words::Words;

use super::records::{Operation, Task};
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::host::work::{HostWrite, QpChange, QpError};
use crate::stream::{Beat, StreamSink, StreamSource};

block! {
    /// Applies operations to words of host memory in the order in which they come, and keeps 16 results for each of `2^QPS`
    /// queue pairs, for peers that did not get theirs.
    ///
    /// ```text
    ///   operation ─ Enter ─ line ─ Apply ─ Conclude ─┬─ write, write_data
    ///                 │              │ ▲       │     └─ task, error, leaves
    ///               Words ─ Reads ─ read, read_data  │
    ///                 └── foreign    └─ Rows ──┴─ finished, change
    /// ```
    ///
    /// A host takes a microsecond for a read, and a counter that many peers add to is one word. So up to 16 words are under
    /// way at once, and an operation on one of them goes on from its latest value and reads nothing. A word stays until
    /// its last write is visible, and is read not before all writes issued until then are: nobody reads what is about to
    /// change.
    ///
    /// - **Ports** `operation`: what to do. `read`, `read_data`: a word, as one beat, in any order, with the tag of its command. `write`, `write_data`: 8
    ///   bytes. `issued`: the ticket of the last write command taken, of anybody, a cycle later; `visible`: the last ticket
    ///   that is visible with all before it. `foreign`, `foreign_write`: a write command of somebody else is taken in this cycle.
    ///   `task`: what was found, `Value`; a refusal if the word could not be read. `finished_write`, `finished_index`, `finished`: atomics of
    ///   a queue pair that are done, modulo 32. `change`: a queue pair begins anew. `error`: it has failed. `leaves`,
    ///   `leaves_colour`: an operation needs its address no more. `ready`: the rows are scrubbed. `busy`: something is inside, or a word.
    /// - **Latency** 4 cycles from `operation` to `read`, 2 from `read_data` to `write`, 3 to `task`, `finished_write` and `leaves`.
    ///   From `operation` to `task` 6 when its word is known, and 8 to 23 for one that came again.
    /// - **Rate** an operation every 2 cycles, on one word or on 16; with more words, 16 in the time of a read and two writes.
    ///   One that came again takes 4 to 19 cycles.
    /// - **Order** of operations is that of `operation`, in all streams. An operation that is taken with, or after, a write of
    ///   somebody else finds it done. `finished` counts an atomic when its write is taken, so writes behind that come behind it.
    /// - **Failures** a word that cannot be read: the operation does nothing, the peer is told, `remote operational`, with the
    ///   messages before it, and an `error` says `General`; operations behind it of the same queue pair are thrown
    ///   away until it `resets`. One that came again and is not kept any more gives nothing.
    /// - **Backpressure** `operation` stalls with 18 inside, with a 17th word, and for a word that somebody else has written until
    ///   its own writes are visible. Everything waits for `write` and `task`. `change` moves within 3 cycles. 16 errors wait, and
    ///   further ones are lost: the refusal tells the peer.
    /// - **Reset** forgets everything and scrubs a row a cycle, with `ready` low; the host's side has to be reset, too.
    /// - **Limits** `QPS` from 1 to 15, `RING` is `QPS + 4`. Queue pairs beyond the table share the rows of those below. Nothing of a
    ///   queue pair is inside when it `resets`. A word is known by its DMA address: under two of them it is two words. Fewer than
    ///   32,768 writes are on their way. Writes of ring entries are not looked at: atomics have no business there.
    pub struct Atomics<const D: usize, const QPS: usize, const RING: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub operation: StreamSink<Operation>,
        pub read: StreamSource<ReadCommand>,
        pub read_data: StreamSink<ReadData<D>>,
        pub write: StreamSource<HostWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub issued: Signal<In, Bits<16>>,
        pub visible: Signal<In, Bits<16>>,
        pub foreign: Signal<In, Bit>,
        pub foreign_write: Signal<In, HostWrite>,
        pub task: StreamSource<Task>,
        pub finished_write: Signal<Out, Bit>,
        pub finished_index: Signal<Out, Bits<QPS>>,
        pub finished: Signal<Out, Bits<5>>,
        pub change: StreamSink<QpChange>,
        pub error: StreamSource<QpError>,
        pub leaves: Signal<Out, Bit>,
        pub leaves_colour: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        enter: Enter,
        words: Words,
        reads: Reads,
        apply: Apply<D>,
        rows: Rows<QPS, RING>,
        conclude: Conclude<D>,
    }
}

impl<const D: usize, const QPS: usize, const RING: usize> Logic for Atomics<D, QPS, RING> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, enter, words, reads, apply, rows, conclude);
        self.enter.reset.next = self.reset.val();
        self.words.reset.next = self.reset.val();
        self.reads.reset.next = self.reset.val();
        self.apply.reset.next = self.reset.val();
        self.rows.reset.next = self.reset.val();
        self.conclude.reset.next = self.reset.val();

        StreamSink::<Operation>::link(&mut self.operation, &mut self.enter.sink);
        self.enter.open.next = self.rows.ready.val();
        self.words.iova.next = self.enter.iova.val();
        self.words.looks.next = self.enter.looks.val();
        self.words.asks.next = self.enter.asks.val();
        self.enter.granted.next = self.words.granted.val();
        self.enter.number.next = self.words.number.val();
        self.words.issued.next = self.issued.val();
        self.words.visible.next = self.visible.val();
        self.words.foreign.next = self.foreign.val();
        self.words.foreign_write.next = self.foreign_write.val();

        self.reads.begins.next = self.words.begins.val();
        self.reads.iova.next = self.enter.iova.val();
        self.reads.word.next = self.words.number.val();
        self.reads.issued.next = self.issued.val();
        self.reads.visible.next = self.visible.val();
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.reads.read);
        self.words.arrives.next = self.read_data.valid.val() & self.apply.read_data.ready.val();
        self.words.arrived_word.next = bit_cast::<4, 6>(self.read_data.payload.val().tag);
        self.words.arrived_err.next = self.read_data.payload.val().err;
        StreamSink::<ReadData<D>>::link(&mut self.read_data, &mut self.apply.read_data);

        StreamSource::<Operation>::join(&mut self.enter.source, &mut self.apply.operation);
        self.apply.word.next = self.enter.word.val();
        self.apply.known.next = self.words.known.val();
        self.apply.bad.next = self.words.bad.val();
        self.apply.row.next = self.rows.row.val();
        self.apply.seen.next = self.rows.seen.val();
        StreamSource::<Outcome>::join(&mut self.apply.outcome, &mut self.conclude.outcome);
        self.conclude.done.next = self.apply.done.val();
        self.conclude.row.next = self.rows.row.val();
        self.rows.index.next = bit_cast::<QPS, 24>(self.apply.done.val().qpn);
        self.rows.slot.next = self.apply.slot.val();
        self.rows.changes.next = self.conclude.changes.val();
        self.rows.changed.next = self.conclude.changed.val();
        self.rows.keeps.next = self.conclude.keeps.val();
        self.rows.kept.next = self.conclude.kept.val();
        StreamSink::<QpChange>::link(&mut self.change, &mut self.rows.change);

        self.words.goes.next = self.conclude.goes.val();
        self.words.gone_word.next = self.conclude.gone_word.val();
        self.words.gone_writes.next = self.conclude.gone_writes.val();
        StreamSource::<HostWrite>::link(&mut self.write, &mut self.conclude.write);
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.conclude.write_data);
        StreamSource::<Task>::link(&mut self.task, &mut self.conclude.task);
        StreamSource::<QpError>::link(&mut self.error, &mut self.conclude.error);
        self.finished_write.next = self.rows.finished_write.val();
        self.finished_index.next = self.rows.finished_index.val();
        self.finished.next = self.rows.finished.val();
        self.leaves.next = self.conclude.leaves.val();
        self.leaves_colour.next = self.conclude.leaves_colour.val();
        self.ready.next = self.rows.ready.val();
        self.busy.next = self.enter.busy.val()
            | self.words.some.val()
            | self.apply.busy.val()
            | self.rows.busy.val()
            | self.conclude.busy.val();
    }
}
