//! Scatter: payload that goes to a list of buffers becomes one errand for each buffer it touches.

pub mod cut;
pub mod heading;
pub mod intake;
#[cfg(test)]
mod model;
pub mod reads;
#[cfg(test)]
mod rig;
pub mod seek;
pub mod spoil;
pub mod store;
#[cfg(test)]
mod tests;
pub mod unfold;

use rust_hdl::prelude::*;

use cut::Cut;
use intake::{Intake, Want};
use reads::{Plan, Reads};
use seek::{Seek, Spot};
use store::Store;
use unfold::{Entry, Unfold};

use super::records::{Errand, RingRow, SharedRow};
use crate::host::dma_read::ReadCommand;
use crate::host::work::Unit;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Cuts errands at the ends of the entries their payload goes to.
    ///
    /// ```text
    ///   errand ─ Intake ─┬─────────────────── waiting ────────────────── Cut ─ piece
    ///                    └ want ─ Seek ─ Reads ─ plan ─ Unfold ─ entry ───┘
    ///               ring, shared ─┘       └ read      │
    ///                                    units ─── Store
    /// ```
    ///
    /// A list stays in host memory, where the application put it, and is read again for each packet: nothing has to be kept
    /// for a message that may never end. Lists are asked for ahead of their turn; all errands leave in order.
    ///
    /// - **Ports** `errand`, `is_request`: in. `ring_enable`, `ring_index`, `ring`: the rings of a queue pair, a cycle later, held until
    ///   the next `ring_enable`; `shared_*` the same of an SRQ. `read`, `units`: host memory, as
    ///   [`HostReader`](crate::host::reader::HostReader) has it. `piece`, `piece_is_request`: out. `busy`: something is inside.
    /// - **Passes** what has no list, no bytes, places nothing, or has a value: unchanged.
    /// - **Pieces** have their bytes, 4096 at most, as `payload_len` and `span`, address and key of the entry, the right to be written to, and
    ///   for an SRQ its protection domain. The last carries all else; those before it neither answer, complete, fail,
    ///   retire nor end. PSN, MSN and `counts` are on all of them, for a refusal.
    /// - **Fails** a list that is too short, `LocalLength`; one that could not be read, `General`; a ring that is missing, a count
    ///   that is more than 16 or than the stride holds, a WQE of another index, `LocalQueuePair`. The pieces given so far
    ///   stay; the last errand throws the rest away. A request is answered with a NAK, `InvalidRequest` if the list was too
    ///   short, else `RemoteOperational`, and not counted. An answer is not answered; a list that is too short for it is
    ///   `LocalQueuePair`, for it was long enough when the READ was sent. The length is 0, and a message that retires
    ///   completes, signaled or not.
    /// - **Latency** 2 cycles for what passes; 4 from an errand to `read`; 3 from the last unit of a list to its first piece, and
    ///   1 more for each entry before. **Rate** an errand that passes, an entry that is passed over, or a piece per cycle; 1 more
    ///   if payload ends before the list's last entry, 1 more for the rest that did not fit. A command per cycle, one list
    ///   in each, or in two where a WQE goes on at the ring's start.
    /// - **Backpressure** 32 errands wait, 32 units, and 2 pieces. `units` waits for room, which comes as pieces leave: of the host and
    ///   whoever takes the pieces, nothing else is waited for. No combinational path from port to port.
    /// - **Reset** forgets everything; the reader has to be reset with it.
    /// - **Limits** send queues have 8 units at least. Five units of the send queue are read, whatever the WQE has.
    pub struct Scatter {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub errand: StreamSink<Errand>,
        pub is_request: Signal<In, Bit>,
        pub ring_enable: Signal<Out, Bit>,
        pub ring_index: Signal<Out, Bits<24>>,
        pub ring: Signal<In, RingRow>,
        pub shared_enable: Signal<Out, Bit>,
        pub shared_index: Signal<Out, Bits<24>>,
        pub shared: Signal<In, SharedRow>,
        pub read: StreamSource<ReadCommand>,
        pub units: StreamSink<Unit>,
        pub piece: StreamSource<Errand>,
        pub piece_is_request: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        intake: Intake,
        seek: Seek,
        reads: Reads,
        store: Store,
        unfold: Unfold,
        cut: Cut,
    }
}

impl Logic for Scatter {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, intake, seek, reads, store, unfold, cut);
        self.intake.reset.next = self.reset.val();
        self.seek.reset.next = self.reset.val();
        self.reads.reset.next = self.reset.val();
        self.store.reset.next = self.reset.val();
        self.unfold.reset.next = self.reset.val();
        self.cut.reset.next = self.reset.val();

        StreamSink::<Errand>::link(&mut self.errand, &mut self.intake.errand);
        self.intake.is_request.next = self.is_request.val();
        StreamSource::<Want>::join(&mut self.intake.want, &mut self.seek.want);
        self.ring_enable.next = self.seek.ring_enable.val();
        self.ring_index.next = self.seek.ring_index.val();
        self.seek.ring.next = self.ring.val();
        self.shared_enable.next = self.seek.shared_enable.val();
        self.shared_index.next = self.seek.shared_index.val();
        self.seek.shared.next = self.shared.val();
        StreamSource::<Spot>::join(&mut self.seek.spot, &mut self.reads.spot);
        StreamSource::<ReadCommand>::link(&mut self.read, &mut self.reads.read);

        StreamSink::<Unit>::link(&mut self.units, &mut self.store.units);
        StreamSource::<Plan>::join(&mut self.reads.plan, &mut self.unfold.plan);
        StreamSource::<Bit>::join(&mut self.store.verdict, &mut self.unfold.verdict);
        self.unfold.row.next = self.store.row.val();
        self.store.turns.next = self.unfold.turns.val();
        self.store.frees.next = self.unfold.frees.val();
        self.store.list_units.next = self.unfold.list_units.val();

        StreamSource::<Errand>::join(&mut self.intake.waiting, &mut self.cut.errand);
        self.cut.mark.next = self.intake.mark.val();
        StreamSource::<Entry>::join(&mut self.unfold.entry, &mut self.cut.entry);
        self.unfold.stops.next = self.cut.stops.val();
        StreamSource::<Errand>::link(&mut self.piece, &mut self.cut.piece);
        self.piece_is_request.next = self.cut.piece_is_request.val();
        // An errand waits until its list is done with.
        self.busy.next = self.intake.waiting.valid.val() | self.cut.piece.valid.val();
    }
}
