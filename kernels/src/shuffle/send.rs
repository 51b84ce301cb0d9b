//! Send: the packets of all banks leave one behind the other, and what came of them is kept.

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::arbiter::Arbiter;
use stroma_hw::prim::fifo::Fifo;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::slot::{Ending, SlotDone, SlotWrite, TICKET_BITS};
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use super::drain::Header;

/// Writes that are asked for before their data go, as a power of two.
const AHEAD_LOG: usize = 4;
/// Bits of a count of writes; at half of what fits no more are begun.
const OPEN_BITS: usize = 16;

block! {
    /// Makes writes of packets, bank by bank in turn.
    ///
    /// - **Ports** `headers[i]`, `beats[i]`: of bank `i`, whose packets are whole; `table_header`, `table_beats`: of the table, while `is_saving`, when banks have none. `write`, `write_data`, `write_done`: as
    ///   [`slot`](stroma_hw::slot) says, for `ticket` and `key`. `begins`: one cycle, all is forgotten of how writes ended; `is_refused`, `has_failed`: one was, since. `is_idle`: no write is open.
    /// - **Latency** 2 cycles from a header to `write`, 3 to its first beat on `write_data`. **Rate** 1 beat per cycle, from packet to packet.
    /// - **Backpressure** `write` may be 16 packets ahead of `write_data`. No combinational path from port to port.
    /// - **Reset** forgets all; writes of before must not end any more.
    /// - **Limits** 32768 open writes; more wait.
    pub struct Send<const D: usize, const L: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub ticket: Signal<In, Bits<TICKET_BITS>>,
        pub key: Signal<In, Bits<32>>,
        pub begins: Signal<In, Bit>,
        pub is_saving: Signal<In, Bit>,
        pub headers: [StreamSink<Header>; L] = std::array::from_fn(|_| StreamSink::default()),
        pub beats: [StreamSink<Beat<D>>; L] = std::array::from_fn(|_| StreamSink::default()),
        pub table_header: StreamSink<Header>,
        pub table_beats: StreamSink<Beat<D>>,
        pub write: StreamSource<SlotWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub write_done: StreamSink<SlotDone>,
        pub is_idle: Signal<Out, Bit>,
        pub is_refused: Signal<Out, Bit>,
        pub has_failed: Signal<Out, Bit>,
        turn: Arbiter<Header, L>,
        order: Fifo<Bits<3>, AHEAD_LOG>,
        write_cut: Skid<SlotWrite>,
        data_cut: Skid<Beat<D>>,
        open: Reg<Bits<OPEN_BITS>>,
        refused: Reg<Bit>,
        failed: Reg<Bit>,
        header: Signal<Local, Header>,
        is_many: Signal<Local, Bit>,
        asks: Signal<Local, Bit>,
        is_beat: Signal<Local, Bit>,
        beat: Signal<Local, Beat<D>>,
        number: [Constant<Bits<3>>; L] = constants(|bank| (bank as u64).into()),
        how_refused: Constant<Bits<2>> = number(Ending::Refused as u8),
    }
}

impl<const D: usize, const L: usize> Logic for Send<D, L> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, turn, order, write_cut, data_cut);
        dff_setup!(self, clock, open, refused, failed);
        self.turn.reset.next = self.reset.val();
        self.order.reset.next = self.reset.val();
        self.write_cut.reset.next = self.reset.val();
        self.data_cut.reset.next = self.reset.val();

        self.is_many.next = self.open.q.val().get_bit(15);
        self.header.next = self.turn.source.payload.val();
        self.asks.next = self.turn.source.valid.val()
            & self.order.sink.ready.val()
            & self.write_cut.sink.ready.val()
            & !self.is_many.val();
        self.turn.source.ready.next = self.asks.val();
        self.order.sink.valid.next = self.asks.val();
        self.order.sink.payload.next = self.turn.source.payload.val().bank;
        self.table_header.ready.next = false;
        if self.is_saving.val() {
            self.header.next = self.table_header.payload.val();
            self.asks.next = self.table_header.valid.val() & self.write_cut.sink.ready.val();
            self.table_header.ready.next = self.write_cut.sink.ready.val();
            self.turn.source.ready.next = false;
            self.order.sink.valid.next = false;
        }
        self.write_cut.sink.valid.next = self.asks.val();
        self.write_cut.sink.payload.next.ticket = self.ticket.val();
        self.write_cut.sink.payload.next.va = self.header.val().va;
        self.write_cut.sink.payload.next.key = self.key.val();
        self.write_cut.sink.payload.next.len = self.header.val().len;
        StreamSource::<SlotWrite>::link(&mut self.write, &mut self.write_cut.source);

        self.is_beat.next = self.table_beats.valid.val() & self.is_saving.val();
        self.beat.next = self.table_beats.payload.val();
        self.table_beats.ready.next = self.data_cut.sink.ready.val() & self.is_saving.val();
        for i in 0..L {
            self.turn.sinks[i].payload.next = self.headers[i].payload.val();
            self.turn.sinks[i].valid.next = self.headers[i].valid.val();
            self.headers[i].ready.next = self.turn.sinks[i].ready.val();
            self.beats[i].ready.next = false;
            if self.order.source.valid.val() & (self.order.source.payload.val() == self.number[i].val()) {
                self.beats[i].ready.next = self.data_cut.sink.ready.val();
                self.is_beat.next = self.beats[i].valid.val();
                self.beat.next = self.beats[i].payload.val();
            }
        }
        self.order.source.ready.next =
            self.is_beat.val() & self.beat.val().eop & self.data_cut.sink.ready.val() & !self.is_saving.val();
        self.data_cut.sink.valid.next = self.is_beat.val();
        self.data_cut.sink.payload.next = self.beat.val();
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.data_cut.source);

        self.write_done.ready.next = true;
        if self.asks.val() & !self.write_done.valid.val() {
            self.open.d.next = self.open.q.val() + 1;
        } else if self.write_done.valid.val() & !self.asks.val() {
            self.open.d.next = self.open.q.val() - 1;
        }
        if self.write_done.valid.val() & self.write_done.payload.val().err.any() {
            if self.write_done.payload.val().err == self.how_refused.val() {
                self.refused.d.next = true;
            } else {
                self.failed.d.next = true;
            }
        }
        self.is_idle.next = !self.open.q.val().any() & !self.turn.source.valid.val();
        self.is_refused.next = self.refused.q.val();
        self.has_failed.next = self.failed.q.val();
        if self.begins.val() {
            self.refused.d.next = false;
            self.failed.d.next = false;
        }
        if self.reset.val() {
            self.open.d.next = 0.into();
        }
    }
}
