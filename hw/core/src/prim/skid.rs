//! Skid buffer: the full cut. Long links need registers in both directions, and a lone register would halve the rate
//! because `ready` arrives a cycle late; the spare register keeps the beat that was already on its way.

use rust_hdl::prelude::*;

use super::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// Registers payload, `valid` and `ready` of a stream.
///
/// - **Ports** `sink`: beats in; `source`: the same beats, in the same order.
/// - **Latency** 1 cycle. **Rate** 1 beat per cycle.
/// - **Backpressure** holds two beats, then stalls `sink`; no combinational path from any port to any other.
/// - **Reset** empties it; payload behind `valid = 0` carries no meaning.
#[derive(LogicBlock, Default)]
pub struct Skid<T: Synth> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub sink: StreamSink<T>,
    pub source: StreamSource<T>,
    head: Reg<T>,
    head_valid: Reg<Bit>,
    spare: Reg<T>,
    spare_valid: Reg<Bit>,
    /// The opposite of `spare_valid`, for whoever waits for `ready`: the other one has all bits of a payload to drive.
    is_free: Reg<Bit>,
    keeps: Signal<Local, Bit>,
}

impl<T: Synth> Logic for Skid<T> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, head, head_valid, spare, spare_valid, is_free);
        self.sink.ready.next = self.is_free.q.val();
        self.source.valid.next = self.head_valid.q.val();
        self.source.payload.next = self.head.q.val();
        // The spare register follows the sink while it is free: its enable is one flip-flop, not a handshake.
        if !self.spare_valid.q.val() {
            self.spare.d.next = self.sink.payload.val();
        }
        if self.source.ready.val() | !self.head_valid.q.val() {
            self.head_valid.d.next = self.sink.valid.val() | self.spare_valid.q.val();
            self.keeps.next = false;
            if self.spare_valid.q.val() {
                self.head.d.next = self.spare.q.val();
            } else {
                self.head.d.next = self.sink.payload.val();
            }
        } else {
            self.keeps.next = self.sink.valid.val() | self.spare_valid.q.val();
        }
        self.spare_valid.d.next = self.keeps.val();
        self.is_free.d.next = !self.keeps.val();
        if self.reset.val() {
            self.head_valid.d.next = false;
            self.spare_valid.d.next = false;
            self.is_free.d.next = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::prim::model::Queue;
    use crate::stream::Beat;
    use crate::testing::{self, zoo};

    #[test]
    fn agrees_with_the_model() {
        testing::runs_at_full_rate(zoo::<64>("skid"), Queue::<Beat<64>>::new(2), 1);
        testing::runs_at_full_rate(zoo::<512>("skid"), Queue::<Beat<512>>::new(2), 1);
    }

    #[test]
    fn survives_stalls() {
        testing::survives_stalls(zoo::<64>("skid"), || Queue::<Beat<64>>::new(2));
        testing::survives_stalls(zoo::<512>("skid"), || Queue::<Beat<512>>::new(2));
    }

    #[test]
    fn recovers_from_reset() {
        testing::recovers_from_reset(zoo::<64>("skid"), Queue::<Beat<64>>::new(2));
        testing::recovers_from_reset(zoo::<512>("skid"), Queue::<Beat<512>>::new(2));
    }
}
