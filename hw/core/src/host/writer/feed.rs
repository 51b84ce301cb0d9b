//! Whose data comes next: packets and entries in the order of their commands.

use rust_hdl::prelude::*;
use stroma_abi::desc::{Cqe, Eqe};

use crate::constant::number;
use crate::host::work::EntryWrite;
use crate::prim::fifo::Fifo;
use crate::prim::narrow::Narrow;
use crate::prim::skid::Skid;
use crate::record;
use crate::stream::{Beat, StreamSink, StreamSource};

record! {
    /// An entry's bytes.
    pub struct Image {
        /// The bytes, lowest address lowest; those past the entry are zero.
        pub data: Bits<256>,
        /// It has 32 bytes, not 16.
        pub long: Bit,
    }
}

block! {
    /// Gives the data of each command that entered, in that order.
    ///
    /// Both kinds of entries share one queue: entries that enter in order leave in order.
    ///
    /// - **Ports** `enters`: a command with data enters, only with `room`, and with `entry_room` if it `is_entry`; then
    ///   `entry` is it. `data`: packets of the payload commands; `source`: all packets.
    /// - **Latency** 1 cycle from `data`, 3 from `enters` for an entry. **Rate** 1 beat per cycle, without a gap from one
    ///   command to the next.
    /// - **Backpressure** `room` goes at 64 commands, more than the engine takes ahead of their data; `entry_room` goes at 32
    ///   entries, about as many. No combinational path from port to port.
    /// - **Reset** empties it; the next beat of `data` begins a packet.
    pub struct Feed<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub enters: Signal<In, Bit>,
        pub is_entry: Signal<In, Bit>,
        pub entry: Signal<In, EntryWrite>,
        pub room: Signal<Out, Bit>,
        pub entry_room: Signal<Out, Bit>,
        pub data: StreamSink<Beat<D>>,
        pub source: StreamSource<Beat<D>>,
        /// Is the data of the next command an entry?
        order: Fifo<Bit, 6>,
        images: Fifo<Image, 5>,
        narrow: Narrow<D>,
        cut: Skid<Beat<D>>,
        takes_data: Signal<Local, Bit>,
        takes_entry: Signal<Local, Bit>,
        offered: Signal<Local, Bit>,
        chosen: Signal<Local, Beat<D>>,
        long_len: Constant<Bits<7>> = number(Cqe::LEN),
        short_len: Constant<Bits<7>> = number(Eqe::LEN),
    }
}

impl<const D: usize> Logic for Feed<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, order, images, narrow, cut);
        self.order.reset.next = self.reset.val();
        self.images.reset.next = self.reset.val();
        self.narrow.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();

        self.room.next = self.order.sink.ready.val();
        self.entry_room.next = self.images.sink.ready.val();
        self.order.sink.valid.next = self.enters.val();
        self.order.sink.payload.next = self.is_entry.val();
        self.images.sink.valid.next = self.enters.val() & self.is_entry.val();
        self.images.sink.payload.next.long = self.entry.val().long;
        self.images.sink.payload.next.data = self.entry.val().data;
        if !self.entry.val().long {
            self.images.sink.payload.next.data =
                bit_cast::<256, 128>(bit_cast::<128, 256>(self.entry.val().data));
        }

        self.narrow.sink.valid.next = self.images.source.valid.val();
        self.narrow.sink.payload.next.data = bit_cast::<512, 256>(self.images.source.payload.val().data);
        self.narrow.sink.payload.next.nbytes = self.short_len.val();
        if self.images.source.payload.val().long {
            self.narrow.sink.payload.next.nbytes = self.long_len.val();
        }
        self.narrow.sink.payload.next.sop = true;
        self.narrow.sink.payload.next.eop = true;
        self.images.source.ready.next = self.narrow.sink.ready.val();

        self.takes_data.next = self.order.source.valid.val() & !self.order.source.payload.val();
        self.takes_entry.next = self.order.source.valid.val() & self.order.source.payload.val();
        self.chosen.next = self.data.payload.val();
        self.offered.next = self.takes_data.val() & self.data.valid.val();
        if self.takes_entry.val() {
            self.chosen.next = self.narrow.source.payload.val();
            self.offered.next = self.narrow.source.valid.val();
        }
        self.cut.sink.valid.next = self.offered.val();
        self.cut.sink.payload.next = self.chosen.val();
        self.data.ready.next = self.takes_data.val() & self.cut.sink.ready.val();
        self.narrow.source.ready.next = self.takes_entry.val() & self.cut.sink.ready.val();
        self.order.source.ready.next = self.offered.val() & self.cut.sink.ready.val() & self.chosen.val().eop;
        StreamSource::<Beat<D>>::link(&mut self.source, &mut self.cut.source);
    }
}
