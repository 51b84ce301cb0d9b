//! `consistency`: reads an object until the CRC that it carries fits, and answers with it.

pub mod attempt;
pub mod check;
pub mod crc;
#[cfg(test)]
mod differential;
pub mod parameters;
pub mod store;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::slot::{SlotCommand, SlotData, SlotRead, SlotResponse};
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use crate::ask::{Ask, STRETCH_BITS};
use attempt::Attempt;
use check::Check;
use parameters::{Decode, OBJECT_BITS, Task};
use store::Store;

block! {
    /// The kernel. What it does is told in [`stroma_abi::kernel::consistency`].
    ///
    /// ```text
    ///   command ─ Decode ─────────── Attempt ─ response
    ///                  ┌─ Check ─ fits ─▲ │
    ///   read_data ─────┤                │ └─ Ask ─ read
    ///                  └─ Store ◀───────┘
    ///                       │
    ///                    data_out
    /// ```
    ///
    /// - **Ports** as [`slot`](stroma_hw::slot) says, without writes. `data_in` is taken and forgotten: a request with payload is refused.
    /// - **Latency** 2 cycles from a command to its first read, 4 from the last beat that is read to the first of the answer, or with `pause` more to the first read of the next attempt;
    ///   2 from the last beat of the answer to `response`, 3 from the last beat that is read if there is no answer, and 2 from a command that is refused.
    /// - **Rate** one invocation at a time: a command is taken the cycle after the response to the one before it at the earliest. The reads of an attempt follow each other in every cycle, an
    ///   object comes and goes at a beat per cycle.
    /// - **Backpressure** none on `read_data`: there is room for every object. No combinational path from port to port.
    /// - **Reset** forgets the invocations; data of reads from before must not come any more.
    /// - **Limits** `D` is 64 or 512, and `2^LOG` beats hold the largest object, of 16 KiB: `LOG` is 11 or 8. All reads of an attempt are asked for, whatever comes of them.
    ///   The attempts of a request may take long: time is the watchdog's.
    pub struct ConsistencyKernel<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<SlotCommand>,
        pub data_in: StreamSink<Beat<D>>,
        pub read: StreamSource<SlotRead>,
        pub read_data: StreamSink<SlotData<D>>,
        pub data_out: StreamSource<Beat<D>>,
        pub response: StreamSource<SlotResponse>,
        decode: Decode,
        check: Check<D>,
        store: Store<D, LOG>,
        attempt: Attempt,
        ask: Ask,
        task: Signal<Local, Task>,
        begins: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        closes: Signal<Local, Bit>,
    }
}

impl<const D: usize, const LOG: usize> Logic for ConsistencyKernel<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, decode, check, store, attempt, ask);
        self.decode.reset.next = self.reset.val();
        self.check.reset.next = self.reset.val();
        self.store.reset.next = self.reset.val();
        self.attempt.reset.next = self.reset.val();
        self.ask.reset.next = self.reset.val();
        self.data_in.ready.next = true;
        self.read_data.ready.next = true;

        StreamSink::<SlotCommand>::link(&mut self.command, &mut self.decode.sink);
        self.task.next = self.decode.source.payload.val();
        self.attempt.task.payload.next = self.task.val();
        self.attempt.task.valid.next = self.decode.source.valid.val();
        self.decode.source.ready.next = self.attempt.task.ready.val();

        self.begins.next = self.attempt.begins.val();
        self.takes.next = self.read_data.valid.val();
        self.closes.next = self.read_data.valid.val() & self.read_data.payload.val().eop;
        self.check.begins.next = self.begins.val();
        self.check.takes.next = self.takes.val();
        self.check.data.next = self.read_data.payload.val().data;
        self.check.nbytes.next = self.read_data.payload.val().nbytes;
        self.check.ends.next = self.read_data.payload.val().eop & self.ask.is_last.val();
        self.attempt.closes.next = self.closes.val();
        self.attempt.ending.next = self.read_data.payload.val().err;
        self.attempt.is_known.next = self.check.is_known.val();
        self.attempt.fits.next = self.check.fits.val();

        self.store.begins.next = self.begins.val();
        self.store.takes.next = self.takes.val();
        self.store.data.next = self.read_data.payload.val().data;
        self.store.len.next = self.task.val().answer_len;
        self.store.is_open.next = self.attempt.is_open.val();
        self.attempt.is_over.next = self.store.is_over.val();
        StreamSource::<Beat<D>>::link(&mut self.data_out, &mut self.store.source);

        self.ask.begins.next = self.begins.val();
        self.ask.va.next = self.task.val().address;
        self.ask.len.next = bit_cast::<STRETCH_BITS, OBJECT_BITS>(self.task.val().length);
        self.ask.ticket.next = self.task.val().ticket;
        self.ask.key.next = self.task.val().key;
        self.ask.stops.next = false;
        self.ask.closes.next = self.closes.val();
        StreamSource::<SlotRead>::link(&mut self.read, &mut self.ask.read);
        StreamSource::<SlotResponse>::link(&mut self.response, &mut self.attempt.response);
    }
}
