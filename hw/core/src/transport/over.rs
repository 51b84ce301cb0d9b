//! Which messages are over: told by those who hand over data and completions, read by those who send.

use rust_hdl::prelude::*;

use super::records::AckedRow;
use crate::host::work::QpChange;
use crate::prim::ram::BlockRam;
use crate::stream::StreamSink;

block! {
    /// Keeps an [`AckedRow`] for each of `2^QPS` queue pairs.
    ///
    /// - **Ports** `write`, `write_index`, `written`: a row is news; `change`: a queue pair that resets begins at nothing; `read`, `index`,
    ///   `row`: the row, from the next cycle on and until the next `read`; `look`, `look_index`, `looked`: likewise, for another.
    /// - **Latency** 1 cycle; a read during a write of the same place gives the *old* content. **Rate** a read and a write per
    ///   cycle.
    /// - **Backpressure** `change` waits for a cycle without `write`; packets that retire messages do not come in every cycle.
    /// - **Reset** none: a queue pair that is created resets.
    pub struct Over<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub write: Signal<In, Bit>,
        pub write_index: Signal<In, Bits<QPS>>,
        pub written: Signal<In, AckedRow>,
        pub change: StreamSink<QpChange>,
        pub read: Signal<In, Bit>,
        pub index: Signal<In, Bits<QPS>>,
        pub row: Signal<Out, AckedRow>,
        pub look: Signal<In, Bit>,
        pub look_index: Signal<In, Bits<QPS>>,
        pub looked: Signal<Out, AckedRow>,
        rows: [BlockRam<AckedRow, QPS>; 2] = std::array::from_fn(|_| BlockRam::default()),
        writes: Signal<Local, Bit>,
        at: Signal<Local, Bits<QPS>>,
        stored: Signal<Local, AckedRow>,
        nothing: Constant<AckedRow> = Constant::new(AckedRow::default()),
    }
}

impl<const QPS: usize> Logic for Over<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        self.change.ready.next = !self.write.val();
        self.writes.next = self.write.val() | (self.change.valid.val() & self.change.payload.val().resets);
        self.at.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
        self.stored.next = self.nothing.val();
        if self.write.val() {
            self.at.next = self.write_index.val();
            self.stored.next = self.written.val();
        }
        for i in 0..2 {
            self.rows[i].clock.next = self.clock.val();
            self.rows[i].write_enable.next = self.writes.val();
            self.rows[i].write_address.next = self.at.val();
            self.rows[i].write_data.next = self.stored.val();
        }
        self.rows[0].read_enable.next = self.read.val();
        self.rows[0].read_address.next = self.index.val();
        self.row.next = self.rows[0].read_data.val();
        self.rows[1].read_enable.next = self.look.val();
        self.rows[1].read_address.next = self.look_index.val();
        self.looked.next = self.rows[1].read_data.val();
    }
}

#[cfg(test)]
mod tests {
    use stroma_verilate::SplitMix64;

    use super::*;
    use crate::pack::Packed;
    use crate::testing::{noise, push, read, verilated};

    const QPS: usize = 3;

    #[test]
    fn rows_are_what_was_written_last_or_nothing_after_a_reset() {
        let mut bench = verilated("over", Over::<QPS>::default);
        let change = bench.source("change").expect("the stream exists");
        let mut rng = SplitMix64::new(1);
        let mut rows = [None; 1 << QPS];
        let mut asked = Vec::new();
        for _ in 0..4000 {
            let mut set = |name: &str, words: &[u32]| {
                let port = bench.model().port(name).expect("a port");
                bench.model_mut().set_wide(port, words);
            };
            let (number, row) = (rng.below(1 << QPS), noise::<AckedRow>(&mut rng));
            let writes = rng.below(3) == 0;
            set("write", &[writes.into()]);
            set("write_index", &[u32::try_from(number).expect("small")]);
            set("written", &row.to_words());
            let looked = rng.below(1 << QPS);
            for (enable, index) in [("read", "index"), ("look", "look_index")] {
                set(enable, &[1]);
                set(index, &[u32::try_from(looked).expect("small")]);
            }
            if rng.below(8) == 0 {
                let reset = QpChange {
                    qpn: rng.below(1 << QPS).into(),
                    resets: rng.below(4) > 0,
                    ..QpChange::default()
                };
                push(&mut bench, change, &[reset]);
                asked.push(reset);
            }
            let (taken, before) = (bench[change].sent(), rows[usize::try_from(looked).expect("small")]);
            bench.step();
            if let Some(row) = before {
                for shown in ["row", "looked"] {
                    assert_eq!(read::<AckedRow>(&bench, shown), row, "queue pair {looked}");
                }
            }
            if bench[change].sent() > taken {
                assert!(!writes, "both in one cycle");
                let told = asked.remove(0);
                if told.resets {
                    rows[told.qpn.index()] = Some(AckedRow::default());
                }
            }
            if writes {
                rows[usize::try_from(number).expect("small")] = Some(row);
            }
        }
        assert!(rows.iter().all(Option::is_some) && bench[change].sent() > 100);
    }
}
