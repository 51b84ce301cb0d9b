//! Which bytes of the ring a job reads.

use rust_hdl::prelude::*;
use stroma_abi::desc::RING_ALIGN;
use stroma_abi::desc::wqe::UNIT;

use crate::constant::number;
use crate::host::dma_read::ReadCommand;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::StreamSource;

/// log2 of the commands that may wait.
const ROOM_LOG: usize = 2;

const _: () = assert!(UNIT == 1 << 6 && RING_ALIGN == 1 << 12, "64 units of 64 bytes");

block! {
    /// Turns units of a ring into one read command, or into two where they go on at the ring's start.
    ///
    /// - **Ports** `starts`: read `units` units from index `next` on, of the ring of `capacity` units at `base`; `read`: the
    ///   commands, with tag 0; `room`: `starts` may come; `busy`: commands wait; `holds`: the second is to follow in this
    ///   cycle, and `starts` must not come.
    /// - **Latency** 1 cycle, 2 for the second. **Rate** a job every cycle, or 2.
    /// - **Backpressure** `room` falls when fewer than two of four places are free.
    /// - **Reset** forgets all commands.
    /// - **Limits** `capacity` is a power of two; `units` from 1 to 32, and no more than `capacity`.
    pub struct Fetch {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub starts: Signal<In, Bit>,
        pub base: Signal<In, Bits<52>>,
        pub next_index: Signal<In, Bits<16>>,
        pub capacity: Signal<In, Bits<16>>,
        pub units: Signal<In, Bits<6>>,
        pub read: StreamSource<ReadCommand>,
        pub room: Signal<Out, Bit>,
        pub holds: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        commands: Fifo<ReadCommand, ROOM_LOG>,
        wraps: Reg<Bit>,
        /// Units from the ring's start on, and where that is.
        rest: Reg<Bits<6>>,
        start: Reg<Bits<52>>,
        place: Signal<Local, Bits<16>>,
        left: Signal<Local, Bits<16>>,
        is_split: Signal<Local, Bit>,
        first: Signal<Local, Bits<6>>,
        page: Signal<Local, Bits<52>>,
        most: Constant<Bits<16>> = number((1 << ROOM_LOG) - 2),
    }
}

impl Logic for Fetch {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, commands);
        dff_setup!(self, clock, wraps, rest, start);
        self.commands.reset.next = self.reset.val();
        self.room.next = self.commands.level.val() <= self.most.val();
        self.holds.next = self.wraps.q.val();
        self.busy.next = self.wraps.q.val() | self.commands.level.val().any();

        self.place.next = self.next_index.val() & (self.capacity.val() - 1);
        self.left.next = self.capacity.val() - self.place.val();
        self.is_split.next = bit_cast::<16, 6>(self.units.val()) > self.left.val();
        self.first.next = self.units.val();
        if self.is_split.val() {
            self.first.next = bit_cast::<6, 16>(self.left.val());
        }
        self.wraps.d.next = self.starts.val() & self.is_split.val();
        if self.starts.val() {
            self.rest.d.next = self.units.val() - bit_cast::<6, 16>(self.left.val());
            self.start.d.next = self.base.val();
        }

        // Rings begin on multiples of 64 units.
        self.page.next = self.base.val() + bit_cast::<52, 16>(self.place.val() >> 6);
        self.commands.sink.valid.next = self.starts.val() | self.wraps.q.val();
        self.commands.sink.payload.next.iova = (bit_cast::<64, 52>(self.page.val()) << 12)
            | (bit_cast::<64, 6>(bit_cast::<6, 16>(self.place.val())) << 6);
        self.commands.sink.payload.next.len = bit_cast::<13, 6>(self.first.val()) << 6;
        self.commands.sink.payload.next.tag = 0.into();
        if self.wraps.q.val() {
            self.commands.sink.payload.next.iova = bit_cast::<64, 52>(self.start.q.val()) << 12;
            self.commands.sink.payload.next.len = bit_cast::<13, 6>(self.rest.q.val()) << 6;
        }
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.commands.source);
        if self.reset.val() {
            self.wraps.d.next = false;
        }
    }
}
