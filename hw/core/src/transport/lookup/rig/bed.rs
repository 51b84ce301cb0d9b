//! The lookup beside a table of rows, one of addresses, and who knows whose an address is.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::head::Head;
use crate::host::control::stations::{HalfStore, MemberStore, Stations};
use crate::prim::ram::{BlockRam, LutRam};
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::lookup::Lookup;
use crate::transport::records::{Arrival, Nudge, Order, PeerRow};

/// log2 of the rows.
pub(super) const QPS: usize = 4;

block! {
    /// [`Lookup`] with its tables: `write*` for rows, `place*` for addresses, which `half_*` and `member` tell once more. `began`: in the cycle before, a row was read.
    pub(super) struct Bed {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub write: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<QPS>>,
        pub write_row: Signal<In, PeerRow>,
        pub place: Signal<In, Bit>,
        pub place_index: Signal<In, Bits<4>>,
        pub place_address: Signal<In, Bits<128>>,
        pub half_address: Signal<In, HalfStore>,
        pub half_group: Signal<In, HalfStore>,
        pub member: Signal<In, MemberStore>,
        pub mac: Signal<In, Bits<48>>,
        pub head: StreamSink<Head>,
        pub nudge: StreamSink<Nudge>,
        pub raw_queue_pair: Signal<In, Bits<24>>,
        pub pause: Signal<In, Bit>,
        pub admits: Signal<In, Bit>,
        pub lost: Signal<Out, Bit>,
        pub colour: Signal<In, Bit>,
        pub enters: Signal<Out, Bit>,
        pub enters_colour: Signal<Out, Bit>,
        pub pending: Signal<Out, Bit>,
        pub request: StreamSource<Arrival>,
        pub response: StreamSource<Arrival>,
        pub order: StreamSource<Order>,
        pub notice: StreamSource<Bits<24>>,
        pub first: StreamSource<Bits<24>>,
        pub dropped: Signal<Out, Bit>,
        pub raw_dropped: Signal<Out, Bit>,
        pub cnp_received: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        pub began: Signal<Out, Bit>,
        lookup: Lookup,
        stations: Stations,
        rows: BlockRam<PeerRow, QPS>,
        addresses: LutRam<Bits<128>, 4>,
        last_began: Reg<Bit>,
        is_beyond: Reg<Bit>,
        index: Signal<Local, Bits<24>>,
        found: Signal<Local, PeerRow>,
        nothing: Constant<PeerRow> = Constant::new(PeerRow::default()),
        log: Constant<Bits<5>> = number(QPS),
    }
}

impl Logic for Bed {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, lookup, rows, addresses, stations);
        dff_setup!(self, clock, last_began, is_beyond);
        self.lookup.reset.next = self.reset.val();
        self.rows.write_enable.next = self.write.val();
        self.rows.write_address.next = self.write_index.val();
        self.rows.write_data.next = self.write_row.val();
        self.index.next = self.lookup.row_index.val();
        self.rows.read_enable.next = self.lookup.row_enable.val();
        self.rows.read_address.next = bit_cast::<QPS, 24>(self.index.val());
        if self.lookup.row_enable.val() {
            self.is_beyond.d.next = (self.index.val() >> self.log.val()).any();
        }
        self.found.next = self.rows.read_data.val();
        if self.is_beyond.q.val() {
            self.found.next = self.nothing.val();
        }
        self.lookup.row.next = self.found.val();
        self.addresses.write_enable.next = self.place.val();
        self.addresses.write_address.next = self.place_index.val();
        self.addresses.write_data.next = self.place_address.val();
        self.addresses.read_address.next = self.lookup.address_index.val();
        self.lookup.address.next = self.addresses.read_data.val();
        self.lookup.mac.next = self.mac.val();
        // All tables outlive a reset.
        self.stations.reset.next = false;
        self.stations.address.next = self.half_address.val();
        self.stations.group.next = self.half_group.val();
        self.stations.member.next = self.member.val();
        self.stations.destination.next = self.lookup.destination.val();
        self.lookup.station.next = self.stations.station.val();
        self.last_began.d.next = self.lookup.row_enable.val();
        self.began.next = self.last_began.q.val();

        StreamSink::<Head>::link(&mut self.head, &mut self.lookup.head);
        StreamSink::<Nudge>::link(&mut self.nudge, &mut self.lookup.nudge);
        self.lookup.raw_queue_pair.next = self.raw_queue_pair.val();
        self.lookup.pause.next = self.pause.val();
        self.lookup.admits.next = self.admits.val();
        self.lost.next = self.lookup.lost.val();
        self.lookup.colour.next = self.colour.val();
        self.enters.next = self.lookup.enters.val();
        self.enters_colour.next = self.lookup.enters_colour.val();
        self.pending.next = self.lookup.pending.val();
        StreamSource::<Arrival>::link(&mut self.request, &mut self.lookup.request);
        StreamSource::<Arrival>::link(&mut self.response, &mut self.lookup.response);
        StreamSource::<Order>::link(&mut self.order, &mut self.lookup.order);
        StreamSource::<Bits<24>>::link(&mut self.notice, &mut self.lookup.notice);
        StreamSource::<Bits<24>>::link(&mut self.first, &mut self.lookup.first);
        self.dropped.next = self.lookup.dropped.val();
        self.raw_dropped.next = self.lookup.raw_dropped.val();
        self.cnp_received.next = self.lookup.cnp_received.val();
        self.busy.next = self.lookup.busy.val();
    }
}
