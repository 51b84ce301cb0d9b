//! Who goes first: one command of three clients after the other.

use rust_hdl::prelude::*;
use stroma_abi::desc::{Cqe, Eqe};

use super::{ENTRY_CLIENTS, Owner};
use crate::constant::number;
use crate::host::dma_write::WriteCommand;
use crate::host::work::{EntryWrite, HostWrite};
use crate::prim::reg::Reg;
use crate::prim::round_robin::RoundRobin;
use crate::prim::skid::Skid;
use crate::stream::{StreamSink, StreamSource};

/// Payload and entries.
const CLIENTS: usize = 1 + ENTRY_CLIENTS;

block! {
    /// Accepts commands in turn and numbers them.
    ///
    /// A command is accepted at its own port, not behind a buffer of its client: who sees his command accepted knows
    /// that all accepted later comes later.
    ///
    /// - **Ports** `write`, `entries`: commands; `command`: the same for the engine. `room`: the data of one more can be
    ///   put in order; `entry_room`: the bytes of one more entry can be kept. `accepted`, `owner`: a command is accepted
    ///   in this cycle, and whose; `has_data`: and it has some; `entry`: the entry, if it is one. `ticket`, `issued`: as
    ///   in [`HostWriter`](super::HostWriter).
    /// - **Latency** 1 cycle to `command`. **Rate** 1 command per cycle.
    /// - **Fairness** a command waits for at most one of each other client.
    /// - **Backpressure** holds two commands, then stalls all clients. `ready` of each follows `valid` of all, and
    ///   the signals that tell of acceptance do, too.
    /// - **Reset** forgets the commands it holds, and counts from 0.
    pub struct Accept {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub write: StreamSink<HostWrite>,
        pub entries: [StreamSink<EntryWrite>; ENTRY_CLIENTS],
        pub room: Signal<In, Bit>,
        pub entry_room: Signal<In, Bit>,
        pub command: StreamSource<WriteCommand>,
        pub accepted: Signal<Out, Bit>,
        pub has_data: Signal<Out, Bit>,
        pub owner: Signal<Out, Owner>,
        pub entry: Signal<Out, EntryWrite>,
        pub ticket: Signal<Out, Bits<16>>,
        pub issued: Signal<Out, Bits<16>>,
        turn: RoundRobin<CLIENTS>,
        cut: Skid<WriteCommand>,
        issued_count: Reg<Bits<16>>,
        request: Signal<Local, Bits<CLIENTS>>,
        grant: Signal<Local, Bits<CLIENTS>>,
        has_room: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        chosen: Signal<Local, EntryWrite>,
        iova: Signal<Local, Bits<64>>,
        len: Signal<Local, Bits<13>>,
        qpn: Signal<Local, Bits<24>>,
        long_len: Constant<Bits<13>> = number(Cqe::LEN),
        short_len: Constant<Bits<13>> = number(Eqe::LEN),
    }
}

impl Logic for Accept {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, turn, cut);
        dff_setup!(self, clock, issued_count);
        self.turn.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();

        self.request.next = 0.into();
        self.request.next = self.request.val().replace_bit(0, self.write.valid.val());
        for i in 0..ENTRY_CLIENTS {
            self.request.next =
                self.request.val().replace_bit(i + 1, self.entries[i].valid.val() & self.entry_room.val());
        }
        self.turn.request.next = self.request.val();
        self.grant.next = self.turn.grant.val();
        self.has_room.next = self.room.val() & self.cut.sink.ready.val();
        self.moves.next = self.request.val().any() & self.has_room.val();
        self.turn.taken.next = self.moves.val();
        self.write.ready.next = self.grant.val().get_bit(0) & self.has_room.val();
        self.chosen.next = self.entries[0].payload.val();
        for i in 0..ENTRY_CLIENTS {
            self.entries[i].ready.next = self.grant.val().get_bit(i + 1) & self.has_room.val();
            if self.grant.val().get_bit(i + 1) {
                self.chosen.next = self.entries[i].payload.val();
            }
        }

        self.iova.next = self.chosen.val().iova;
        self.len.next = self.short_len.val();
        self.qpn.next = 0.into();
        if self.grant.val().get_bit(0) {
            self.iova.next = self.write.payload.val().iova;
            self.len.next = self.write.payload.val().len;
            self.qpn.next = self.write.payload.val().qpn;
        } else if self.chosen.val().long {
            self.len.next = self.long_len.val();
        }
        self.cut.sink.valid.next = self.request.val().any() & self.room.val();
        self.cut.sink.payload.next.iova = self.iova.val();
        self.cut.sink.payload.next.len = self.len.val();
        StreamSource::<WriteCommand>::link(&mut self.command, &mut self.cut.source);

        self.accepted.next = self.moves.val();
        self.has_data.next = self.moves.val() & self.len.val().any();
        self.entry.next = self.chosen.val();
        self.owner.next.iova = self.iova.val();
        self.owner.next.qpn = self.qpn.val();
        self.owner.next.is_payload = self.grant.val().get_bit(0);
        self.owner.next.is_event = self.grant.val().get_bit(2);
        self.ticket.next = self.issued_count.q.val() + 1;
        self.issued.next = self.issued_count.q.val();
        self.issued_count.d.next = self.issued_count.q.val() + self.moves.val();
        if self.reset.val() {
            self.issued_count.d.next = 0.into();
        }
    }
}
