//! One stream becomes two equal ones.

use rust_hdl::prelude::*;

use super::reg::Reg;
use crate::stream::{StreamSink, StreamSource};

/// Gives each beat of `sink` to `left` and to `right`, each when it is ready.
///
/// - **Ports** `sink`: beats in; `left`, `right`: the same beats, in the same order, each exactly once.
/// - **Latency** 0 cycles. **Rate** 1 beat per cycle.
/// - **Backpressure** a beat leaves `sink` when the slower side has taken it; the faster side waits at most one beat
///   ahead. `sink.ready` follows both `ready` inputs, the `valid` outputs follow `sink.valid`, combinationally.
/// - **Reset** forgets who has taken the beat on offer.
#[derive(LogicBlock, Default)]
pub struct Fork<T: Synth> {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub sink: StreamSink<T>,
    pub left: StreamSource<T>,
    pub right: StreamSource<T>,
    left_done: Reg<Bit>,
    right_done: Reg<Bit>,
    left_served: Signal<Local, Bit>,
    right_served: Signal<Local, Bit>,
}

impl<T: Synth> Logic for Fork<T> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, left_done, right_done);
        self.left.payload.next = self.sink.payload.val();
        self.right.payload.next = self.sink.payload.val();
        self.left.valid.next = self.sink.valid.val() & !self.left_done.q.val();
        self.right.valid.next = self.sink.valid.val() & !self.right_done.q.val();
        self.left_served.next = self.left.ready.val() | self.left_done.q.val();
        self.right_served.next = self.right.ready.val() | self.right_done.q.val();
        self.sink.ready.next = self.left_served.val() & self.right_served.val();
        if self.sink.valid.val() {
            self.left_done.d.next = self.left_served.val() & !self.right_served.val();
            self.right_done.d.next = self.right_served.val() & !self.left_served.val();
        }
        if self.reset.val() {
            self.left_done.d.next = false;
            self.right_done.d.next = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use stroma_verilate::{Bench, Pause, SinkId, SourceId};

    use crate::stream::Beat;
    use crate::testing::{collect, noises, push, stalls, zoo};

    fn streams(bench: &mut Bench) -> (SourceId, SinkId, SinkId) {
        let input = bench.source("sink").expect("the stream exists");
        (
            input,
            bench.sink("left").expect("the stream exists"),
            bench.sink("right").expect("the stream exists"),
        )
    }

    /// The model: what left `sink` is what both sides have, and neither is more than one beat ahead.
    fn run<const D: usize>(bench: &mut Bench, input: SourceId, left: SinkId, right: SinkId, length: usize) {
        let (beats, before) = (noises::<Beat<D>>(length as u64, length), bench[input].sent());
        push(bench, input, &beats);
        while bench[left].received().len().min(bench[right].received().len()) < length {
            bench.step();
            let (left, right) = (bench[left].received().len() as u64, bench[right].received().len() as u64);
            assert!(left.abs_diff(right) <= 1, "left has {left} beats, right {right}");
            assert_eq!(bench[input].sent() - before, left.min(right));
            assert!(bench.cycle() < 1_000_000, "the fork is stuck");
        }
        assert_eq!(collect::<Beat<D>>(bench, left), beats);
        assert_eq!(collect::<Beat<D>>(bench, right), beats);
    }

    fn survive<const D: usize>() {
        let mut bench = zoo::<D>("fork");
        let (input, left, right) = streams(&mut bench);
        for (idle, pressure) in stalls() {
            for other in [Pause::None, Pause::Random { seed: 9, percent: 60 }] {
                bench.reset(2);
                bench[input].pause(idle.clone());
                bench[left].pause(pressure.clone());
                bench[right].pause(other);
                run::<D>(&mut bench, input, left, right, 30);
            }
        }
    }

    #[test]
    fn agrees_with_the_model() {
        let mut bench = zoo::<64>("fork");
        let (input, left, right) = streams(&mut bench);
        bench.reset(2);
        let start = bench.cycle();
        run::<64>(&mut bench, input, left, right, 100);
        assert_eq!(bench.cycle() - start, 100, "one beat per cycle, no latency");
    }

    #[test]
    fn survives_stalls() {
        survive::<64>();
        survive::<512>();
    }

    #[test]
    fn recovers_from_reset() {
        let mut bench = zoo::<64>("fork");
        let (input, left, right) = streams(&mut bench);
        bench.reset(2);
        let beats = noises::<Beat<64>>(1, 3);
        push(&mut bench, input, &beats);
        bench[right].pause(Pause::Script(vec![true]));
        bench.run(5);
        assert_eq!(collect::<Beat<64>>(&mut bench, left), beats[..1], "left runs one beat ahead");
        bench.reset(1);
        // The source offers the same beat again, and left, which forgot it, takes it again.
        bench[right].pause(Pause::None);
        bench.run(5);
        assert_eq!(collect::<Beat<64>>(&mut bench, left), beats);
        assert_eq!(collect::<Beat<64>>(&mut bench, right), beats);
    }
}
