//! A FIFO in block RAM: for queues of hundreds of beats. In ultra RAM: for thousands.

use rust_hdl::prelude::*;

use super::ring::Ring;
use super::stream_ram::ClockedStream;
use crate::stream::{StreamSink, StreamSource};

/// In block RAM.
pub type BlockFifo<T, const LOG: usize> = ClockedFifo<T, LOG, false>;
/// In ultra RAM, of which one holds 4096 words of 72 bits.
pub type UltraFifo<T, const LOG: usize> = ClockedFifo<T, LOG, true>;

/// Holds up to `2^LOG` beats in the RAM and two more on the way out, and shows the oldest.
///
/// - **Ports** `sink`: beats in; `source`: the same beats, in the same order; `level`: beats held, the last two
///   included.
/// - **Latency** 3 cycles. **Rate** 1 beat per cycle, in and out at once.
/// - **Backpressure** stalls `sink` when the RAM is full. `sink.ready`, `source.valid` and the payload are registers.
/// - **Reset** empties it.
/// - **Limits** `LOG` from 1 to 15; anything else panics when the block is built.
#[derive(LogicBlock, Default)]
pub struct ClockedFifo<T: Synth, const LOG: usize, const ULTRA: bool> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub sink: StreamSink<T>,
    pub source: StreamSource<T>,
    pub level: Signal<Out, Bits<16>>,
    ring: Ring<LOG>,
    memory: ClockedStream<T, LOG, ULTRA>,
    push: Signal<Local, Bit>,
}

impl<T: Synth, const LOG: usize, const ULTRA: bool> Logic for ClockedFifo<T, LOG, ULTRA> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, ring, memory);
        self.ring.reset.next = self.reset.val();
        self.memory.reset.next = self.reset.val();
        self.sink.ready.next = !self.ring.full.val();
        self.push.next = self.sink.valid.val() & !self.ring.full.val();
        self.ring.push.next = self.push.val();
        self.memory.write_enable.next = self.push.val();
        self.memory.write_at.next = self.ring.write_at.val();
        self.memory.write_data.next = self.sink.payload.val();
        self.memory.some.next = self.ring.some.val();
        self.memory.read_at.next = self.ring.read_at.val();
        self.ring.pop.next = self.memory.taken.val();
        StreamSource::<T>::link(&mut self.source, &mut self.memory.source);
        self.level.next = self.ring.level.val() + self.memory.ahead.val();
    }
}

#[cfg(test)]
mod tests {
    use crate::pack::Packed;
    use crate::prim::model::DeepQueue;
    use crate::stream::Beat;
    use crate::testing::{self, FIFO_LOG, zoo};

    fn twin<T: Packed>() -> DeepQueue<T> {
        DeepQueue::new(1 << FIFO_LOG)
    }

    #[test]
    fn agrees_with_the_model() {
        for name in ["block_fifo", "ultra_fifo"] {
            testing::runs_at_full_rate(zoo::<64>(name), twin::<Beat<64>>(), 3);
            testing::runs_at_full_rate(zoo::<512>(name), twin::<Beat<512>>(), 3);
        }
    }

    #[test]
    fn survives_stalls() {
        for name in ["block_fifo", "ultra_fifo"] {
            testing::survives_stalls(zoo::<64>(name), twin::<Beat<64>>);
            testing::survives_stalls(zoo::<512>(name), twin::<Beat<512>>);
        }
    }

    #[test]
    fn recovers_from_reset() {
        for name in ["block_fifo", "ultra_fifo"] {
            testing::recovers_from_reset(zoo::<64>(name), twin::<Beat<64>>());
            testing::recovers_from_reset(zoo::<512>(name), twin::<Beat<512>>());
        }
    }
}
