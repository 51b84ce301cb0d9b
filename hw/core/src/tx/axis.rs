//! The pins: beats made into AXI4-Stream as a MAC takes it.

use rust_hdl::prelude::*;

use crate::prim::reg::Reg;
use crate::prim::skid::Skid;
use crate::stream::{Beat, StreamSink};

block! {
    /// Gives frames to AXI4-Stream.
    ///
    /// - **Ports** `sink`: frames without FCS; `tdata` .. `tuser`: the same frames, `tuser` with `tlast` where `err` came with
    ///   `eop`, so that the MAC spoils the frame. `tkeep` has a one for each byte, all of them before `tlast`.
    ///   `pause`: the peer asks for silence (802.3x, or PFC of the priority in use; the MAC takes the frames that say so): no
    ///   frame begins from the next cycle on; one that has begun, or is on offer, goes on.
    /// - **Latency** 1 cycle. **Rate** 1 beat per cycle.
    /// - **Backpressure** stalls `sink`; no combinational path from any port to any other.
    /// - **Reset** empties it.
    /// - **Limits** `D = 8 * K`, `K` at most 64.
    pub struct AxisOut<const D: usize, const K: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub sink: StreamSink<Beat<D>>,
        pub tdata: Signal<Out, Bits<D>>,
        pub tkeep: Signal<Out, Bits<K>>,
        pub tvalid: Signal<Out, Bit>,
        pub tready: Signal<In, Bit>,
        pub tlast: Signal<Out, Bit>,
        pub tuser: Signal<Out, Bit>,
        pub pause: Signal<In, Bit>,
        /// A frame has begun.
        inside: Reg<Bit>,
        /// A beat is on offer.
        waits: Reg<Bit>,
        /// The peer asked for silence a cycle ago; in between nothing leads from pin to pin.
        silent: Reg<Bit>,
        opens: Signal<Local, Bit>,
        cut: Skid<Beat<D>>,
        every: Constant<Bits<K>> = Constant::new(Bits::mask()),
    }
}

impl<const D: usize, const K: usize> Logic for AxisOut<D, K> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, cut);
        self.cut.reset.next = self.reset.val();
        StreamSink::<Beat<D>>::link(&mut self.sink, &mut self.cut.sink);
        dff_setup!(self, clock, inside, waits, silent);
        self.silent.d.next = self.pause.val();
        self.opens.next = self.inside.q.val() | self.waits.q.val() | !self.silent.q.val();
        self.cut.source.ready.next = self.tready.val() & self.opens.val();
        self.tvalid.next = self.cut.source.valid.val() & self.opens.val();
        self.waits.d.next = self.cut.source.valid.val() & self.opens.val() & !self.tready.val();
        if self.cut.source.valid.val() & self.opens.val() & self.tready.val() {
            self.inside.d.next = !self.cut.source.payload.val().eop;
        }
        self.tdata.next = self.cut.source.payload.val().data;
        self.tkeep.next = !(self.every.val() << self.cut.source.payload.val().nbytes);
        self.tlast.next = self.cut.source.payload.val().eop;
        self.tuser.next = self.cut.source.payload.val().eop & self.cut.source.payload.val().err;
        if self.reset.val() {
            self.inside.d.next = false;
            self.waits.d.next = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use stroma_verilate::{Bench, Pause, SinkId, SourceId, StreamPorts};

    use super::*;
    use crate::stream::beats;
    use crate::testing::{push, stalls, verilated};

    fn under<const D: usize, const K: usize>() -> (Bench, SourceId, SinkId) {
        let mut bench = verilated(&format!("axis_out_{D}"), AxisOut::<D, K>::default);
        let sink = bench.source("sink").expect("the block has a sink");
        let port = |name: &str| bench.model().port(name).expect("the block has this pin");
        let payload = ["tdata", "tkeep", "tlast", "tuser"].map(port).into();
        let ports =
            StreamPorts { name: "axis".into(), valid: port("tvalid"), ready: port("tready"), payload };
        let pins = bench.sink_on(ports);
        pause(&mut bench, false);
        bench.reset(2);
        (bench, sink, pins)
    }

    fn pause(bench: &mut Bench, level: bool) {
        let port = bench.model().port("pause").expect("the block has this pin");
        bench.model_mut().set(port, level.into());
    }

    /// What the pins show of a packet: words of data, then keep, last, user.
    fn pins_of<const D: usize>(packet: &[u8], is_bad: bool) -> Vec<Vec<u32>> {
        let chunks = packet.chunks(D / 8);
        let count = chunks.len();
        let one = |(index, chunk): (usize, &[u8])| {
            let mut lanes = chunk.to_vec();
            lanes.resize(D / 8, 0);
            let keep = u64::MAX >> (64 - chunk.len());
            let is_last = index + 1 == count;
            let mut words: Vec<u32> = lanes
                .chunks(4)
                .map(|word| u32::from_le_bytes(word.try_into().expect("whole words")))
                .collect();
            words.extend(
                (0..(D / 8).div_ceil(32))
                    .map(|word| u32::try_from(keep >> (32 * word) & 0xffff_ffff).expect("32 bits")),
            );
            words.extend([u32::from(is_last), u32::from(is_last && is_bad)]);
            words
        };
        chunks.enumerate().map(one).collect()
    }

    fn shows_packets<const D: usize, const K: usize>() {
        let (mut bench, sink, pins) = under::<D, K>();
        for (idle, pressure) in stalls() {
            bench[sink].pause(idle);
            bench[pins].pause(pressure);
            let mut wanted = Vec::new();
            for len in [1, 7, 8, 9, 63, 64, 65, 128] {
                let packet: Vec<u8> = (1..=len).collect();
                let is_bad = len % 3 == 0;
                let mut packet_beats = beats::<D>(&packet);
                packet_beats.last_mut().expect("a beat").err = is_bad;
                push(&mut bench, sink, &packet_beats);
                wanted.extend(pins_of::<D>(&packet, is_bad));
            }
            bench
                .run_until(|bench| bench[pins].received().len() == wanted.len(), 5000)
                .expect("it never stops");
            assert_eq!(bench[pins].take(), wanted);
        }
    }

    #[test]
    fn survives_stalls() {
        shows_packets::<64, 8>();
        shows_packets::<512, 64>();
    }

    #[test]
    fn silence_begins_between_two_frames() {
        let (mut bench, sink, pins) = under::<64, 8>();
        (0..3).for_each(|_| push(&mut bench, sink, &beats::<64>(&[7; 80])));
        bench.run(5);
        pause(&mut bench, true);
        bench.run(50);
        assert_eq!(bench[pins].take(), pins_of::<64>(&[7; 80], false), "the frame that had begun, whole");
        pause(&mut bench, false);
        bench.run(3);
        // What is on offer stays, however long the peer does not take it.
        bench[pins].pause(Pause::Script(vec![true]));
        bench.run(3);
        pause(&mut bench, true);
        bench.run(3);
        bench[pins].pause(Pause::None);
        bench.run(50);
        assert_eq!(bench[pins].take(), pins_of::<64>(&[7; 80], false));
        pause(&mut bench, false);
        bench.run(50);
        assert_eq!(bench[pins].take(), pins_of::<64>(&[7; 80], false));
    }

    #[test]
    fn silence_is_heard_a_cycle_later() {
        let (mut bench, sink, pins) = under::<64, 8>();
        let offered = |bench: &Bench| {
            let port = bench.model().port("tvalid").expect("the block has this pin");
            bench.model().get(port) != 0
        };
        pause(&mut bench, true);
        bench.run(1);
        push(&mut bench, sink, &beats::<64>(&[7; 80]));
        bench.run(10);
        assert!(!offered(&bench));
        pause(&mut bench, false);
        bench.run(1);
        assert!(bench[pins].take().is_empty(), "the cycle in which silence ends has none yet");
        bench.run(1);
        assert_eq!(bench[pins].take().len(), 1);
    }

    #[test]
    fn recovers_from_reset() {
        let (mut bench, sink, pins) = under::<64, 8>();
        push(&mut bench, sink, &beats::<64>(&[1; 16]));
        bench[pins].pause(Pause::Script(vec![true]));
        bench.run(5);
        bench[pins].pause(Pause::None);
        bench.reset(1);
        push(&mut bench, sink, &beats::<64>(&[2; 5]));
        bench.run(5);
        assert_eq!(bench[pins].take(), pins_of::<64>(&[2; 5], false));
    }
}
