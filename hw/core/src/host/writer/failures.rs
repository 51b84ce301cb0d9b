//! Failures: a ticket that went wrong becomes news for whoever has to know.

use rust_hdl::prelude::*;
use stroma_abi::desc::{Event, Status};

use super::Owner;
use crate::constant::number;
use crate::host::dma_write::Failed;
use crate::host::work::{EventRecord, QpError};
use crate::prim::fifo::Fifo;
use crate::prim::pulses::Pulses;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// `2^LOG` owners are kept, more than the engine and the cut before it can have under way.
const OWNERS_LOG: usize = 7;
/// `2^LOG` events, and errors, wait to be taken.
const NEWS_LOG: usize = 6;

block! {
    /// Keeps the owner of each command, and tells of those that failed.
    ///
    /// A failure is taken when it comes, whether or not the news of it can be: the engine has at most 66 commands under
    /// way, so the owner of one that has just failed is still in its row, and would not be much later.
    ///
    /// - **Ports** `accepted`, `ticket`, `owner`: a command begins; `sink`: tickets of failed commands; `missed`: the
    ///   engine's count of failures it could not give. `event`, `error`: the news; `failed`: a cycle high for each failure, the
    ///   missed ones included; `busy`: some of these are still to be given.
    /// - **Latency** 1 cycle. **Rate** 1 failure per cycle.
    /// - **Backpressure** none at `sink`; with 64 events, or errors, untaken, the next ones are lost.
    /// - **Reset** forgets the news. Rows are written before they are read, and stay.
    pub struct Failures {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub accepted: Signal<In, Bit>,
        pub ticket: Signal<In, Bits<16>>,
        pub owner: Signal<In, Owner>,
        pub sink: StreamSink<Failed>,
        pub missed: Signal<In, Bits<32>>,
        pub event: StreamSource<EventRecord>,
        pub error: StreamSource<QpError>,
        pub failed: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        owners: LutRam<Owner, OWNERS_LOG>,
        events: Fifo<EventRecord, NEWS_LOG>,
        errors: Fifo<QpError, NEWS_LOG>,
        pulses: Pulses<2>,
        missed_before: Reg<Bits<32>>,
        causes: Signal<Local, Bits<2>>,
        card_error: Constant<Bits<8>> = number(Event::CardError as u64),
        general: Constant<Bits<8>> = number(Status::General as u64),
    }
}

impl Logic for Failures {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, owners, events, errors, pulses);
        dff_setup!(self, clock, missed_before);
        self.events.reset.next = self.reset.val();
        self.errors.reset.next = self.reset.val();
        self.pulses.reset.next = self.reset.val();

        self.owners.write_enable.next = self.accepted.val();
        self.owners.write_address.next = bit_cast::<OWNERS_LOG, 16>(self.ticket.val());
        self.owners.write_data.next = self.owner.val();
        self.owners.read_address.next = bit_cast::<OWNERS_LOG, 16>(self.sink.payload.val().ticket);
        self.sink.ready.next = true;

        self.events.sink.valid.next = self.sink.valid.val() & !self.owners.read_data.val().is_event;
        self.events.sink.payload.next.data = self.owners.read_data.val().iova;
        self.events.sink.payload.next.object = self.owners.read_data.val().qpn;
        self.events.sink.payload.next.kind = self.card_error.val();
        self.events.sink.payload.next.subkind = 0.into();
        self.errors.sink.valid.next = self.sink.valid.val() & self.owners.read_data.val().is_payload;
        self.errors.sink.payload.next.qpn = self.owners.read_data.val().qpn;
        self.errors.sink.payload.next.status = self.general.val();
        self.errors.sink.payload.next.untold = true;
        StreamSource::<EventRecord>::link(&mut self.event, &mut self.events.source);
        StreamSource::<QpError>::link(&mut self.error, &mut self.errors.source);

        // The engine misses at most one in a cycle, so a change is one.
        self.missed_before.d.next = self.missed.val();
        self.causes.next = 0.into();
        self.causes.next = self.causes.val().replace_bit(0, self.sink.valid.val());
        self.causes.next = self.causes.val().replace_bit(1, self.missed.val() != self.missed_before.q.val());
        self.pulses.happens.next = self.causes.val();
        self.failed.next = self.pulses.pulse.val();
        self.busy.next =
            self.pulses.busy.val() | self.events.source.valid.val() | self.errors.source.valid.val();
        if self.reset.val() {
            self.missed_before.d.next = 0.into();
        }
    }
}
