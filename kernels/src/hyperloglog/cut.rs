//! Cut: the payload of a task becomes the pieces of its writes.

use rust_hdl::prelude::*;
use stroma_hw::constant::number;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::slot::{LENGTH_BITS, TICKET_BITS, TRANSFER_MAX};
use stroma_hw::stream::{StreamSink, StreamSource};
use stroma_hw::{block, record};

use super::parameters::Task;

/// Bits of a count of beats of a piece.
pub const BEAT_BITS: usize = 9;

record! {
    /// A write and its part of the payload; or a whole task, if it stores none.
    pub struct Piece {
        /// The invocation.
        pub ticket: Bits<TICKET_BITS>,
        /// The key it acts under.
        pub key: Bits<32>,
        /// The task is refused.
        pub is_bad: Bit,
        /// It is for another sketch.
        pub is_other: Bit,
        /// With `is_other`: another domain's was to be cleared.
        pub is_taken: Bit,
        /// Where the piece goes.
        pub va: Bits<64>,
        /// Its bytes, if it is stored.
        pub len: Bits<LENGTH_BITS>,
        /// Its last beat, counted from 0, if others follow; else the payload's last beat ends it.
        pub last_beat: Bits<BEAT_BITS>,
        /// No others follow.
        pub is_last: Bit,
        /// There is payload.
        pub has_payload: Bit,
        /// It is stored.
        pub stores: Bit,
        /// Its items are counted.
        pub counts: Bit,
        /// Their size: `4 << item` bytes.
        pub item: Bits<2>,
        /// The registers are the answer.
        pub reads: Bit,
        /// They are set to 0.
        pub wipes: Bit,
    }
}

block! {
    /// Cuts what is stored behind the last 64 bytes of the payload that begin in a 4 KiB page of its addresses: with an address that is a multiple of 64, where the
    /// pages end. Beats are not shifted for it.
    ///
    /// - **Ports** `sink`: tasks; `source`: the pieces of each, at least one.
    /// - **Latency** 3 cycles. **Rate** a piece per cycle, and one cycle more a task.
    /// - **Backpressure** two pieces wait; no combinational path from port to port.
    /// - **Reset** forgets the task.
    /// - **Limits** `D` is 64 or 512.
    pub struct Cut<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Task>,
        pub source: StreamSource<Piece>,
        task: Reg<Task>,
        is_there: Reg<Bit>,
        /// Where the next piece goes, and what is left of the payload.
        at: Reg<Bits<64>>,
        left: Reg<Bits<32>>,
        out: Skid<Piece>,
        /// To the end of the page, from the 64 bytes in which the piece begins.
        room: Signal<Local, Bits<LENGTH_BITS>>,
        is_last: Signal<Local, Bit>,
        beats: Signal<Local, Bits<LENGTH_BITS>>,
        page: Constant<Bits<LENGTH_BITS>> = number(TRANSFER_MAX),
        beat_log: Constant<Bits<4>> = number((D / 8).ilog2()),
    }
}

impl<const D: usize> Logic for Cut<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, out);
        dff_setup!(self, clock, task, is_there, at, left);
        self.out.reset.next = self.reset.val();
        self.sink.ready.next = !self.is_there.q.val();
        if !self.is_there.q.val() {
            self.is_there.d.next = self.sink.valid.val();
            self.task.d.next = self.sink.payload.val();
            self.at.d.next = self.sink.payload.val().address;
            self.left.d.next = self.sink.payload.val().len;
        }

        self.room.next =
            self.page.val() - (bit_cast::<LENGTH_BITS, 6>(self.at.q.val().get_bits::<6>(6)) << 6);
        self.is_last.next =
            !self.task.q.val().stores | (self.left.q.val() <= bit_cast::<32, LENGTH_BITS>(self.room.val()));
        self.beats.next = (self.room.val() >> self.beat_log.val()) - 1;
        self.out.sink.valid.next = self.is_there.q.val();
        self.out.sink.payload.next.ticket = self.task.q.val().ticket;
        self.out.sink.payload.next.key = self.task.q.val().key;
        self.out.sink.payload.next.is_bad = self.task.q.val().is_bad;
        self.out.sink.payload.next.is_other = self.task.q.val().is_other;
        self.out.sink.payload.next.is_taken = self.task.q.val().is_taken;
        self.out.sink.payload.next.va = self.at.q.val();
        self.out.sink.payload.next.len = self.room.val();
        if self.is_last.val() {
            self.out.sink.payload.next.len = self.left.q.val().get_bits::<LENGTH_BITS>(0);
        }
        self.out.sink.payload.next.last_beat = self.beats.val().get_bits::<BEAT_BITS>(0);
        self.out.sink.payload.next.is_last = self.is_last.val();
        self.out.sink.payload.next.has_payload = self.task.q.val().has_payload;
        self.out.sink.payload.next.stores = self.task.q.val().stores;
        self.out.sink.payload.next.counts = self.task.q.val().counts;
        self.out.sink.payload.next.item = self.task.q.val().item;
        self.out.sink.payload.next.reads = self.task.q.val().reads;
        self.out.sink.payload.next.wipes = self.task.q.val().wipes;
        if self.is_there.q.val() & self.out.sink.ready.val() {
            self.at.d.next = self.at.q.val() + bit_cast::<64, LENGTH_BITS>(self.room.val());
            self.left.d.next = self.left.q.val() - bit_cast::<32, LENGTH_BITS>(self.room.val());
            if self.is_last.val() {
                self.is_there.d.next = false;
            }
        }
        StreamSource::<Piece>::link(&mut self.source, &mut self.out.source);
        if self.reset.val() {
            self.is_there.d.next = false;
        }
    }
}
