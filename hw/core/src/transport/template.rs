//! Template: a packet gets the fields that all packets of its queue pair share.

pub mod heading;
pub mod route;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::desc::statistics::SENDING_COUNTERS;
use stroma_abi::desc::{Statistics, Status, UdTarget};

use heading::Heading;
use route::Route;

use super::records::{HandleRow, Nudge, Occasion, PathRow, TxPacket};
use super::statistics::counter;
use crate::constant::number;
use crate::head::Head;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{Beat, StreamSink, StreamSource};

block! {
    /// Makes heads of packets, with the path of their queue pair, and lets their payload pass.
    ///
    /// - **Ports** `packet`, `payload`: a payload for each packet with `payload_len > 0`, in order; `path_enable`, `path_index`,
    ///   `path`: the queue pair's path, there a cycle later; `handle_index`, `handle`: likewise, the address handle that the packet names if
    ///   it is a datagram; `address_index`, `address`: one of the port's addresses, in the
    ///   same cycle; `mac`: the port's. `head`, `source`: heads, and their payload. `raw`: frames, the payload of packets whose
    ///   path is `raw`, which get no head; `departed`: one for each, and for each request of an unreliable connection or datagram that would ask for an
    ///   answer, in order. All of it is here by then, so its queue pair needs it no more. Requests of such a connection get its
    ///   op-codes, and ask for nothing. A datagram goes where its handle leads; one whose handle does not exist, or is another domain's,
    ///   is thrown away, and told as gone astray. `told`, `again`, `raw_sent`: high for a cycle, a departure is told, a packet is sent again, a frame is sent; `tally`, `tally_qpn`: likewise, what
    ///   is counted of a queue pair, a bit for each of the abi's counters of packets. A packet without a path,
    ///   whose queue pair is gone, is thrown away with its payload, and so is what a raw path has no payload for: an answer
    ///   that nobody waits for. `busy`: something is inside.
    /// - **Latency** 1 cycle from `packet` to `head`, 2 to `departed`; 0 from `payload` to `source` or `raw`, from the cycle behind that
    ///   in which the head is taken. **Rate** a packet every 2 cycles, 1 beat per cycle.
    /// - **Backpressure** a head waits, and 8 payloads, and 8 departures; then `packet` does. A payload waits for its packet. `path` and
    ///   `handle` stay as they are until `path_enable`; `mac` and `address` go into a head as they are when it is taken. `payload`, `source`
    ///   and `raw` are joined combinationally, `path`, `handle` and `address` reach `head`; nothing else runs from port to port.
    /// - **Reset** forgets everything; payload of packets from before must not come any more.
    pub struct Template<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub packet: StreamSink<TxPacket>,
        pub payload: StreamSink<Beat<D>>,
        pub path_enable: Signal<Out, Bit>,
        pub path_index: Signal<Out, Bits<24>>,
        pub path: Signal<In, PathRow>,
        pub handle_index: Signal<Out, Bits<24>>,
        pub handle: Signal<In, HandleRow>,
        pub address_index: Signal<Out, Bits<4>>,
        pub address: Signal<In, Bits<128>>,
        pub mac: Signal<In, Bits<48>>,
        pub head: StreamSource<Head>,
        pub source: StreamSource<Beat<D>>,
        pub raw: StreamSource<Beat<D>>,
        pub departed: StreamSource<Nudge>,
        pub told: Signal<Out, Bit>,
        pub raw_sent: Signal<Out, Bit>,
        pub again: Signal<Out, Bit>,
        pub tally: Signal<Out, Bits<SENDING_COUNTERS>>,
        pub tally_qpn: Signal<Out, Bits<24>>,
        pub busy: Signal<Out, Bit>,
        held: Reg<TxPacket>,
        /// A packet is held, and its path is here.
        looking: Reg<Bit>,
        leaves: Reg<Bit>,
        repeats: Reg<Bit>,
        counts: Signal<Local, Bits<SENDING_COUNTERS>>,
        has_departed: Reg<Bit>,
        has_sent: Reg<Bit>,
        heading: Heading,
        route: Route<D>,
        departures: Fifo<Nudge, 3>,
        takes: Signal<Local, Bit>,
        has_room: Signal<Local, Bit>,
        has_head: Signal<Local, Bit>,
        /// The packet that is held goes on its way.
        goes: Signal<Local, Bit>,
        /// It is a frame.
        sends_frame: Signal<Local, Bit>,
        /// It is a request that nobody will answer.
        is_unanswered: Signal<Local, Bit>,
        departs: Signal<Local, Bit>,
        /// It is a datagram whose way is not known, or not its queue pair's.
        is_astray: Signal<Local, Bit>,
        /// It has a path, and leaves.
        is_sent: Signal<Local, Bit>,
        handle_at: Constant<Bits<6>> = number(UdTarget::ADDRESS_HANDLE.offset()),
        sent_at: Constant<Bits<1>> = number(counter(Statistics::SENT_PKTS)),
        again_at: Constant<Bits<1>> = number(counter(Statistics::RETRANS_PKTS)),
        departure: Constant<Bits<3>> = number(Occasion::Departed as u64),
        astray: Constant<Bits<3>> = number(Occasion::Astray as u64),
        unknown_way: Constant<Bits<8>> = number(Status::LocalQueuePair as u64),
    }
}

impl<const D: usize> Logic for Template<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, route, departures);
        dff_setup!(self, clock, held, looking, leaves, repeats, has_departed, has_sent);
        self.route.reset.next = self.reset.val();
        self.departures.reset.next = self.reset.val();

        // Nobody else fills the queues, so room that is there stays until the packet goes.
        self.has_room.next = self.route.way.ready.val() & self.departures.sink.ready.val();
        self.is_astray.next = self.path.val().datagram
            & (!self.handle.val().exists | (self.handle.val().pd != self.path.val().pd));
        self.is_sent.next = self.path.val().exists & !self.is_astray.val();
        self.has_head.next =
            self.looking.q.val() & self.has_room.val() & self.is_sent.val() & !self.path.val().raw;
        self.goes.next =
            self.looking.q.val() & self.has_room.val() & (self.head.ready.val() | !self.has_head.val());
        self.takes.next = !self.looking.q.val();
        self.packet.ready.next = self.takes.val();
        if self.goes.val() {
            self.looking.d.next = false;
        }
        if self.takes.val() {
            self.looking.d.next = self.packet.valid.val();
            self.held.d.next = self.packet.payload.val();
        }
        self.path_enable.next = self.takes.val() & self.packet.valid.val();
        self.path_index.next = self.packet.payload.val().qpn;
        self.handle_index.next = self.packet.payload.val().va.get_bits::<24>(self.handle_at.val().index());

        self.heading.packet.next = self.held.q.val();
        self.heading.path.next = self.path.val();
        self.heading.handle.next = self.handle.val();
        self.heading.address.next = self.address.val();
        self.heading.mac.next = self.mac.val();
        self.address_index.next = self.heading.address_index.val();
        self.is_unanswered.next = self.heading.is_unanswered.val();
        self.head.valid.next = self.has_head.val();
        self.head.payload.next = self.heading.head.val();

        self.route.way.valid.next = self.goes.val() & self.held.q.val().payload_len.any();
        self.route.way.payload.next.passes = self.is_sent.val();
        self.route.way.payload.next.raw = self.path.val().raw;
        StreamSink::<Beat<D>>::link(&mut self.payload, &mut self.route.payload);
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.route.source);
        StreamSource::<Beat<D>>::link(&mut self.raw, &mut self.route.raw);

        // Where an answer would be asked for, the departure is it.
        self.sends_frame.next = self.path.val().raw & self.held.q.val().payload_len.any();
        self.departs.next = self.goes.val()
            & self.path.val().exists
            & (self.sends_frame.val()
                | self.is_astray.val()
                | (self.is_unanswered.val() & self.held.q.val().ackreq));
        self.departures.sink.valid.next = self.departs.val();
        self.departures.sink.payload.next.again = false;
        self.departures.sink.payload.next.occasion = self.departure.val();
        self.departures.sink.payload.next.qpn = self.held.q.val().qpn;
        self.departures.sink.payload.next.slot = 0.into();
        self.departures.sink.payload.next.status = 0.into();
        self.departures.sink.payload.next.vendor = 0.into();
        self.departures.sink.payload.next.psn = self.held.q.val().psn;
        if self.is_astray.val() {
            self.departures.sink.payload.next.occasion = self.astray.val();
            self.departures.sink.payload.next.slot = self.held.q.val().slot;
            self.departures.sink.payload.next.status = self.unknown_way.val();
            self.departures.sink.payload.next.psn = 0.into();
        }
        StreamSource::<Nudge>::link(&mut self.departed, &mut self.departures.source);
        self.has_departed.d.next = self.departs.val();
        self.told.next = self.has_departed.q.val();
        self.has_sent.d.next = self.goes.val() & self.is_sent.val() & self.sends_frame.val();
        self.raw_sent.next = self.has_sent.q.val();

        self.repeats.d.next = self.goes.val() & self.is_sent.val() & self.held.q.val().again;
        self.again.next = self.repeats.q.val();
        self.leaves.d.next = self.goes.val() & self.is_sent.val();
        self.counts.next = 0.into();
        self.counts.next = self.counts.val().replace_bit(self.sent_at.val().index(), self.leaves.q.val());
        self.counts.next = self.counts.val().replace_bit(self.again_at.val().index(), self.repeats.q.val());
        self.tally.next = self.counts.val();
        // A packet that is taken behind this one is held a cycle later.
        self.tally_qpn.next = self.held.q.val().qpn;
        self.busy.next = self.looking.q.val() | self.route.busy.val() | self.departures.level.val().any();
        if self.reset.val() {
            self.looking.d.next = false;
            self.leaves.d.next = false;
            self.repeats.d.next = false;
            self.has_departed.d.next = false;
            self.has_sent.d.next = false;
        }
    }
}
