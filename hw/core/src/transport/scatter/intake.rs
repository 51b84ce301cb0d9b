//! Intake: which errands have a list to be read.

use rust_hdl::prelude::*;

use crate::prim::fifo::Fifo;
use crate::record;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::Errand;

/// log2 of the errands that wait for their lists, or their turn.
pub const WAITING_LOG: usize = 5;

record! {
    /// A list that is wanted.
    pub struct Want {
        /// A `List`, not `None`.
        pub list: Bits<2>,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// `Shared`: the SRQ.
        pub srq: Bits<24>,
        /// Which entry, or WQE.
        pub index: Bits<16>,
    }
}

record! {
    /// What goes along with an errand.
    pub struct Mark {
        /// It is a request of the peer.
        pub is_request: Bit,
        /// Its payload goes to a list.
        pub lists: Bit,
        /// Byte of the list behind its last.
        pub end: Bits<33>,
    }
}

block! {
    /// Lets errands wait, and says at once which lists they need.
    ///
    /// - **Ports** `errand`, `is_request`: in; `want`: the list of each errand that has one; `waiting`: the errands, in order, each
    ///   with its `mark`.
    /// - **Latency** 1 cycle. **Rate** 1 errand per cycle.
    /// - **Backpressure** 32 errands wait, and 4 wants. No combinational path from port to port.
    /// - **Reset** forgets all of them.
    pub struct Intake {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub errand: StreamSink<Errand>,
        pub is_request: Signal<In, Bit>,
        pub want: StreamSource<Want>,
        pub waiting: StreamSource<Errand>,
        pub mark: Signal<Out, Mark>,
        errands: Fifo<Errand, WAITING_LOG>,
        marks: Fifo<Mark, WAITING_LOG>,
        wants: Fifo<Want, 2>,
        lists: Signal<Local, Bit>,
        has_room: Signal<Local, Bit>,
        enters: Signal<Local, Bit>,
    }
}

impl Logic for Intake {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, errands, marks, wants);
        self.errands.reset.next = self.reset.val();
        self.marks.reset.next = self.reset.val();
        self.wants.reset.next = self.reset.val();

        self.has_room.next =
            self.errands.sink.ready.val() & self.marks.sink.ready.val() & self.wants.sink.ready.val();
        self.errand.ready.next = self.has_room.val();
        self.enters.next = self.errand.valid.val() & self.has_room.val();
        self.lists.next = self.errand.payload.val().list.any()
            & self.errand.payload.val().places
            & self.errand.payload.val().payload_len.any()
            & !self.errand.payload.val().has_value;

        self.errands.sink.valid.next = self.enters.val();
        self.errands.sink.payload.next = self.errand.payload.val();
        self.marks.sink.valid.next = self.enters.val();
        self.marks.sink.payload.next.is_request = self.is_request.val();
        self.marks.sink.payload.next.lists = self.lists.val();
        self.marks.sink.payload.next.end = bit_cast::<33, 32>(self.errand.payload.val().offset)
            + bit_cast::<33, 13>(self.errand.payload.val().payload_len);
        self.wants.sink.valid.next = self.enters.val() & self.lists.val();
        self.wants.sink.payload.next.list = self.errand.payload.val().list;
        self.wants.sink.payload.next.qpn = self.errand.payload.val().qpn;
        self.wants.sink.payload.next.srq = self.errand.payload.val().srq;
        self.wants.sink.payload.next.index = self.errand.payload.val().index;

        StreamSource::<Want>::link(&mut self.want, &mut self.wants.source);
        StreamSource::<Errand>::link(&mut self.waiting, &mut self.errands.source);
        self.mark.next = self.marks.source.payload.val();
        self.marks.source.ready.next = self.waiting.ready.val();
    }
}
