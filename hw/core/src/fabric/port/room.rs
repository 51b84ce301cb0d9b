//! Room: what a port has promised to take, and whose stream it is.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::host::work::QpChange;
use crate::prim::reg::Reg;

/// Places in the queue of headers.
pub const HEADERS: usize = 8;
/// Most packets of payload that are held.
pub const PACKETS_MAX: usize = 16;
/// Cycles that a beat of payload gives to whom it belongs to: a stream, and the kernel that takes it, may be so many times slower than
/// the datapath.
pub const BEAT_CYCLES: u32 = 32;
/// Bits of a stream's number: more than there are headers, so that all streams that are inside have numbers of their own.
pub const STREAM_BITS: usize = 4;

block! {
    /// Counts room for packets, and knows the stream that may go on.
    ///
    /// Packets are reserved long before they come, so what is said of a stream here is ahead of what is fed: streams have
    /// numbers, counted where they are reserved and again where they are fed, and a stream that is aborted is known by its
    /// number until that is used again.
    ///
    /// A stream has a time for all of it, and more for what it brings: whoever sends a packet now and then does not keep the slot
    /// from others for longer than that.
    ///
    /// - **Ports** `reserves`, `reserves_begins`, `reserves_ends`, `reserves_qpn`: a packet of a request is on its way, a cycle high. `room`: a
    ///   request may begin; `room_more`: another packet may come. `returns_call`, `returns_feed`: a packet needs its place no
    ///   more; `header_leaves`: a header. `change_valid`, `change`: of queue pairs; `stops` or `resets` aborts the stream of its
    ///   own. `patience`: cycles that a stream may take, 0: any number, and [`BEAT_CYCLES`] more for each beat of payload, of which one `comes`; then it is aborted. `stream`: number of the
    ///   stream that is fed; `is_dead`, `is_next_dead`: it was aborted, the one behind it was; `kills`: it is now. `aborted`: a cycle high for
    ///   each that patience or a change aborts. `busy`: something is reserved, or a stream under way.
    /// - **Latency** 1 cycle from all to `room` and `room_more`, which are registers, and to `is_dead`. **Rate** one of each per
    ///   cycle. **Backpressure** none: whoever reserves has looked at the room.
    /// - **Reset** all room is free.
    pub struct Room {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub reserves: Signal<In, Bit>,
        pub reserves_begins: Signal<In, Bit>,
        pub reserves_ends: Signal<In, Bit>,
        pub reserves_qpn: Signal<In, Bits<24>>,
        pub room: Signal<Out, Bit>,
        pub room_more: Signal<Out, Bit>,
        pub returns_call: Signal<In, Bit>,
        pub returns_feed: Signal<In, Bit>,
        pub header_leaves: Signal<In, Bit>,
        pub comes: Signal<In, Bit>,
        pub change_valid: Signal<In, Bit>,
        pub change: Signal<In, QpChange>,
        pub patience: Signal<In, Bits<32>>,
        pub stream: Signal<In, Bits<STREAM_BITS>>,
        pub is_dead: Signal<Out, Bit>,
        pub is_next_dead: Signal<Out, Bit>,
        pub kills: Signal<In, Bit>,
        pub aborted: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        packets: Reg<Bits<5>>,
        headers: Reg<Bits<4>>,
        is_free: Reg<Bit>,
        has_more: Reg<Bit>,
        /// A stream is under way: its number, and whose it is.
        is_alive: Reg<Bit>,
        number: Reg<Bits<STREAM_BITS>>,
        owner: Reg<Bits<24>>,
        /// Cycles since it began, without those that its payload has given.
        waited: Reg<Bits<32>>,
        dead: Reg<Bits<16>>,
        was_aborted: Reg<Bit>,
        opens: Signal<Local, Bit>,
        goes_on: Signal<Local, Bit>,
        aborts: Signal<Local, Bit>,
        alive: Signal<Local, Bit>,
        left: Signal<Local, Bits<5>>,
        places: Signal<Local, Bits<4>>,
        next_number: Signal<Local, Bits<STREAM_BITS>>,
        behind: Signal<Local, Bits<STREAM_BITS>>,
        marked: Signal<Local, Bits<16>>,
        killed: Signal<Local, Bits<16>>,
        returned: Signal<Local, Bits<5>>,
        all_packets: Constant<Bits<5>> = number(PACKETS_MAX),
        all_headers: Constant<Bits<4>> = number(HEADERS),
        one: Constant<Bits<16>> = number(1),
        given: Constant<Bits<32>> = number(BEAT_CYCLES - 1),
    }
}

impl Room {
    /// One for so many packets.
    ///
    /// # Panics
    /// If there is none, or more than [`PACKETS_MAX`].
    #[must_use]
    pub fn new(packets: usize) -> Self {
        assert!(
            (1..=PACKETS_MAX).contains(&packets),
            "a port holds 1 to {PACKETS_MAX} packets, not {packets}"
        );
        Self { all_packets: number(packets), ..Self::default() }
    }
}

impl Logic for Room {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, packets, headers, is_free, has_more, is_alive, number, owner, waited, dead);
        dff_setup!(self, clock, was_aborted);
        self.room.next = self.is_free.q.val();
        self.room_more.next = self.has_more.q.val();
        self.aborted.next = self.was_aborted.q.val();
        self.busy.next = self.is_alive.q.val()
            | (self.packets.q.val() != self.all_packets.val())
            | (self.headers.q.val() != self.all_headers.val());

        self.opens.next = self.reserves.val() & self.reserves_begins.val() & !self.reserves_ends.val();
        self.goes_on.next = self.reserves.val()
            & !self.reserves_begins.val()
            & self.is_alive.q.val()
            & (self.reserves_qpn.val() == self.owner.q.val());
        self.aborts.next = false;
        if self.is_alive.q.val() & !self.goes_on.val() {
            self.aborts.next = self.patience.val().any() & (self.waited.q.val() >= self.patience.val());
        }
        if self.is_alive.q.val()
            & self.change_valid.val()
            & (self.change.val().stops | self.change.val().resets)
            & (self.change.val().qpn == self.owner.q.val())
        {
            self.aborts.next = true;
        }
        self.was_aborted.d.next = self.aborts.val();

        self.next_number.next = self.number.q.val() + 1;
        self.alive.next = self.is_alive.q.val();
        self.waited.d.next = self.waited.q.val() + 1;
        if self.comes.val() {
            self.waited.d.next = 0.into();
            if self.waited.q.val() > self.given.val() {
                self.waited.d.next = self.waited.q.val() - self.given.val();
            }
        }
        self.marked.next = self.dead.q.val();
        if self.goes_on.val() {
            self.alive.next = !self.reserves_ends.val();
        }
        if self.aborts.val() {
            self.alive.next = false;
            self.marked.next = self.dead.q.val() | (self.one.val() << self.number.q.val());
        }
        self.killed.next = self.marked.val();
        if self.kills.val() {
            self.killed.next = self.marked.val() | (self.one.val() << self.stream.val());
            if self.stream.val() == self.number.q.val() {
                self.alive.next = false;
            }
        }
        self.dead.d.next = self.killed.val();
        if self.opens.val() {
            self.alive.next = true;
            self.waited.d.next = 1.into();
            self.number.d.next = self.next_number.val();
            self.owner.d.next = self.reserves_qpn.val();
            self.dead.d.next = self.killed.val() & !(self.one.val() << self.next_number.val());
        }
        self.is_alive.d.next = self.alive.val();
        self.behind.next = self.stream.val() + 1;
        self.is_dead.next = self.dead.q.val().get_bit(self.stream.val().index());
        self.is_next_dead.next = self.dead.q.val().get_bit(self.behind.val().index());

        self.returned.next = self.packets.q.val() + self.returns_call.val();
        self.left.next = self.returned.val() + self.returns_feed.val();
        if self.reserves.val() {
            self.left.next = self.returned.val() + self.returns_feed.val() - 1;
        }
        self.places.next = self.headers.q.val() + self.header_leaves.val();
        if self.reserves.val() & self.reserves_begins.val() {
            self.places.next = self.headers.q.val() + self.header_leaves.val() - 1;
        }
        self.packets.d.next = self.left.val();
        self.headers.d.next = self.places.val();
        self.has_more.d.next = self.left.val().any();
        self.is_free.d.next = self.left.val().any() & self.places.val().any() & !self.alive.val();
        if self.reset.val() {
            self.packets.d.next = self.all_packets.val();
            self.headers.d.next = self.all_headers.val();
            self.is_free.d.next = false;
            self.has_more.d.next = false;
            self.is_alive.d.next = false;
            self.number.d.next = 0.into();
            self.dead.d.next = 0.into();
            self.was_aborted.d.next = false;
        }
    }
}
