//! The event queue: what happened goes into a ring of host memory, and an interrupt says that it is there.

pub mod alarm;
#[cfg(test)]
mod model;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod tests;
pub mod writer;

use rust_hdl::prelude::*;

use alarm::Alarm;
use writer::Writer;

use super::control::moderation::Moderation;
use super::work::{EntryWrite, EventRecord};
use crate::prim::arbiter::Arbiter;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Writes events of `SOURCES` streams to the event queue, and raises its vector.
    ///
    /// ```text
    ///   sinks ─ Arbiter ─ Writer ─ entry            ticket, done ─ Writer
    ///                       │ entries in host memory
    ///                     Alarm ─ irq               consumer, moderation ─ Alarm
    /// ```
    ///
    /// - **Ports** `sinks`: events; `entry`: their EQEs. `ticket`: the ticket that an entry gets if it is taken in this
    ///   cycle; `done`: tickets up to this one are in host memory (16 bits, they wrap). `base` (without its low twelve
    ///   bits), `log`, `vector`, `enable`: the queue. `consumer`, `consumer_stored`: entries the driver has taken, and
    ///   that it was stored, in the cycle in which it shows the new value or in the one before. `producer`: entries in
    ///   host memory since `enable`. `overflows`: an event was lost. `vector_index`, `moderation`: the vector, and what
    ///   holds for it, in the same cycle. `irq`: the vector, each time it fires. `time`: the card's clock. `wake`: the
    ///   time at which a wait ends, all ones if there is none. `busy`: something is under way that needs no wait.
    /// - **An event** is taken and lost in silence while `enable` is low, and with `overflows` while the ring is full.
    ///   The rise of `enable` begins with producer, consumer and lap 0 once the last entry of before is in host memory;
    ///   events wait meanwhile.
    /// - **The vector** fires at most once an arming. `enable` arms it, and each store to `consumer`. Armed and not masked it
    ///   fires when `count` entries lie in host memory that the driver has not taken, or `period_us` after the first of them;
    ///   at once if both are 0; a 0 in one of them leaves it to the other. A store that leaves entries untaken begins a
    ///   new wait for them. Nothing is lost when stores and events meet: whether entries wait is asked in every cycle,
    ///   not noted when they come.
    /// - **Latency** 2 cycles from `sinks` to `entry.valid`; 2 from `done` to `irq.valid`, 3 from `consumer_stored`, if
    ///   nothing is to be waited for. A period is never early, and late by at most 3 cycles and 1/16 of one each microsecond.
    ///   **Rate** 1 event each 2 cycles.
    /// - **Backpressure** `sinks` wait for `entry`, and while 32 entries are on their way; a vector not taken keeps the next
    ///   from firing. No combinational path from port to port, but `vector` to `vector_index`.
    /// - **Reset** forgets everything; the queue begins anew if it is enabled.
    /// - **Limits** the ring has `2^log` entries for every `log`. A `consumer` beyond `producer` counts as a full ring. A new
    ///   period counts for waits that begin 4 cycles later.
    pub struct Events<const SOURCES: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sinks: [StreamSink<EventRecord>; SOURCES] = std::array::from_fn(|_| StreamSink::default()),
        pub base: Signal<In, Bits<52>>,
        pub log: Signal<In, Bits<5>>,
        pub vector: Signal<In, Bits<5>>,
        pub enable: Signal<In, Bit>,
        pub consumer: Signal<In, Bits<32>>,
        pub consumer_stored: Signal<In, Bit>,
        pub producer: Signal<Out, Bits<32>>,
        pub overflows: Signal<Out, Bit>,
        pub vector_index: Signal<Out, Bits<5>>,
        pub moderation: Signal<In, Moderation>,
        pub entry: StreamSource<EntryWrite>,
        pub ticket: Signal<In, Bits<16>>,
        pub done: Signal<In, Bits<16>>,
        pub time: Signal<In, Bits<64>>,
        pub irq: StreamSource<Bits<5>>,
        pub wake: Signal<Out, Bits<64>>,
        pub busy: Signal<Out, Bit>,
        arbiter: Arbiter<EventRecord, SOURCES>,
        writer: Writer,
        alarm: Alarm,
    }
}

impl<const SOURCES: usize> Events<SOURCES> {
    /// An event queue on a card with this core clock; `default()` has 250 MHz.
    ///
    /// # Panics
    /// As [`Alarm::new`].
    #[must_use]
    pub fn new(clock_khz: u64) -> Self {
        Self { alarm: Alarm::new(clock_khz), ..Self::default() }
    }
}

impl<const SOURCES: usize> Logic for Events<SOURCES> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, arbiter, writer, alarm);
        self.arbiter.reset.next = self.reset.val();
        self.writer.reset.next = self.reset.val();
        self.alarm.reset.next = self.reset.val();
        for i in 0..SOURCES {
            StreamSink::<EventRecord>::link(&mut self.sinks[i], &mut self.arbiter.sinks[i]);
        }
        StreamSource::<EventRecord>::join(&mut self.arbiter.source, &mut self.writer.sink);
        self.writer.base.next = self.base.val();
        self.writer.log.next = self.log.val();
        self.writer.enable.next = self.enable.val();
        self.writer.taken.next = self.alarm.taken.val();
        self.writer.ticket.next = self.ticket.val();
        self.writer.done.next = self.done.val();
        StreamSource::<EntryWrite>::link(&mut self.entry, &mut self.writer.entry);
        self.producer.next = self.writer.visible.val();
        self.overflows.next = self.writer.overflows.val();

        self.vector_index.next = self.vector.val();
        self.alarm.running.next = self.writer.running.val();
        self.alarm.visible.next = self.writer.visible.val();
        self.alarm.consumer.next = self.consumer.val();
        self.alarm.consumer_stored.next = self.consumer_stored.val();
        self.alarm.vector.next = self.vector.val();
        self.alarm.moderation.next = self.moderation.val();
        self.alarm.now.next = self.time.val();
        StreamSource::<Bits<5>>::link(&mut self.irq, &mut self.alarm.irq);
        self.wake.next = self.alarm.wake.val();
        self.busy.next = self.writer.busy.val() | self.alarm.busy.val();
    }
}
