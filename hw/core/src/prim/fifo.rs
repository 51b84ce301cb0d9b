//! A FIFO in LUT RAM: for queues of a few dozen beats, where a block RAM would be wasted and a cycle would count.

use rust_hdl::prelude::*;

use super::ram::LutRam;
use super::ring::Ring;
use crate::stream::{StreamSink, StreamSource};

/// Holds up to `2^LOG` beats and shows the oldest.
///
/// - **Ports** `sink`: beats in; `source`: the same beats, in the same order; `level`: beats held.
/// - **Latency** 1 cycle. **Rate** 1 beat per cycle, in and out at once at any level from 1 to `2^LOG - 1`.
/// - **Backpressure** stalls `sink` at `2^LOG` beats. `sink.ready` and `source.valid` are registers: a full FIFO takes
///   nothing in the cycle in which it gives, an empty one passes nothing straight through.
/// - **Reset** empties it.
/// - **Limits** `LOG` from 1 to 15; anything else panics when the block is built.
#[derive(LogicBlock, Default)]
pub struct Fifo<T: Synth, const LOG: usize> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub sink: StreamSink<T>,
    pub source: StreamSource<T>,
    pub level: Signal<Out, Bits<16>>,
    ring: Ring<LOG>,
    memory: LutRam<T, LOG>,
    push: Signal<Local, Bit>,
}

impl<T: Synth, const LOG: usize> Logic for Fifo<T, LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, ring, memory);
        self.ring.reset.next = self.reset.val();
        self.sink.ready.next = !self.ring.full.val();
        self.source.valid.next = self.ring.some.val();
        self.source.payload.next = self.memory.read_data.val();
        self.level.next = self.ring.level.val();
        self.push.next = self.sink.valid.val() & !self.ring.full.val();
        self.ring.push.next = self.push.val();
        self.ring.pop.next = self.source.ready.val() & self.ring.some.val();
        self.memory.write_enable.next = self.push.val();
        self.memory.write_address.next = self.ring.write_at.val();
        self.memory.write_data.next = self.sink.payload.val();
        self.memory.read_address.next = self.ring.read_at.val();
    }
}

#[cfg(test)]
mod tests {
    use crate::pack::Packed;
    use crate::prim::model::Queue;
    use crate::stream::Beat;
    use crate::testing::{self, FIFO_LOG, zoo};

    fn twin<T: Packed>() -> Queue<T> {
        Queue::new(1 << FIFO_LOG)
    }

    #[test]
    fn agrees_with_the_model() {
        testing::runs_at_full_rate(zoo::<64>("fifo"), twin::<Beat<64>>(), 1);
        testing::runs_at_full_rate(zoo::<512>("fifo"), twin::<Beat<512>>(), 1);
    }

    #[test]
    fn survives_stalls() {
        testing::survives_stalls(zoo::<64>("fifo"), twin::<Beat<64>>);
        testing::survives_stalls(zoo::<512>("fifo"), twin::<Beat<512>>);
    }

    #[test]
    fn recovers_from_reset() {
        testing::recovers_from_reset(zoo::<64>("fifo"), twin::<Beat<64>>());
        testing::recovers_from_reset(zoo::<512>("fifo"), twin::<Beat<512>>());
    }
}
