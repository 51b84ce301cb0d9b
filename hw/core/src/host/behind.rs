//! Behind: what tells of an end comes after the last entry.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// Lets a beat pass when the completions that were handed over before it have become entries that were accepted.
///
/// A completion goes through a mixer that may hold two, then to the CQs, which take the next one when the entry of the last
/// was accepted, and offer its own from the next cycle on. So behind a cycle in which none waits, or two that were taken,
/// only the last entry can be missing; and behind a cycle in which that does not wait, none. Others who complete without a
/// pause cannot keep a beat: each of theirs counts as one that was taken.
///
/// - **Ports** `sink`, `source`: beats, in order, one at a time. `done_waits`: a completion is on offer to the CQs, `done_moves`: and
///   is taken; `entry_waits`: an entry is on offer and not accepted. `busy`: a beat is inside.
/// - **Latency** 3 cycles if there is nothing to wait for. **Rate** 1 beat in 4 cycles.
/// - **Backpressure** stalls `sink`. No combinational path from port to port.
/// - **Reset** forgets the beat inside.
/// - **Limits** a completion counts as handed over when the mixer took it in a cycle before the beat's.
#[derive(LogicBlock, Default)]
pub struct Behind<T: Synth> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub sink: StreamSink<T>,
    pub done_waits: Signal<In, Bit>,
    pub done_moves: Signal<In, Bit>,
    pub entry_waits: Signal<In, Bit>,
    pub source: StreamSource<T>,
    pub busy: Signal<Out, Bit>,
    beat: Reg<T>,
    is_held: Reg<Bit>,
    /// Completions that may be before it.
    before: Reg<Bits<2>>,
    /// The last entry before it was accepted.
    is_free: Reg<Bit>,
}

impl<T: Synth> Logic for Behind<T> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, beat, is_held, before, is_free);
        self.sink.ready.next = !self.is_held.q.val();
        self.source.valid.next = self.is_held.q.val() & self.is_free.q.val();
        self.source.payload.next = self.beat.q.val();
        self.busy.next = self.is_held.q.val();
        if !self.is_held.q.val() {
            self.beat.d.next = self.sink.payload.val();
            self.is_held.d.next = self.sink.valid.val();
            self.before.d.next = 2.into();
            self.is_free.d.next = false;
        } else if self.before.q.val().any() {
            if !self.done_waits.val() {
                self.before.d.next = 0.into();
            } else if self.done_moves.val() {
                self.before.d.next = self.before.q.val() - 1;
            }
        } else if !self.is_free.q.val() {
            self.is_free.d.next = !self.entry_waits.val();
        } else if self.source.ready.val() {
            self.is_held.d.next = false;
        }
        if self.reset.val() {
            self.is_held.d.next = false;
        }
    }
}
