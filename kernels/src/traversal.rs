//! `traversal`: walks a list, a bucket chain or a tree of the caller's, and answers with the value of the key that fits.

pub mod compare;
#[cfg(test)]
mod differential;
pub mod fetch_value;
pub mod gather;
pub mod parameters;
#[cfg(test)]
mod tests;
pub mod walk;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::prim::skid::Skid;
use stroma_hw::slot::{SlotCommand, SlotData, SlotRead, SlotResponse};
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use compare::Compare;
use fetch_value::FetchValue;
use gather::Gather;
use parameters::{Decode, Task};
use walk::Walk;

block! {
    /// The kernel. What it does is told in [`stroma_abi::kernel::traversal`].
    ///
    /// ```text
    ///   command ─ Decode ─┬──────────────────────────────────── Walk ─ response
    ///                     │                   ┌── verdict ──────▲  │
    ///   read_data ─┬─ Gather ─ element ─ Compare               │  ├─ read of an element ─┬─ cut ─ read
    ///              └──────────────────────────── FetchValue ◀──┴──┘─ reads of a value ───┘
    ///                                                │
    ///                                             data_out
    /// ```
    ///
    /// - **Ports** as [`slot`](stroma_hw::slot) says, without writes. `data_in` is taken and forgotten: a request with payload is refused.
    /// - **Latency** 3 cycles from a command to its first read, 5 from the last beat of an element to the read of the next, 6 to the
    ///   first of a value, 1 from a beat of the value to `data_out`, 3 from its last beat there to `response`, 4 from the last beat of an element that ends the walk, and 2 from a command that is refused.
    /// - **Rate** one invocation at a time: a command is taken the cycle after the response to the one before it at the earliest. Reads of a value, of up to
    ///   4096 bytes, follow each other in every cycle, and its bytes pass at a beat per cycle.
    /// - **Backpressure** a value stalls `read_data` with `data_out`. No combinational path from port to port.
    /// - **Reset** forgets the invocations; data of reads from before must not come any more.
    /// - **Limits** `D` is 64 or 512. What is asked of the parameters is told there; it is judged before anything is read. A walk in a circle ends with
    ///   the limit of hops; time is the watchdog's.
    pub struct TraversalKernel<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<SlotCommand>,
        pub data_in: StreamSink<Beat<D>>,
        pub read: StreamSource<SlotRead>,
        pub read_data: StreamSink<SlotData<D>>,
        pub data_out: StreamSource<Beat<D>>,
        pub response: StreamSource<SlotResponse>,
        decode: Decode,
        gather: Gather<D>,
        compare: Compare,
        walk: Walk,
        fetch_value: FetchValue<D>,
        cut: Skid<SlotRead>,
        task: Signal<Local, Task>,
        is_value: Signal<Local, Bit>,
    }
}

impl<const D: usize> Logic for TraversalKernel<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, decode, gather, compare, walk, fetch_value, cut);
        self.decode.reset.next = self.reset.val();
        self.gather.reset.next = self.reset.val();
        self.compare.reset.next = self.reset.val();
        self.walk.reset.next = self.reset.val();
        self.fetch_value.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();
        self.data_in.ready.next = true;

        StreamSink::<SlotCommand>::link(&mut self.command, &mut self.decode.sink);
        self.task.next = self.decode.source.payload.val();
        self.walk.task.payload.next = self.task.val();
        self.walk.task.valid.next = self.decode.source.valid.val();
        self.decode.source.ready.next = self.walk.task.ready.val();

        // Nothing of a value is asked for before the last element has come, so each answer's way is known.
        self.is_value.next = self.walk.is_value.val();
        self.gather.sink.payload.next = self.read_data.payload.val();
        self.gather.sink.valid.next = self.read_data.valid.val() & !self.is_value.val();
        self.fetch_value.sink.payload.next = self.read_data.payload.val();
        self.fetch_value.sink.valid.next = self.read_data.valid.val() & self.is_value.val();
        self.read_data.ready.next = self.gather.sink.ready.val();
        if self.is_value.val() {
            self.read_data.ready.next = self.fetch_value.sink.ready.val();
        }

        self.compare.wanted.next = self.task.val();
        self.compare.is_there.next = self.gather.is_there.val();
        self.compare.element.next = self.gather.element.val();
        self.compare.ending.next = self.gather.ending.val();
        self.compare.at.next = self.walk.at.val();
        self.walk.is_judged.next = self.compare.is_judged.val();
        self.walk.verdict.next = self.compare.verdict.val();

        self.fetch_value.begins.next = self.walk.begins_value.val();
        self.fetch_value.va.next = self.walk.value_va.val();
        self.fetch_value.len.next = self.task.val().value_len;
        self.fetch_value.ticket.next = self.task.val().ticket;
        self.fetch_value.key.next = self.task.val().key;
        self.walk.value_ends.next = self.fetch_value.ends.val();
        self.walk.value_ending.next = self.fetch_value.ending.val();
        self.walk.value_len.next = self.fetch_value.given.val();
        StreamSource::<Beat<D>>::link(&mut self.data_out, &mut self.fetch_value.source);

        self.cut.sink.valid.next = self.walk.read.valid.val() | self.fetch_value.read.valid.val();
        self.cut.sink.payload.next = self.walk.read.payload.val();
        if self.is_value.val() {
            self.cut.sink.payload.next = self.fetch_value.read.payload.val();
        }
        self.walk.read.ready.next = self.cut.sink.ready.val();
        self.fetch_value.read.ready.next = self.cut.sink.ready.val();
        StreamSource::<SlotRead>::link(&mut self.read, &mut self.cut.source);
        StreamSource::<SlotResponse>::link(&mut self.response, &mut self.walk.response);
    }
}
