//! Command: where payload goes is told to host memory.

use rust_hdl::prelude::*;

use super::carry::Pass;
use crate::fabric::records::KERNEL_BITS;
use crate::host::work::HostWrite;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// What becomes of an errand's payload.
    pub struct Piece {
        /// There is some, and it is written; `qpn` and all below means something.
        pub writes: Bit,
        /// There is some, and it is thrown away, `len` bytes.
        pub drops: Bit,
        /// There is some, and it goes to `kernel`; it begins a request there.
        pub calls: Bit,
        pub kernel: Bits<KERNEL_BITS>,
        pub begins: Bit,
        /// What is written is this value, and no payload comes.
        pub has_value: Bit,
        pub value: Bits<64>,
        /// The queue pair.
        pub qpn: Bits<24>,
        /// Where it goes, and how much.
        pub iova: Bits<64>,
        pub len: Bits<13>,
        /// It goes on elsewhere.
        pub crosses: Bit,
        pub next_iova: Bits<64>,
        pub rest: Bits<13>,
        /// The packet it came in goes on with the next errand's payload.
        pub continues: Bit,
    }
}

block! {
    /// Gives the write commands of each errand, one or two.
    ///
    /// - **Ports** `piece`: errand by errand; `write`: commands; `pass`: every errand, when its commands are taken.
    /// - **Latency** 1 cycle. **Rate** 1 command, or errand without one, per cycle.
    /// - **Backpressure** 4 errands wait, then `piece` does. `pass` goes into a FIFO, whose place, once there, stays until
    ///   it is used; `pass.valid` follows `write.ready` combinationally.
    /// - **Reset** forgets all errands.
    pub struct Command {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub piece: StreamSink<Piece>,
        pub write: StreamSource<HostWrite>,
        pub pass: StreamSource<Pass>,
        pieces: Fifo<Piece, 2>,
        /// The first of two commands is taken.
        is_second: Reg<Bit>,
        open: Signal<Local, Bit>,
        is_taken: Signal<Local, Bit>,
        is_last: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
    }
}

impl Logic for Command {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, pieces);
        dff_setup!(self, clock, is_second);
        self.pieces.reset.next = self.reset.val();
        StreamSink::<Piece>::link(&mut self.piece, &mut self.pieces.sink);

        self.open.next = self.pieces.source.valid.val() & self.pass.ready.val();
        self.write.valid.next = self.open.val() & self.pieces.source.payload.val().writes;
        self.write.payload.next.qpn = self.pieces.source.payload.val().qpn;
        if self.is_second.q.val() {
            self.write.payload.next.iova = self.pieces.source.payload.val().next_iova;
            self.write.payload.next.len = self.pieces.source.payload.val().rest;
        } else {
            self.write.payload.next.iova = self.pieces.source.payload.val().iova;
            self.write.payload.next.len = self.pieces.source.payload.val().len;
        }
        self.is_taken.next =
            self.open.val() & self.pieces.source.payload.val().writes & self.write.ready.val();
        self.is_last.next = self.is_second.q.val() | !self.pieces.source.payload.val().crosses;
        self.goes.next = (self.is_taken.val() & self.is_last.val())
            | (self.open.val() & !self.pieces.source.payload.val().writes);
        self.pieces.source.ready.next = self.goes.val();
        if self.is_taken.val() {
            self.is_second.d.next = !self.is_last.val();
        }
        self.pass.valid.next = self.goes.val();
        self.pass.payload.next.writes = self.pieces.source.payload.val().writes;
        self.pass.payload.next.drops = self.pieces.source.payload.val().drops;
        self.pass.payload.next.calls = self.pieces.source.payload.val().calls;
        self.pass.payload.next.kernel = self.pieces.source.payload.val().kernel;
        self.pass.payload.next.qpn = self.pieces.source.payload.val().qpn;
        self.pass.payload.next.begins = self.pieces.source.payload.val().begins;
        self.pass.payload.next.has_value = self.pieces.source.payload.val().has_value;
        self.pass.payload.next.has_payload = !self.pieces.source.payload.val().has_value;
        self.pass.payload.next.value = self.pieces.source.payload.val().value;
        self.pass.payload.next.len = self.pieces.source.payload.val().len;
        self.pass.payload.next.crosses = self.pieces.source.payload.val().crosses;
        self.pass.payload.next.rest = self.pieces.source.payload.val().rest;
        self.pass.payload.next.continues = self.pieces.source.payload.val().continues;
        if self.reset.val() {
            self.is_second.d.next = false;
        }
    }
}
