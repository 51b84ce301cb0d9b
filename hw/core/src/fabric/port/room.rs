//! Room: what a port has promised to take, and whose stream it is.

use rust_hdl::prelude::*;

use crate::constant::number;
use crate::host::work::QpChange;
use crate::prim::reg::Reg;

/// Places in the queue of headers.
pub const HEADERS: usize = 16;
/// So many of them are for queue pairs that have none.
const KEPT: usize = HEADERS / 2;
/// Most packets of payload that are held.
pub const PACKETS_MAX: usize = 16;
/// Cycles that a beat of payload gives to whom it belongs to: a stream, and the kernel that takes it, may be so many times slower than
/// the datapath.
pub const BEAT_CYCLES: u32 = 32;
/// Bits of a stream's number: more than there are headers, so that all streams that are inside have numbers of their own.
pub const STREAM_BITS: usize = 5;
const STREAMS: usize = 1 << STREAM_BITS;
/// log2 of the cycles for which who has streamed waits for one who was refused meanwhile: more than peers wait who are told to come again after 0.64 ms.
const TURN_LOG: usize = 18;
const TURN_BITS: usize = TURN_LOG + 1;

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
    /// Half of the room, of headers and of packets, is for queue pairs that have no header there: who asks for more than the kernel can do keeps
    /// nobody out. And who has had the slot for a stream does not begin again before one who was refused meanwhile: somebody else has to begin,
    /// or 2^18 cycles have to pass.
    ///
    /// - **Ports** `reserves`, `reserves_begins`, `reserves_ends`, `reserves_qpn`: a packet of a request is on its way, a cycle high. `room`: a
    ///   request of the queue pair that was `asks_qpn` in the cycle before may begin; `refused`, `refused_qpn`: one that asked three cycles ago was sent away, by this or by somebody
    ///   else; `room_more`: another packet may come. `returns_call`, `returns_feed`: a packet needs its place no
    ///   more; `header_leaves`: a header. `change_valid`, `change`: of queue pairs; `stops` or `resets` aborts the stream of its
    ///   own. `patience`: cycles that a stream may take, 0: any number, and [`BEAT_CYCLES`] more for each beat of payload, of which one `comes`; then it is aborted. `stream`, `next_stream`: number of the
    ///   stream that is fed, and of the one after it; `is_dead`, `is_next_dead`: it was aborted, the one after it was; `kills`: it is now. `aborted`: a cycle high for
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
        pub asks_qpn: Signal<In, Bits<24>>,
        pub refused: Signal<In, Bit>,
        pub refused_qpn: Signal<In, Bits<24>>,
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
        pub next_stream: Signal<In, Bits<STREAM_BITS>>,
        pub is_dead: Signal<Out, Bit>,
        pub is_next_dead: Signal<Out, Bit>,
        pub kills: Signal<In, Bit>,
        pub aborted: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        packets: Reg<Bits<5>>,
        headers: Reg<Bits<5>>,
        /// Whose the headers are that have a place, in a ring.
        holders: [Reg<Bits<24>>; HEADERS] = std::array::from_fn(|_| Reg::default()),
        holding: Reg<Bits<HEADERS>>,
        first: Reg<Bits<4>>,
        behind: Reg<Bits<4>>,
        /// He who asks may begin, if there is room.
        may: Reg<Bit>,
        /// There was none for him who asked two cycles ago, and three.
        was_full: Reg<Bits<2>>,
        /// What began last is a stream, and somebody else was sent away since; cycles since all of it has come.
        has_streamed: Reg<Bit>,
        is_wanted: Reg<Bit>,
        wanted: Reg<Bits<TURN_BITS>>,
        is_free: Reg<Bit>,
        has_more: Reg<Bit>,
        /// A stream is under way: its number, and whose it is.
        is_alive: Reg<Bit>,
        number: Reg<Bits<STREAM_BITS>>,
        owner: Reg<Bits<24>>,
        /// Cycles since it began, without those that its payload has given.
        waited: Reg<Bits<32>>,
        dead: Reg<Bits<STREAMS>>,
        was_aborted: Reg<Bit>,
        opens: Signal<Local, Bit>,
        goes_on: Signal<Local, Bit>,
        aborts: Signal<Local, Bit>,
        alive: Signal<Local, Bit>,
        left: Signal<Local, Bits<5>>,
        places: Signal<Local, Bits<5>>,
        is_holder: Signal<Local, Bit>,
        is_open: Signal<Local, Bit>,
        held: Signal<Local, Bits<HEADERS>>,
        next_number: Signal<Local, Bits<STREAM_BITS>>,
        marked: Signal<Local, Bits<STREAMS>>,
        killed: Signal<Local, Bits<STREAMS>>,
        returned: Signal<Local, Bits<5>>,
        all_packets: Constant<Bits<5>> = number(PACKETS_MAX),
        half_packets: Constant<Bits<5>> = number(PACKETS_MAX / 2),
        all_headers: Constant<Bits<5>> = number(HEADERS),
        kept: Constant<Bits<5>> = number(KEPT),
        turn: Constant<Bits<5>> = number(TURN_LOG),
        one: Constant<Bits<STREAMS>> = number(1),
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
        Self { all_packets: number(packets), half_packets: number(packets / 2), ..Self::default() }
    }
}

impl Logic for Room {
    #[hdl_gen]
    #[expect(
        clippy::too_many_lines,
        reason = "streams, packets and turns: what one takes of the room all see"
    )]
    fn update(&mut self) {
        dff_setup!(self, clock, packets, headers, is_free, has_more, is_alive, number, owner, waited, dead);
        dff_setup!(
            self,
            clock,
            was_aborted,
            holding,
            first,
            behind,
            may,
            was_full,
            has_streamed,
            is_wanted,
            wanted
        );
        self.is_open.next = self.is_free.q.val() & self.may.q.val();
        self.room.next = self.is_open.val();
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
        self.is_dead.next = self.dead.q.val().get_bit(self.stream.val().index());
        self.is_next_dead.next = self.dead.q.val().get_bit(self.next_stream.val().index());

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

        // Whose room it is.
        self.held.next = self.holding.q.val();
        if self.header_leaves.val() {
            self.first.d.next = self.first.q.val() + 1;
            self.held.next = self.holding.q.val().replace_bit(self.first.q.val().index(), false);
        }
        self.holding.d.next = self.held.val();
        if self.reserves.val() & self.reserves_begins.val() {
            self.behind.d.next = self.behind.q.val() + 1;
            self.holding.d.next = self.held.val().replace_bit(self.behind.q.val().index(), true);
        }
        self.is_holder.next = self.reserves.val()
            & self.reserves_begins.val()
            & (self.reserves_qpn.val() == self.asks_qpn.val());
        for i in 0..HEADERS {
            self.holders[i].clock.next = self.clock.val();
            self.holders[i].d.next = self.holders[i].q.val();
            if self.reserves.val() & self.reserves_begins.val() & (self.behind.q.val().index() == i) {
                self.holders[i].d.next = self.reserves_qpn.val();
            }
            if self.holding.q.val().get_bit(i) & (self.holders[i].q.val() == self.asks_qpn.val()) {
                self.is_holder.next = true;
            }
        }
        self.may.d.next = (!self.is_holder.val()
            | ((self.places.val() > self.kept.val()) & (self.left.val() > self.half_packets.val())))
            & !(self.is_wanted.q.val() & (self.asks_qpn.val() == self.owner.q.val()));

        // Whose turn it is.
        self.was_full.d.next = (self.was_full.q.val() << 1).replace_bit(0, !self.is_open.val());
        self.wanted.d.next = self.wanted.q.val() + 1;
        if self.wanted.q.val().get_bit(self.turn.val().index()) {
            self.is_wanted.d.next = false;
        }
        if self.refused.val()
            & self.was_full.q.val().get_bit(1)
            & self.has_streamed.q.val()
            & (self.refused_qpn.val() != self.owner.q.val())
        {
            self.is_wanted.d.next = true;
        }
        if self.is_alive.q.val() | !self.is_wanted.q.val() {
            self.wanted.d.next = 0.into();
        }
        if self.reserves.val() & self.reserves_begins.val() {
            self.has_streamed.d.next = !self.reserves_ends.val();
            self.is_wanted.d.next = false;
        }
        if self.reset.val() {
            self.packets.d.next = self.all_packets.val();
            self.headers.d.next = self.all_headers.val();
            self.is_free.d.next = false;
            self.has_more.d.next = false;
            self.is_alive.d.next = false;
            self.number.d.next = 0.into();
            self.dead.d.next = 0.into();
            self.was_aborted.d.next = false;
            self.holding.d.next = 0.into();
            self.first.d.next = 0.into();
            self.behind.d.next = 0.into();
            self.has_streamed.d.next = false;
            self.is_wanted.d.next = false;
        }
    }
}
