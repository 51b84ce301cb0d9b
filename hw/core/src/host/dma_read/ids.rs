//! IDs: names for the bursts in flight, and whose each of them is.

use rust_hdl::prelude::*;

use super::{OUTSTANDING, SLOT_LOG};
use crate::constant::{constants, number};
use crate::host::axi::{ReadAddress, ReadBeat};
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// A burst that a lane has room for.
    pub struct Request {
        /// Of its first beat.
        pub addr: Bits<64>,
        /// Beats, less one.
        pub len: Bits<8>,
        /// Whose it is.
        pub client: Bits<3>,
        /// The lane's own name for it.
        pub slot: Bits<SLOT_LOG>,
        /// Last burst of its command.
        pub last: Bit,
    }
}

record! {
    /// Whose a burst in flight is.
    pub struct Owner {
        pub client: Bits<3>,
        pub slot: Bits<SLOT_LOG>,
        pub last: Bit,
    }
}

record! {
    /// A beat that came back.
    pub struct Arrival<const D: usize> {
        /// The bytes, lowest address lowest.
        pub data: Bits<D>,
        /// The host could not read them.
        pub err: Bit,
        /// Last beat of its command.
        pub eop: Bit,
        /// Whose it is.
        pub client: Bits<3>,
        /// Which of its bursts it belongs to.
        pub slot: Bits<SLOT_LOG>,
    }
}

/// Bits of an ID.
const ID_LOG: usize = 6;
/// IDs there can be.
const IDS: usize = 1 << ID_LOG;

block! {
    /// Gives each burst an ID no other in flight has, and each beat that comes back its owner.
    ///
    /// An ID is free again when the burst's last beat is back, whether or not the client has taken it: a client that stops
    /// keeps its places, but no ID.
    ///
    /// - **Ports** `sink`: bursts; `ar`, `r`: the host; `arrival`, `arrived`: its beats with their owners.
    /// - **Latency** 1 cycle each way. **Rate** 1 burst and 1 beat per cycle.
    /// - **Backpressure** stalls `sink` while no ID is free; `r.ready` is always high. No combinational path from
    ///   port to port.
    /// - **Reset** all IDs are free; the host must have forgotten them too.
    pub struct Ids<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Request>,
        pub ar: StreamSource<ReadAddress>,
        pub r: StreamSink<ReadBeat<D>>,
        pub arrival: Signal<Out, Arrival<D>>,
        pub arrived: Signal<Out, Bit>,
        /// IDs that may not be given, for the one reason or the other: in use, or beyond the limit.
        taken: Reg<Bits<IDS>>,
        /// The ID for the next burst, chosen ahead.
        spare: Reg<Bits<ID_LOG>>,
        spare_valid: Reg<Bit>,
        owners: LutRam<Owner, ID_LOG>,
        beat: Reg<ReadBeat<D>>,
        beat_valid: Reg<Bit>,
        cut: Skid<ReadAddress>,
        moves: Signal<Local, Bit>,
        lowest: Signal<Local, Bits<IDS>>,
        chosen: Signal<Local, Bits<ID_LOG>>,
        taken_next: Signal<Local, Bits<IDS>>,
        beyond: Constant<Bits<IDS>> = beyond(OUTSTANDING),
        /// For each bit of an ID, the IDs that have it set.
        with_bit: [Constant<Bits<IDS>>; ID_LOG] = constants(|bit| {
            (0..IDS).filter(|id| id >> bit & 1 == 1).map(|id| 1_u64 << id).sum::<u64>().into()
        }),
    }
}

/// The IDs that are not among the first `outstanding`.
///
/// # Panics
/// If those are none, or more than there are.
fn beyond(outstanding: usize) -> Constant<Bits<IDS>> {
    assert!((1..=IDS).contains(&outstanding), "1 to {IDS} reads can be in flight, not {outstanding}");
    number(!(u64::MAX >> (IDS - outstanding)))
}

impl<const D: usize> Ids<D> {
    /// At most `outstanding` bursts in flight, from 1 to 64; `default()` has [`OUTSTANDING`].
    #[must_use]
    pub fn new(outstanding: usize) -> Self {
        Self { beyond: beyond(outstanding), ..Self::default() }
    }
}

impl<const D: usize> Logic for Ids<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, owners, cut);
        dff_setup!(self, clock, taken, spare, spare_valid, beat, beat_valid);
        self.cut.reset.next = self.reset.val();

        self.sink.ready.next = self.spare_valid.q.val() & self.cut.sink.ready.val();
        self.moves.next = self.sink.valid.val() & self.spare_valid.q.val() & self.cut.sink.ready.val();
        self.cut.sink.valid.next = self.sink.valid.val() & self.spare_valid.q.val();
        self.cut.sink.payload.next.addr = self.sink.payload.val().addr;
        self.cut.sink.payload.next.len = self.sink.payload.val().len;
        self.cut.sink.payload.next.id = self.spare.q.val();
        StreamSource::<ReadAddress>::link(&mut self.ar, &mut self.cut.source);
        self.owners.write_enable.next = self.moves.val();
        self.owners.write_address.next = self.spare.q.val();
        self.owners.write_data.next.client = self.sink.payload.val().client;
        self.owners.write_data.next.slot = self.sink.payload.val().slot;
        self.owners.write_data.next.last = self.sink.payload.val().last;

        self.r.ready.next = true;
        self.beat.d.next = self.r.payload.val();
        self.beat_valid.d.next = self.r.valid.val();
        self.owners.read_address.next = self.beat.q.val().id;
        self.arrived.next = self.beat_valid.q.val();
        self.arrival.next.data = self.beat.q.val().data;
        self.arrival.next.err = self.beat.q.val().resp.any();
        self.arrival.next.eop = self.beat.q.val().last & self.owners.read_data.val().last;
        self.arrival.next.client = self.owners.read_data.val().client;
        self.arrival.next.slot = self.owners.read_data.val().slot;

        // x + 1 carries through the ones at the bottom of x, into its lowest zero.
        self.lowest.next = !self.taken.q.val() & (self.taken.q.val() + 1);
        self.chosen.next = 0.into();
        for i in 0..ID_LOG {
            self.chosen.next =
                self.chosen.val().replace_bit(i, (self.lowest.val() & self.with_bit[i].val()).any());
        }
        self.taken_next.next = self.taken.q.val();
        if self.beat_valid.q.val() & self.beat.q.val().last {
            self.taken_next.next = self.taken_next.val().replace_bit(self.beat.q.val().id.index(), false);
        }
        if self.moves.val() | !self.spare_valid.q.val() {
            self.spare.d.next = self.chosen.val();
            self.spare_valid.d.next = self.lowest.val().any();
            self.taken_next.next = self.taken_next.val() | self.lowest.val();
        }
        self.taken.d.next = self.taken_next.val();
        if self.reset.val() {
            self.taken.d.next = self.beyond.val();
            self.spare_valid.d.next = false;
            self.beat_valid.d.next = false;
        }
    }
}
