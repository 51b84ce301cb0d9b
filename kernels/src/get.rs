//! `get`: finds a key in a hash table of the caller's, and answers with its value.

pub mod choose;
#[cfg(test)]
mod differential;
pub mod inspect;
pub mod parameters;
#[cfg(test)]
mod tests;
pub mod value;
pub mod walk;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::slot::{SlotCommand, SlotData, SlotRead, SlotResponse};
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use crate::ask::Ask;
use crate::traversal::gather::Gather;
use choose::Choose;
use inspect::Inspect;
use parameters::{Decode, Task};
use value::Value;
use walk::Walk;

block! {
    /// The kernel. What it does is told in [`stroma_abi::kernel::get`].
    ///
    /// ```text
    ///   command ─ Decode ──────────────────────────────── Walk ─ response
    ///                        ┌─ Gather ─ bucket ─ Choose ─▲ │
    ///   read_data ───────────┤                            │ └─ Ask ─ read
    ///                        └─ Value ◀─ passes ─ Inspect ┘
    ///                             │
    ///                          data_out
    /// ```
    ///
    /// - **Ports** as [`slot`](stroma_hw::slot) says, without writes. `data_in` is taken and forgotten: a request with payload is refused.
    /// - **Latency** 2 cycles from a command to its first read, 3 from the last beat of a bucket to the read of an object or of the next bucket, 3 from the last beat of an object that is not the
    ///   key's to the next read. A beat of the value leaves 1 cycle after the beat that completes it, or 2 if that is the object's last and has bytes of a beat of its own (`D` = 64: 2).
    ///   2 cycles from its last beat to `response`, 3 from the last beat that was read if nothing goes out, and 2 from a command that is refused.
    /// - **Rate** one invocation at a time: a command is taken the cycle after the response to the one before it at the earliest. Reads of an object, of up to
    ///   4096 bytes, follow each other in every cycle, and its value passes at a beat per cycle.
    /// - **Backpressure** a value stalls `read_data` with `data_out`. No combinational path from port to port.
    /// - **Reset** forgets the invocations; data of reads from before must not come any more.
    /// - **Limits** `D` is 64 or 512. What is asked of the parameters is told there; it is judged before anything is read. A chain in a circle ends with
    ///   the limit of hops; time is the watchdog's. An object of another key with the same fingerprint costs the time to read up to 64 KiB.
    pub struct GetKernel<const D: usize> {
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
        choose: Choose,
        inspect: Inspect<D>,
        value: Value<D>,
        walk: Walk,
        ask: Ask,
        task: Signal<Local, Task>,
        is_object: Signal<Local, Bit>,
        begins_object: Signal<Local, Bit>,
    }
}

impl<const D: usize> Logic for GetKernel<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, decode, gather, choose, inspect, value, walk, ask);
        self.decode.reset.next = self.reset.val();
        self.gather.reset.next = self.reset.val();
        self.choose.reset.next = self.reset.val();
        self.value.reset.next = self.reset.val();
        self.walk.reset.next = self.reset.val();
        self.ask.reset.next = self.reset.val();
        self.data_in.ready.next = true;

        StreamSink::<SlotCommand>::link(&mut self.command, &mut self.decode.sink);
        self.task.next = self.decode.source.payload.val();
        self.walk.task.payload.next = self.task.val();
        self.walk.task.valid.next = self.decode.source.valid.val();
        self.decode.source.ready.next = self.walk.task.ready.val();

        // Nothing of an object is asked for before its bucket has come, so each answer's way is known.
        self.is_object.next = self.walk.is_object.val();
        self.begins_object.next = self.walk.begins_object.val();
        self.gather.sink.payload.next = self.read_data.payload.val();
        self.gather.sink.valid.next = self.read_data.valid.val() & !self.is_object.val();
        self.value.sink.payload.next = self.read_data.payload.val();
        self.value.sink.valid.next = self.read_data.valid.val() & self.is_object.val();
        self.read_data.ready.next = self.gather.sink.ready.val();
        if self.is_object.val() {
            self.read_data.ready.next = self.value.sink.ready.val();
        }

        self.choose.wanted.next = self.task.val();
        self.choose.is_there.next = self.gather.is_there.val();
        self.choose.bucket.next = self.gather.element.val();
        self.choose.takes.next = self.begins_object.val();
        self.walk.is_known.next = self.choose.is_known.val();
        self.walk.bucket_ending.next = self.gather.ending.val();
        self.walk.is_some.next = self.choose.is_some.val();
        self.walk.candidate.next = self.choose.candidate.val();
        self.walk.successor.next = self.choose.successor.val();

        self.inspect.begins.next = self.begins_object.val();
        self.inspect.length.next = self.walk.object_length.val();
        self.inspect.wanted.next = self.task.val();
        self.inspect.takes.next = self.value.takes.val();
        self.inspect.data.next = self.read_data.payload.val().data;
        self.walk.is_malformed.next = self.inspect.is_malformed.val();
        self.walk.is_other.next = self.inspect.is_other.val();

        self.value.begins.next = self.begins_object.val();
        self.value.head_words.next = self.task.val().head_words;
        self.value.passes.next = self.inspect.passes.val();
        self.value.is_last.next = self.ask.is_last.val();
        self.walk.object_ending.next = self.value.ending.val();
        self.walk.given.next = self.value.given.val();
        self.walk.is_over.next = self.value.is_empty.val() & self.ask.is_idle.val();
        StreamSource::<Beat<D>>::link(&mut self.data_out, &mut self.value.source);

        self.ask.begins.next = self.walk.asks.val();
        self.ask.va.next = self.walk.va.val();
        self.ask.len.next = self.walk.len.val();
        self.ask.ticket.next = self.task.val().ticket;
        self.ask.key.next = self.task.val().key;
        self.ask.stops.next =
            self.inspect.is_malformed.val() | self.inspect.is_other.val() | self.value.ending.val().any();
        self.ask.closes.next = self.value.closes.val();
        if !self.is_object.val() {
            self.ask.closes.next = self.read_data.valid.val() & self.read_data.payload.val().eop;
        }
        StreamSource::<SlotRead>::link(&mut self.read, &mut self.ask.read);
        StreamSource::<SlotResponse>::link(&mut self.response, &mut self.walk.response);
    }
}
