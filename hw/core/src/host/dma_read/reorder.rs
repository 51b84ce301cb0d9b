//! Reorder buffer: each burst has its place before it is asked for, so it does not matter when it comes.

use rust_hdl::prelude::*;

use super::ids::{Arrival, Request};
use super::split::{Burst, chunk_beats};
use super::{SLOT_LOG, SLOTS};
use crate::constant::number;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::prim::ring::{Ring, capacity};
use crate::prim::stream_ram::StreamRam;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// A beat as it waits for its turn.
    pub struct Stored<const D: usize> {
        /// The bytes, lowest address lowest.
        pub data: Bits<D>,
        /// The host could not read them.
        pub err: Bit,
        /// Last beat of its command.
        pub eop: Bit,
    }
}

block! {
    /// Requests bursts when there is room for all of each, and gives their beats in the order of the requests.
    ///
    /// The places of a burst are the next of a ring of `2^LOG`. A slot holds, for one burst, where it starts, where it ends and
    /// how far it has come.
    ///
    /// - **Ports** `sink`: bursts to ask for; `request`: the same, each with its slot; `arrival`: their beats (with `arrived`
    ///   high), those of one burst in order; `source`: all beats, burst after burst.
    /// - **Latency** 0 cycles from `sink` to `request`, 3 from `arrival` to `source`. **Rate** 1 beat per cycle, a burst every 2 cycles.
    /// - **Backpressure** `arrival` has none. A burst waits until there is a slot, and room for the longest: how long it is, is known too
    ///   late to compare. `sink.ready` follows `request.ready`
    ///   combinationally.
    /// - **Reset** empties it; a beat that arrives afterwards for an earlier request would be taken for another's.
    /// - **Limits** `2^LOG` beats hold two of the longest bursts or more, else building panics.
    pub struct Reorder<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Burst>,
        pub request: StreamSource<Request>,
        pub arrival: Signal<In, Arrival<D>>,
        pub arrived: Signal<In, Bit>,
        pub source: StreamSource<Stored<D>>,
        memory: StreamRam<Stored<D>, LOG>,
        reserve_at: Reg<Bits<LOG>>,
        read_at: Reg<Bits<LOG>>,
        free: Reg<Bits<16>>,
        /// As `free` has it. In the cycle behind a request it does not have that yet.
        has_room: Reg<Bit>,
        has_issued: Reg<Bit>,
        slots: Ring<SLOT_LOG>,
        start_at: LutRam<Bits<LOG>, SLOT_LOG>,
        end_at: LutRam<Bits<LOG>, SLOT_LOG>,
        // Where the next beat of a slot goes if one came before: the same twice, to be read by arrival and by delivery.
        next_at: LutRam<Bits<LOG>, SLOT_LOG>,
        here_to: LutRam<Bits<LOG>, SLOT_LOG>,
        begun: Reg<Bits<SLOTS>>,
        beats: Signal<Local, Bits<14>>,
        fits: Signal<Local, Bit>,
        issued: Signal<Local, Bit>,
        free_now: Signal<Local, Bits<16>>,
        reserve_next: Signal<Local, Bits<LOG>>,
        slot: Signal<Local, Bits<SLOT_LOG>>,
        place: Signal<Local, Bits<LOG>>,
        place_next: Signal<Local, Bits<LOG>>,
        begun_next: Signal<Local, Bits<SLOTS>>,
        read_next: Signal<Local, Bits<LOG>>,
        capacity: Constant<Bits<16>> = Constant::new(places::<D>(LOG)),
        longest: Constant<Bits<16>> = number(chunk_beats(D)),
        client: Constant<Bits<3>> = number(0_u64),
    }
}

/// `2^log` as a level.
///
/// # Panics
/// If two of the longest bursts do not fit: a burst as long as the ring would end where it starts.
fn places<const D: usize>(log: usize) -> Bits<16> {
    let least = 2 * chunk_beats(D);
    assert!(1 << log >= least, "a read buffer of {D} bits holds {least} beats or more, not 2^{log}");
    capacity(log)
}

impl<const D: usize, const LOG: usize> Reorder<D, LOG> {
    /// The buffer of client number `client`, below 8.
    #[must_use]
    pub fn new(client: usize) -> Self {
        Self { client: number(client), ..Self::default() }
    }
}

impl<const D: usize, const LOG: usize> Logic for Reorder<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, memory, slots, start_at, end_at, next_at, here_to);
        dff_setup!(self, clock, reserve_at, read_at, free, has_room, has_issued, begun);
        self.slots.reset.next = self.reset.val();
        self.memory.reset.next = self.reset.val();

        // A burst that fits takes its places and a slot. Room only grows while it waits, so its offer stands.
        self.beats.next = self.sink.payload.val().beats;
        self.has_room.d.next = self.free.q.val() >= self.longest.val();
        self.fits.next =
            self.sink.valid.val() & self.has_room.q.val() & !self.has_issued.q.val() & !self.slots.full.val();
        self.issued.next = self.fits.val() & self.request.ready.val();
        self.has_issued.d.next = self.issued.val();
        self.sink.ready.next = self.issued.val();
        self.request.valid.next = self.fits.val();
        self.request.payload.next.addr = self.sink.payload.val().addr;
        self.request.payload.next.len = bit_cast::<8, 14>(self.beats.val() - 1);
        self.request.payload.next.client = self.client.val();
        self.request.payload.next.slot = self.slots.write_at.val();
        self.request.payload.next.last = self.sink.payload.val().last;
        self.reserve_next.next = self.reserve_at.q.val() + bit_cast::<LOG, 14>(self.beats.val());
        self.slots.push.next = self.issued.val();
        self.start_at.write_enable.next = self.issued.val();
        self.start_at.write_address.next = self.slots.write_at.val();
        self.start_at.write_data.next = self.reserve_at.q.val();
        self.end_at.write_enable.next = self.issued.val();
        self.end_at.write_address.next = self.slots.write_at.val();
        self.end_at.write_data.next = self.reserve_next.val();

        // What arrives goes behind what is there of its burst, or where its burst starts.
        self.slot.next = self.arrival.val().slot;
        self.start_at.read_address.next = self.slot.val();
        self.next_at.read_address.next = self.slot.val();
        self.place.next = self.start_at.read_data.val();
        if self.begun.q.val().get_bit(self.slot.val().index()) {
            self.place.next = self.next_at.read_data.val();
        }
        self.place_next.next = self.place.val() + 1;
        self.memory.write_enable.next = self.arrived.val();
        self.memory.write_at.next = self.place.val();
        self.memory.write_data.next.data = self.arrival.val().data;
        self.memory.write_data.next.err = self.arrival.val().err;
        self.memory.write_data.next.eop = self.arrival.val().eop;
        self.next_at.write_enable.next = self.arrived.val();
        self.next_at.write_address.next = self.slot.val();
        self.next_at.write_data.next = self.place_next.val();
        self.here_to.write_enable.next = self.arrived.val();
        self.here_to.write_address.next = self.slot.val();
        self.here_to.write_data.next = self.place_next.val();
        self.begun_next.next = self.begun.q.val();
        if self.issued.val() {
            self.begun_next.next =
                self.begun_next.val().replace_bit(self.slots.write_at.val().index(), false);
        }
        if self.arrived.val() {
            self.begun_next.next = self.begun_next.val().replace_bit(self.slot.val().index(), true);
        }
        self.begun.d.next = self.begun_next.val();

        // Of the oldest burst, what is there may be read; with its last beat the next burst becomes the oldest.
        self.end_at.read_address.next = self.slots.read_at.val();
        self.here_to.read_address.next = self.slots.read_at.val();
        self.memory.some.next = self.slots.some.val()
            & self.begun.q.val().get_bit(self.slots.read_at.val().index())
            & (self.here_to.read_data.val() != self.read_at.q.val());
        self.memory.read_at.next = self.read_at.q.val();
        self.read_next.next = self.read_at.q.val() + 1;
        self.slots.pop.next = self.memory.taken.val() & (self.read_next.val() == self.end_at.read_data.val());
        self.free_now.next = self.free.q.val();
        if self.memory.taken.val() {
            self.read_at.d.next = self.read_next.val();
            self.free_now.next = self.free.q.val() + 1;
        }
        self.free.d.next = self.free_now.val();
        if self.issued.val() {
            self.free.d.next = self.free_now.val() - bit_cast::<16, 14>(self.beats.val());
            self.reserve_at.d.next = self.reserve_next.val();
        }
        StreamSource::<Stored<D>>::link(&mut self.source, &mut self.memory.source);
        if self.reset.val() {
            self.reserve_at.d.next = 0.into();
            self.read_at.d.next = 0.into();
            self.free.d.next = self.capacity.val();
            self.has_room.d.next = false;
            self.has_issued.d.next = false;
        }
    }
}
