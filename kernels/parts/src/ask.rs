//! Ask: a stretch of memory becomes reads.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::slot::{LENGTH_BITS, SlotRead, TICKET_BITS, TRANSFER_MAX};
use stroma_hw::stream::StreamSource;

/// Bits of the length of a stretch.
pub const STRETCH_BITS: usize = 17;
/// Bits of a count of reads: all of a stretch may be open.
const OPEN_BITS: usize = 6;

const _: () = assert!((1 << STRETCH_BITS) / TRANSFER_MAX < 1 << OPEN_BITS);

block! {
    /// Asks for stretches of memory in as few reads as possible, one stretch at a time.
    ///
    /// - **Ports** `begins`: one cycle, while `is_idle`: the `len` bytes at `va` are wanted, at least one, under `key`, for `ticket`, which both stay. `stops`:
    ///   no more is asked for, but what was is still to come. `read`: all reads but the last are of 4096 bytes. `closes`: one cycle, a read's last beat was taken.
    ///   `is_last`: what comes next is of the last read. `is_idle`: no read is open, and none will be.
    /// - **Latency** 1 cycle from `begins` to `read`. **Rate** 1 read per cycle.
    /// - **Backpressure** a read waits for as long as it has to. No combinational path from port to port.
    /// - **Reset** forgets the stretch; data of its reads must not come any more.
    pub struct Ask {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub begins: Signal<In, Bit>,
        pub va: Signal<In, Bits<64>>,
        pub len: Signal<In, Bits<STRETCH_BITS>>,
        pub ticket: Signal<In, Bits<TICKET_BITS>>,
        pub key: Signal<In, Bits<32>>,
        pub stops: Signal<In, Bit>,
        pub read: StreamSource<SlotRead>,
        pub closes: Signal<In, Bit>,
        pub is_last: Signal<Out, Bit>,
        pub is_idle: Signal<Out, Bit>,
        /// Bytes not asked for yet, and where they begin.
        left: Reg<Bits<STRETCH_BITS>>,
        at: Reg<Bits<64>>,
        asked: Reg<SlotRead>,
        is_asked: Reg<Bit>,
        /// Reads whose data have not all come, that on offer included.
        open: Reg<Bits<OPEN_BITS>>,
        asks: Signal<Local, Bit>,
        /// What is asked for now is the begin of this.
        from: Signal<Local, Bits<64>>,
        rest: Signal<Local, Bits<STRETCH_BITS>>,
        piece: Signal<Local, Bits<STRETCH_BITS>>,
        whole: Constant<Bits<STRETCH_BITS>> = number(TRANSFER_MAX),
        step: Constant<Bits<64>> = number(TRANSFER_MAX),
    }
}

impl Logic for Ask {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, left, at, asked, is_asked, open);
        self.read.valid.next = self.is_asked.q.val();
        self.read.payload.next = self.asked.q.val();
        self.is_last.next = !self.left.q.val().any() & (self.open.q.val() == 1);
        self.is_idle.next = !self.left.q.val().any() & !self.open.q.val().any();

        self.from.next = self.at.q.val();
        self.rest.next = self.left.q.val();
        self.asks.next =
            self.left.q.val().any() & !self.stops.val() & (!self.is_asked.q.val() | self.read.ready.val());
        if self.begins.val() {
            self.from.next = self.va.val();
            self.rest.next = self.len.val();
            self.asks.next = true;
        }
        self.piece.next = self.rest.val();
        if self.rest.val() > self.whole.val() {
            self.piece.next = self.whole.val();
        }
        if self.read.ready.val() {
            self.is_asked.d.next = false;
        }
        if self.stops.val() {
            self.left.d.next = 0.into();
        }
        if self.asks.val() {
            self.is_asked.d.next = true;
            self.asked.d.next.ticket = self.ticket.val();
            self.asked.d.next.va = self.from.val();
            self.asked.d.next.key = self.key.val();
            self.asked.d.next.len = self.piece.val().get_bits::<LENGTH_BITS>(0);
            self.at.d.next = self.from.val() + self.step.val();
            self.left.d.next = self.rest.val() - self.piece.val();
        }
        if self.asks.val() & !self.closes.val() {
            self.open.d.next = self.open.q.val() + 1;
        } else if self.closes.val() & !self.asks.val() {
            self.open.d.next = self.open.q.val() - 1;
        }
        if self.reset.val() {
            self.left.d.next = 0.into();
            self.is_asked.d.next = false;
            self.open.d.next = 0.into();
        }
    }
}
