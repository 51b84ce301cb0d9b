//! Store: payloads that are here as a whole.

use rust_hdl::prelude::*;

use super::whole::Whole;
use crate::prim::splice::{PieceBeat, Splice};
use crate::state::access::LEN_MAX;
use crate::stream::{Beat, StreamSink, StreamSource};

block! {
    /// Joins pieces to payloads, and keeps those that are good until they are taken.
    ///
    /// No beat stops between the seam and the memory: who is let in has a place there.
    ///
    /// - **Ports** `pieces`: in; `payload`: a packet for each whose pieces are all good; `busy`: a beat is inside.
    /// - **Latency** from the last beat to the first 3 cycles if it is the only one, otherwise 4; 1 more if it leaves bytes for another
    ///   beat. **Rate** 1 beat per cycle, without a gap inside a payload or between two that are here.
    /// - **Backpressure** stalls `pieces` when `2^LOG - 8` beats are held. No combinational path from port to port.
    /// - **Reset** empties it.
    /// - **Limits** `2^LOG` beats hold 4 KiB and eight beats more, otherwise building panics. A longer payload stalls for ever.
    pub struct Store<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub pieces: StreamSink<PieceBeat<D>>,
        pub payload: StreamSource<Beat<D>>,
        pub busy: Signal<Out, Bit>,
        splice: Splice<D>,
        whole: Whole<D, LOG> = whole_payloads(),
    }
}

/// A memory that holds payloads whole.
///
/// # Panics
/// When it could not hold the longest, and the beats that it leaves free.
fn whole_payloads<const D: usize, const LOG: usize>() -> Whole<D, LOG> {
    let bytes = (D / 8) << LOG;
    assert!(bytes >= LEN_MAX + D, "2^{LOG} beats of {D} bits do not hold a payload and eight beats");
    Whole::default()
}

impl<const D: usize, const LOG: usize> Logic for Store<D, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, splice, whole);
        self.splice.reset.next = self.reset.val();
        self.whole.reset.next = self.reset.val();
        self.pieces.ready.next = self.whole.room.val();
        self.splice.sink.valid.next = self.pieces.valid.val() & self.whole.room.val();
        self.splice.sink.payload.next = self.pieces.payload.val();
        self.splice.source.ready.next = true;
        self.whole.beat.next = self.splice.source.payload.val();
        self.whole.takes.next = self.splice.source.valid.val();
        StreamSource::<Beat<D>>::link(&mut self.payload, &mut self.whole.source);
        self.busy.next = self.splice.busy.val() | self.whole.busy.val();
    }
}
