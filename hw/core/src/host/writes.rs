//! Two engines write payload: one way to host memory for both.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use super::work::HostWrite;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::stream::{Beat, StreamSink, StreamSource};

/// `2^LOG` commands may be ahead of their data.
const AHEAD_LOG: usize = 5;

block! {
    /// Merges commands of two clients, in turn, and their packets in the order of the commands.
    ///
    /// A command is handed over in the cycle in which its client gives it, so that a client knows when its write is in
    /// order.
    ///
    /// - **Ports** `writes[i]`, `data[i]`: commands, and a packet for each with bytes, in order; `write`, `source`: all of them.
    ///   `busy`: data of a command is awaited.
    /// - **Latency** 0 cycles. **Rate** 1 command and 1 beat per cycle.
    /// - **Fairness** a command on offer waits for at most one of the other client. A client whose data is missing holds up both.
    /// - **Backpressure** stalls both; 32 commands may be ahead of their data. `write` follows `writes`, and `source` follows `data`,
    ///   combinationally; likewise `ready` the other way.
    /// - **Reset** forgets whose data is due; the writer has to be reset with it.
    pub struct Writes<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub writes: [StreamSink<HostWrite>; 2],
        pub data: [StreamSink<Beat<D>>; 2],
        pub write: StreamSource<HostWrite>,
        pub source: StreamSource<Beat<D>>,
        pub busy: Signal<Out, Bit>,
        /// Whose packets are due.
        due: Fifo<Bit, AHEAD_LOG>,
        /// Who goes first when both offer, and whether somebody has offered and waits.
        prefers_second: Reg<Bit>,
        waits: Reg<Bit>,
        second: Signal<Local, Bit>,
        offers: Signal<Local, Bit>,
        passes: Signal<Local, Bit>,
        command: Signal<Local, HostWrite>,
        beat: Signal<Local, Beat<D>>,
        is_there: Signal<Local, Bit>,
    }
}

impl<const D: usize> Logic for Writes<D> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, due);
        dff_setup!(self, clock, prefers_second, waits);
        self.due.reset.next = self.reset.val();

        // Who has offered and was not taken stays: the other may come, and must not push in.
        self.second.next =
            self.writes[1].valid.val() & (self.prefers_second.q.val() | !self.writes[0].valid.val());
        if self.waits.q.val() {
            self.second.next = self.prefers_second.q.val();
        }
        self.command.next = self.writes[0].payload.val();
        if self.second.val() {
            self.command.next = self.writes[1].payload.val();
        }
        self.write.payload.next = self.command.val();
        self.offers.next =
            (self.writes[0].valid.val() | self.writes[1].valid.val()) & self.due.sink.ready.val();
        self.passes.next = self.offers.val() & self.write.ready.val();
        self.write.valid.next = self.offers.val();
        self.writes[0].ready.next = self.passes.val() & !self.second.val();
        self.writes[1].ready.next = self.passes.val() & self.second.val();
        self.waits.d.next = self.offers.val() & !self.write.ready.val();
        if self.offers.val() {
            self.prefers_second.d.next = self.second.val() != self.write.ready.val();
        }
        self.due.sink.valid.next = self.passes.val() & self.command.val().len.any();
        self.due.sink.payload.next = self.second.val();

        self.beat.next = self.data[0].payload.val();
        self.is_there.next = self.data[0].valid.val();
        if self.due.source.payload.val() {
            self.beat.next = self.data[1].payload.val();
            self.is_there.next = self.data[1].valid.val();
        }
        self.source.payload.next = self.beat.val();
        self.source.valid.next = self.due.source.valid.val() & self.is_there.val();
        self.data[0].ready.next =
            self.due.source.valid.val() & !self.due.source.payload.val() & self.source.ready.val();
        self.data[1].ready.next =
            self.due.source.valid.val() & self.due.source.payload.val() & self.source.ready.val();
        self.due.source.ready.next = self.source.ready.val() & self.is_there.val() & self.beat.val().eop;
        self.busy.next = self.due.level.val().any();
        if self.reset.val() {
            self.prefers_second.d.next = false;
            self.waits.d.next = false;
        }
    }
}
