//! Two streams become one stream of pairs.

use rust_hdl::prelude::*;

use crate::stream::StreamSink;

/// Offers the oldest beat of `left` together with the oldest beat of `right`.
///
/// - **Ports** `left`, `right`: beats in; `left_out`, `right_out`: one pair, under one `valid` and `ready`.
/// - **Latency** 0 cycles. **Rate** 1 pair per cycle.
/// - **Backpressure** stalls both; each side's `ready` follows `ready` and the other side's `valid` combinationally.
/// - **Reset** none: it holds nothing. `clock` and `reset` are absent.
#[derive(LogicBlock, Default)]
pub struct Join<A: Synth, B: Synth> {
    pub left: StreamSink<A>,
    pub right: StreamSink<B>,
    pub left_out: Signal<Out, A>,
    pub right_out: Signal<Out, B>,
    pub valid: Signal<Out, Bit>,
    pub ready: Signal<In, Bit>,
    moves: Signal<Local, Bit>,
}

impl<A: Synth, B: Synth> Logic for Join<A, B> {
    #[hdl_gen]
    fn update(&mut self) {
        self.left_out.next = self.left.payload.val();
        self.right_out.next = self.right.payload.val();
        self.valid.next = self.left.valid.val() & self.right.valid.val();
        self.moves.next = self.valid.val() & self.ready.val();
        self.left.ready.next = self.moves.val();
        self.right.ready.next = self.moves.val();
    }
}

#[cfg(test)]
mod tests {
    use rust_hdl::prelude::Bits;

    use crate::pack::Packed;
    use crate::stream::Beat;
    use crate::testing::{noises, zoo_model};

    /// It holds nothing, so every combination of the three handshake inputs is all there is to see.
    fn check<const D: usize>() {
        let mut model = zoo_model::<D>("join");
        let port = |name: &str| model.port(name).expect("a port of the join");
        let inputs = [port("left$valid"), port("right$valid"), port("ready")];
        let (left_ready, right_ready, valid) = (port("left$ready"), port("right$ready"), port("valid"));
        let (left, right) = (port("left$payload"), port("right$payload"));
        let (left_out, right_out) = (port("left_out"), port("right_out"));
        for (case, payload) in (0_u64..8).zip(noises::<Beat<D>>(1, 8)) {
            let other: Bits<16> = (case * 0x1357).into();
            inputs.iter().enumerate().for_each(|(bit, port)| model.set(*port, case >> bit & 1));
            model.set_wide(left, &payload.to_words());
            model.set_wide(right, &other.to_words());
            model.eval();
            assert_eq!(model.get(valid) == 1, case & 3 == 3, "case {case:03b}");
            assert_eq!(model.get(left_ready) == 1, case == 7, "case {case:03b}");
            assert_eq!(model.get(right_ready) == 1, case == 7, "case {case:03b}");
            assert_eq!(model.get_wide(left_out), payload.to_words());
            assert_eq!(model.get_wide(right_out), other.to_words());
        }
    }

    #[test]
    fn a_pair_moves_when_both_sides_and_the_reader_are_there() {
        check::<64>();
        check::<512>();
    }
}
