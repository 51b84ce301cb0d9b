//! What the card counts, in the order of the register block.

use rust_hdl::prelude::*;

use super::control::counter::Counter;
use super::control::live::COUNTS;

block! {
    /// Keeps the counters of the register block `counters`.
    ///
    /// - **Ports** pulses, high for a cycle each time; `hits`, `misses`, `walks`: counted elsewhere; `values`: all counters, in the
    ///   order of the block; those of parts that do not exist yet are zero.
    /// - **Latency** as [`Counter`]. **Reset** begins at 0.
    pub struct Counts {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub tx_frame: Signal<In, Bit>,
        pub turned: Signal<In, Bit>,
        pub closed_drop: Signal<In, Bit>,
        pub retransmitted: Signal<In, Bit>,
        pub timeout: Signal<In, Bit>,
        pub nak: [Signal<In, Bit>; 3],
        pub rnr_nak: Signal<In, Bit>,
        pub duplicate: Signal<In, Bit>,
        pub read_waits: Signal<In, Bit>,
        pub cnp_sent: Signal<In, Bit>,
        pub cnp_received: Signal<In, Bit>,
        pub unwanted: [Signal<In, Bit>; 5],
        pub unreliable_drop: [Signal<In, Bit>; 2],
        pub answer_dropped: Signal<In, Bit>,
        pub early: Signal<In, Bit>,
        pub stale: Signal<In, Bit>,
        pub accepted: Signal<In, Bit>,
        pub raw_frame: Signal<In, Bit>,
        pub raw_drop: [Signal<In, Bit>; 3],
        pub raw_departs: Signal<In, Bit>,
        pub hits: Signal<In, Bits<64>>,
        pub misses: Signal<In, Bits<64>>,
        pub walks: Signal<In, Bits<64>>,
        pub wrong_page: [Signal<In, Bit>; 3],
        pub bad_doorbell: [Signal<In, Bit>; 4],
        pub push: Signal<In, Bit>,
        pub push_fallback: Signal<In, Bit>,
        pub cq_overflow: Signal<In, Bit>,
        pub dma_error: [Signal<In, Bit>; 2],
        pub values: [Signal<Out, Bits<64>>; COUNTS],
        tx_frames: Counter<1>,
        wrong_pages: Counter<3>,
        bad_doorbells: Counter<4>,
        pushes: Counter<1>,
        push_fallbacks: Counter<1>,
        cq_overflows: Counter<1>,
        dma_errors: Counter<2>,
        packets_again: Counter<1>,
        timeouts: Counter<1>,
        naks: Counter<3>,
        rnr_naks: Counter<1>,
        duplicates: Counter<1>,
        reads_waiting: Counter<1>,
        cnps_sent: Counter<1>,
        cnps_received: Counter<1>,
        strangers: Counter<5>,
        uc_dropped: Counter<2>,
        answers_dropped: Counter<1>,
        early_requests: Counter<1>,
        stale_answers: Counter<1>,
        accepted_packets: Counter<1>,
        raw_frames: Counter<1>,
        raw_dropped: Counter<3>,
        raw_sent: Counter<1>,
        tx_turned: Counter<1>,
        rx_closed: Counter<1>,
    }
}

impl Logic for Counts {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "joins alone: a few lines a counter")]
    fn update(&mut self) {
        clock!(
            self,
            clock,
            tx_frames,
            wrong_pages,
            bad_doorbells,
            pushes,
            push_fallbacks,
            cq_overflows,
            dma_errors
        );
        clock!(
            self,
            clock,
            packets_again,
            timeouts,
            naks,
            rnr_naks,
            duplicates,
            reads_waiting,
            cnps_sent,
            cnps_received,
            strangers,
            uc_dropped,
            answers_dropped,
            early_requests,
            stale_answers,
            accepted_packets,
            raw_frames,
            raw_dropped,
            raw_sent,
            tx_turned,
            rx_closed
        );
        self.tx_frames.reset.next = self.reset.val();
        self.wrong_pages.reset.next = self.reset.val();
        self.bad_doorbells.reset.next = self.reset.val();
        self.pushes.reset.next = self.reset.val();
        self.push_fallbacks.reset.next = self.reset.val();
        self.cq_overflows.reset.next = self.reset.val();
        self.dma_errors.reset.next = self.reset.val();
        self.packets_again.reset.next = self.reset.val();
        self.timeouts.reset.next = self.reset.val();
        self.naks.reset.next = self.reset.val();
        self.rnr_naks.reset.next = self.reset.val();
        self.duplicates.reset.next = self.reset.val();
        self.reads_waiting.reset.next = self.reset.val();
        self.cnps_sent.reset.next = self.reset.val();
        self.cnps_received.reset.next = self.reset.val();
        self.strangers.reset.next = self.reset.val();
        self.uc_dropped.reset.next = self.reset.val();
        self.answers_dropped.reset.next = self.reset.val();
        self.early_requests.reset.next = self.reset.val();
        self.stale_answers.reset.next = self.reset.val();
        self.accepted_packets.reset.next = self.reset.val();
        self.raw_frames.reset.next = self.reset.val();
        self.raw_dropped.reset.next = self.reset.val();
        self.raw_sent.reset.next = self.reset.val();
        self.tx_turned.reset.next = self.reset.val();
        self.rx_closed.reset.next = self.reset.val();

        self.tx_frames.pulses[0].next = self.tx_frame.val();
        self.pushes.pulses[0].next = self.push.val();
        self.push_fallbacks.pulses[0].next = self.push_fallback.val();
        self.cq_overflows.pulses[0].next = self.cq_overflow.val();
        for i in 0..2 {
            self.uc_dropped.pulses[i].next = self.unreliable_drop[i].val();
            self.dma_errors.pulses[i].next = self.dma_error[i].val();
        }
        self.packets_again.pulses[0].next = self.retransmitted.val();
        self.timeouts.pulses[0].next = self.timeout.val();
        self.rnr_naks.pulses[0].next = self.rnr_nak.val();
        self.duplicates.pulses[0].next = self.duplicate.val();
        self.reads_waiting.pulses[0].next = self.read_waits.val();
        self.cnps_sent.pulses[0].next = self.cnp_sent.val();
        self.cnps_received.pulses[0].next = self.cnp_received.val();
        self.answers_dropped.pulses[0].next = self.answer_dropped.val();
        self.early_requests.pulses[0].next = self.early.val();
        self.stale_answers.pulses[0].next = self.stale.val();
        self.accepted_packets.pulses[0].next = self.accepted.val();
        self.raw_frames.pulses[0].next = self.raw_frame.val();
        self.raw_sent.pulses[0].next = self.raw_departs.val();
        self.tx_turned.pulses[0].next = self.turned.val();
        self.rx_closed.pulses[0].next = self.closed_drop.val();
        for i in 0..3 {
            self.raw_dropped.pulses[i].next = self.raw_drop[i].val();
            self.naks.pulses[i].next = self.nak[i].val();
            self.wrong_pages.pulses[i].next = self.wrong_page[i].val();
        }
        for i in 0..4 {
            self.bad_doorbells.pulses[i].next = self.bad_doorbell[i].val();
        }
        for i in 0..5 {
            self.strangers.pulses[i].next = self.unwanted[i].val();
        }

        self.values[0].next = self.tx_frames.value.val();
        self.values[1].next = 0.into();
        self.values[2].next = self.raw_frames.value.val();
        self.values[3].next = self.raw_dropped.value.val();
        self.values[4].next = self.packets_again.value.val();
        self.values[5].next = self.timeouts.value.val();
        self.values[6].next = self.naks.value.val();
        self.values[7].next = self.rnr_naks.value.val();
        self.values[8].next = self.duplicates.value.val();
        self.values[9].next = self.reads_waiting.value.val();
        self.values[10].next = self.hits.val();
        self.values[11].next = self.misses.val();
        self.values[12].next = self.walks.val();
        self.values[13].next = self.wrong_pages.value.val();
        self.values[14].next = self.bad_doorbells.value.val();
        self.values[15].next = self.pushes.value.val();
        self.values[16].next = self.push_fallbacks.value.val();
        self.values[17].next = self.cq_overflows.value.val();
        self.values[18].next = self.dma_errors.value.val();
        self.values[19].next = self.cnps_sent.value.val();
        self.values[20].next = self.cnps_received.value.val();
        self.values[21].next = self.strangers.value.val();
        self.values[22].next = self.answers_dropped.value.val();
        self.values[23].next = self.early_requests.value.val();
        self.values[24].next = self.stale_answers.value.val();
        self.values[25].next = self.accepted_packets.value.val();
        self.values[26].next = self.tx_turned.value.val();
        self.values[27].next = self.rx_closed.value.val();
        self.values[28].next = self.uc_dropped.value.val();
        self.values[29].next = self.raw_sent.value.val();
    }
}

#[cfg(test)]
mod tests {
    use stroma_abi::regs::map::counters;

    use super::*;
    use crate::testing::{read, verilated};

    /// Registers of a block before its own: type, version, next.
    const HEAD: usize = 3;

    #[test]
    fn each_pulse_counts_in_the_register_of_its_name() {
        let mut bench = verilated("counts", Counts::default);
        let drive = |bench: &mut stroma_verilate::Bench, port: &str, value: u64| {
            let port = bench.model().port(port).expect("a port");
            bench.model_mut().set(port, value);
        };
        let pulses = [
            ("tx_frame", "tx_frames"),
            ("wrong_page$0", "wrong_page"),
            ("wrong_page$1", "wrong_page"),
            ("wrong_page$2", "wrong_page"),
            ("bad_doorbell$0", "bad_doorbells"),
            ("bad_doorbell$1", "bad_doorbells"),
            ("bad_doorbell$2", "bad_doorbells"),
            ("bad_doorbell$3", "bad_doorbells"),
            ("push", "pushes"),
            ("push_fallback", "push_fallbacks"),
            ("cq_overflow", "cq_overflows"),
            ("dma_error$0", "dma_errors"),
            ("dma_error$1", "dma_errors"),
            ("retransmitted", "retransmitted"),
            ("timeout", "timeouts"),
            ("nak$0", "naks"),
            ("nak$1", "naks"),
            ("nak$2", "naks"),
            ("rnr_nak", "rnr_naks"),
            ("duplicate", "duplicates"),
            ("read_waits", "reads_waiting"),
            ("cnp_sent", "cnps_sent"),
            ("cnp_received", "cnps_received"),
            ("unwanted$0", "rx_unwanted"),
            ("unwanted$1", "rx_unwanted"),
            ("unwanted$2", "rx_unwanted"),
            ("unwanted$3", "rx_unwanted"),
            ("unwanted$4", "rx_unwanted"),
            ("unreliable_drop$0", "uc_dropped"),
            ("unreliable_drop$1", "uc_dropped"),
            ("answer_dropped", "answers_dropped"),
            ("early", "out_of_sequence"),
            ("stale", "answers_stale"),
            ("accepted", "rx_accepted"),
            ("raw_frame", "raw_frames"),
            ("raw_drop$0", "raw_dropped"),
            ("raw_drop$1", "raw_dropped"),
            ("raw_drop$2", "raw_dropped"),
            ("raw_departs", "raw_sent"),
            ("turned", "tx_turned"),
            ("closed_drop", "rx_closed"),
        ];
        for (port, _) in pulses {
            drive(&mut bench, port, 0);
        }
        let shown = [("hits", "tlb_hits", 7), ("misses", "tlb_misses", 8), ("walks", "tlb_walks", 9)];
        for (port, _, value) in shown {
            drive(&mut bench, port, value);
        }
        bench.reset(2);
        let names: Vec<&str> = counters::BLOCK.regs[HEAD..].iter().map(|reg| reg.name).collect();
        assert_eq!(names.len(), COUNTS);
        let mut expected = vec![0_u64; COUNTS];
        let place = |name: &str| names.iter().position(|known| *known == name).expect("a register");
        for (_, register, value) in shown {
            expected[place(register)] = value;
        }
        for (port, register) in pulses {
            drive(&mut bench, port, 1);
            bench.step();
            drive(&mut bench, port, 0);
            bench.run(2);
            expected[place(register)] += 1;
            let values: Vec<u64> =
                (0..COUNTS).map(|at| u64::from(read::<Bits<64>>(&bench, &format!("values${at}")))).collect();
            assert_eq!(values, expected, "{port}");
        }
    }
}
