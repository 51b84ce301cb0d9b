//! The card's front: what the host stores to and reads from its BARs.

pub mod counter;
pub mod event_queue;
pub mod facts;
pub mod fixed;
pub mod groups;
pub mod kernels;
pub mod live;
pub mod loads;
pub mod mailbox;
pub mod model;
pub mod moderation;
pub mod place;
pub mod port;
#[cfg(test)]
mod rig;
pub mod stations;
pub mod stores;
pub mod tally;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use event_queue::EventQueue;
use facts::Facts;
use fixed::Fixed;
use groups::GroupTable;
use kernels::{KernelTable, SLOTS};
use live::{CLASSES, COUNTS, Live};
use loads::Loads;
use mailbox::{Mailbox, OWNERS};
use moderation::{Moderation, VECTOR_BITS, VectorTable};
use port::{ADDRESS_BITS, PortTable, READERS};
use stations::Stations;
use stores::Stores;

use super::axi_lite::{LiteAddress, LiteRead, LiteResponse, LiteWrite};
use super::work::PageStore;
use crate::state::command::{ObjectCommand, ObjectReply};
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::Station;

block! {
    /// Answers the host: the registers of BAR0, the command mailbox, and the way of doorbells into the card.
    ///
    /// ```text
    ///   aw, w, b ─ Stores ─┬─ FIFO of 64 ─ store
    ///                      └─┬─ Live ─ restart
    ///              Fixed ─┐  ├─ EventQueue ─ event_*, consumer
    ///   ar, r ─ Loads ◀───┴──├─ VectorTable ─ vector_moderation
    ///                        ├─ PortTable ─ mac, address ─┬─ Stations ─ station
    ///                        ├─ GroupTable ───────────────┘
    ///                        ├─ KernelTable ─ kernel_*
    ///                        └─ Mailbox ─ command, reply
    /// ```
    ///
    /// Each part shows its own bits of the eight bytes that are read, and zero elsewhere, so their words are or-ed.
    ///
    /// - **Ports** `aw`, `w`, `b`, `ar`, `r`: AXI4-Lite, see [`axi_lite`](super::axi_lite); every response is OKAY. `store`:
    ///   stores to BAR2. `time`, `ready`, `link`, `class_counts`, `counts` (in the order of the block `counters`), `producer`:
    ///   shown. `restart`: one cycle for each store of 1 to `control.reset`; `clear`: the card begins anew. `event_*`, `consumer`, `consumer_stored`,
    ///   `overflows`: as in [`EventQueue`]. `vector_index`, `vector_moderation`: a vector, and its row in the same cycle.
    ///   `mac`, `raw_queue_pair`, `raw_enable`, `cnp_interval`, `address_index`, `address`: as in [`PortTable`]. `destination`, `station`: as in [`Stations`]. `kernel_*`: as in [`KernelTable`].
    ///   `command`, `reply`: as in [`Mailbox`], for queue pairs, CQs, regions, SRQs, statistics and address handles. `runs`: a command is under way. `busy`: an access or a command is under
    ///   way, or a store to a page is not taken.
    /// - **Latency** `r` 3 cycles behind `ar`; `b` 2 cycles behind the later of `aw` and `w`, and `restart` and all registers
    ///   with it; 1 cycle for a store to BAR2 whose `aw` and `w` come together, and `store` with it. **Rate** a store every 2 cycles and, independently, a read every 4.
    /// - **Backpressure** only `b`, `r` and a full `store` hold the bus up; reads never wait for stores.
    /// - **Reset** drops everything; the bus has to be reset with it. `clear` does not touch the bus: it clears event queue,
    ///   moderation, port, groups and mailbox, puts back limits and counters of kernels, and the owners of tables have to be reset with it.
    /// - **Limits** what is no register reads as zero, and stores there change nothing.
    pub struct Control {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub aw: StreamSink<LiteAddress>,
        pub w: StreamSink<LiteWrite>,
        pub b: StreamSource<LiteResponse>,
        pub ar: StreamSink<LiteAddress>,
        pub r: StreamSource<LiteRead>,
        pub store: StreamSource<PageStore>,
        pub time: Signal<In, Bits<64>>,
        pub ready: Signal<In, Bit>,
        pub link: Signal<In, Bit>,
        pub restart: Signal<Out, Bit>,
        pub clear: Signal<In, Bit>,
        pub class_counts: [Signal<In, Bits<32>>; CLASSES],
        pub counts: [Signal<In, Bits<64>>; COUNTS],
        pub event_base: Signal<Out, Bits<52>>,
        pub event_log: Signal<Out, Bits<5>>,
        pub event_vector: Signal<Out, Bits<5>>,
        pub event_enable: Signal<Out, Bit>,
        pub consumer: Signal<Out, Bits<32>>,
        pub consumer_stored: Signal<Out, Bit>,
        pub producer: Signal<In, Bits<32>>,
        pub overflows: Signal<In, Bit>,
        pub vector_index: Signal<In, Bits<VECTOR_BITS>>,
        pub vector_moderation: Signal<Out, Moderation>,
        pub mac: Signal<Out, Bits<48>>,
        pub raw_queue_pair: Signal<Out, Bits<24>>,
        pub raw_enable: Signal<Out, Bit>,
        pub cnp_interval: Signal<Out, Bits<32>>,
        pub address_index: [Signal<In, Bits<ADDRESS_BITS>>; READERS],
        pub address: [Signal<Out, Bits<128>>; READERS],
        pub destination: Signal<In, Bits<128>>,
        pub station: Signal<Out, Station>,
        pub kernel_limit: Signal<Out, Bits<32>>,
        pub kernel_patience: Signal<Out, Bits<32>>,
        pub kernel_invoked: Signal<In, Bits<SLOTS>>,
        pub kernel_succeeded: Signal<In, Bits<SLOTS>>,
        pub kernel_failed: Signal<In, Bits<SLOTS>>,
        pub kernel_expired: Signal<In, Bits<SLOTS>>,
        pub kernel_aborted: Signal<In, Bits<SLOTS>>,
        pub command: [StreamSource<ObjectCommand>; OWNERS],
        pub reply: [StreamSink<ObjectReply>; OWNERS],
        pub runs: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        stores: Stores,
        loads: Loads,
        fixed: Fixed = Fixed::new(&Facts::default()),
        live: Live,
        events: EventQueue,
        vectors: VectorTable,
        port: PortTable,
        groups: GroupTable,
        stations: Stations,
        kernels: KernelTable,
        mailbox: Mailbox,
        clears: Signal<Local, Bit>,
    }
}

impl Control {
    /// The front of a card of which these facts hold.
    #[must_use]
    pub fn new(facts: &Facts) -> Self {
        Self { fixed: Fixed::new(facts), port: PortTable::new(facts.clock_khz.into()), ..Self::default() }
    }
}

impl Logic for Control {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, stores, loads, fixed, live, events, vectors, port, kernels, mailbox);
        clock!(self, clock, groups, stations);
        self.clears.next = self.reset.val() | self.clear.val();
        self.stores.reset.next = self.reset.val();
        self.loads.reset.next = self.reset.val();
        self.live.reset.next = self.reset.val();
        self.events.reset.next = self.clears.val();
        self.vectors.reset.next = self.clears.val();
        self.port.reset.next = self.clears.val();
        self.groups.reset.next = self.clears.val();
        self.stations.reset.next = self.clears.val();
        self.kernels.reset.next = self.clears.val();
        self.mailbox.reset.next = self.clears.val();

        StreamSink::<LiteAddress>::link(&mut self.aw, &mut self.stores.aw);
        StreamSink::<LiteWrite>::link(&mut self.w, &mut self.stores.w);
        StreamSource::<LiteResponse>::link(&mut self.b, &mut self.stores.b);
        StreamSource::<PageStore>::link(&mut self.store, &mut self.stores.page);
        self.live.store.next = self.stores.register.val();
        self.events.store.next = self.stores.register.val();
        self.vectors.store.next = self.stores.register.val();
        self.port.store.next = self.stores.register.val();
        self.groups.store.next = self.stores.register.val();
        self.kernels.store.next = self.stores.register.val();
        self.mailbox.store.next = self.stores.register.val();

        StreamSink::<LiteAddress>::link(&mut self.ar, &mut self.loads.ar);
        StreamSource::<LiteRead>::link(&mut self.r, &mut self.loads.r);
        self.loads.stores.next = self.stores.register.val().valid;
        self.fixed.place.next = self.loads.place.val();
        self.live.place.next = self.loads.place.val();
        self.events.place.next = self.loads.place.val();
        self.vectors.place.next = self.loads.place.val();
        self.port.place.next = self.loads.place.val();
        self.groups.place.next = self.loads.place.val();
        self.kernels.place.next = self.loads.place.val();
        self.mailbox.place.next = self.loads.place.val();
        self.loads.word.next = self.fixed.word.val()
            | self.live.word.val()
            | self.events.word.val()
            | self.vectors.word.val()
            | self.port.word.val()
            | self.groups.word.val()
            | self.kernels.word.val()
            | self.mailbox.word.val();

        self.live.time.next = self.time.val();
        self.live.ready.next = self.ready.val();
        self.live.link.next = self.link.val();
        for i in 0..CLASSES {
            self.live.class_counts[i].next = self.class_counts[i].val();
        }
        for i in 0..COUNTS {
            self.live.counts[i].next = self.counts[i].val();
        }
        self.restart.next = self.live.restart.val();

        self.event_base.next = self.events.base.val();
        self.event_log.next = self.events.log.val();
        self.event_vector.next = self.events.vector.val();
        self.event_enable.next = self.events.enable.val();
        self.consumer.next = self.events.consumer.val();
        self.consumer_stored.next = self.events.consumer_stored.val();
        self.events.producer.next = self.producer.val();
        self.events.overflows.next = self.overflows.val();
        self.vectors.vector.next = self.vector_index.val();
        self.vector_moderation.next = self.vectors.moderation.val();

        self.mac.next = self.port.mac.val();
        self.raw_queue_pair.next = self.port.raw_queue_pair.val();
        self.raw_enable.next = self.port.raw_enable.val();
        self.cnp_interval.next = self.port.cnp_interval.val();
        for i in 0..READERS {
            self.port.index[i].next = self.address_index[i].val();
            self.address[i].next = self.port.address[i].val();
        }

        self.stations.address.next = self.port.stored.val();
        self.stations.group.next = self.groups.half.val();
        self.stations.member.next = self.groups.member.val();
        self.stations.destination.next = self.destination.val();
        self.station.next = self.stations.station.val();

        self.kernel_limit.next = self.kernels.limit.val();
        self.kernel_patience.next = self.kernels.patience.val();
        self.kernels.invoked.next = self.kernel_invoked.val();
        self.kernels.succeeded.next = self.kernel_succeeded.val();
        self.kernels.failed.next = self.kernel_failed.val();
        self.kernels.expired.next = self.kernel_expired.val();
        self.kernels.aborted.next = self.kernel_aborted.val();

        self.mailbox.ready.next = self.ready.val();
        for i in 0..OWNERS {
            StreamSource::<ObjectCommand>::link(&mut self.command[i], &mut self.mailbox.command[i]);
            StreamSink::<ObjectReply>::link(&mut self.reply[i], &mut self.mailbox.reply[i]);
        }
        self.runs.next = self.mailbox.busy.val();
        self.busy.next = self.stores.busy.val() | self.loads.busy.val() | self.mailbox.busy.val();
    }
}
