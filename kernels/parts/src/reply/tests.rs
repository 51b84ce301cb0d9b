//! Answers of every length, against what was asked for.

use stroma_hw::differential;
use stroma_hw::slot::SlotResponse;
use stroma_hw::stream::{Beat, beats};
use stroma_hw::testing::{collect, read, stalls, verilated};
use stroma_hw::verilog::differential::assert_agree;
use stroma_verilate::{Bench, Pause, SinkId, SplitMix64};

use super::Reply;

/// Cycles within which an answer is over, however its streams pause.
const LIMIT: u64 = 1000;

/// What is to be answered.
struct Asked {
    ticket: u64,
    ending: u64,
    status: u64,
    bytes: Vec<u8>,
}

/// The block, and what comes out of it.
struct Bed {
    bench: Bench,
    data_out: SinkId,
    response: SinkId,
}

impl Bed {
    fn new<const D: usize>() -> Self {
        let mut bench = verilated(&format!("reply_{D}"), Reply::<D>::default);
        let [data_out, response] =
            ["data_out", "response"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        Self { bench, data_out, response }
    }

    fn set(&mut self, port: &str, value: u64) {
        let port = self.bench.model().port(port).expect("the port exists");
        self.bench.model_mut().set(port, value);
    }

    fn begin(&mut self, asked: &Asked) {
        let mut block = asked.bytes.clone();
        block.resize(64, 0);
        let word = |word: &[u8]| u32::from_le_bytes(word.try_into().expect("four bytes"));
        let words: Vec<u32> = block.chunks(4).map(word).collect();
        let data = self.bench.model().port("data").expect("the port exists");
        self.bench.model_mut().set_wide(data, &words);
        let len = asked.bytes.len() as u64;
        let numbers =
            [("ticket", asked.ticket), ("ending", asked.ending), ("status", asked.status), ("len", len)];
        for (port, value) in numbers {
            self.set(port, value);
        }
        self.set("begins", 1);
        self.bench.step();
        self.set("begins", 0);
    }

    /// Holds what comes against what was asked for. The cycles that it took.
    fn expect<const D: usize>(&mut self, asked: &Asked) -> u64 {
        let start = self.bench.cycle();
        let idle = |bench: &Bench| read::<bool>(bench, "is_idle");
        self.bench.run_until(idle, LIMIT).unwrap_or_else(|error| panic!("{error}"));
        let status = match asked.ending {
            0 => asked.status,
            1 => 2,
            _ => 6,
        };
        let bytes = if status == 0 { &asked.bytes[..] } else { &[] };
        let expected = if bytes.is_empty() { Vec::new() } else { beats::<D>(bytes) };
        assert_eq!(collect::<Beat<D>>(&mut self.bench, self.data_out), expected);
        let response = SlotResponse {
            ticket: asked.ticket.into(),
            status: status.into(),
            len: (bytes.len() as u64).into(),
        };
        assert_eq!(collect::<SlotResponse>(&mut self.bench, self.response), [response]);
        self.bench.cycle() - start
    }
}

fn asked(rng: &mut SplitMix64, len: usize) -> Asked {
    let mut one_of = |choices: [u64; 4]| choices[usize::try_from(rng.below(4)).expect("small")];
    let (ending, status) = (one_of([0, 0, 1, 2]), one_of([0, 0, 0, 0x101]));
    let bytes = (0..len).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
    Asked { ticket: rng.below(16), ending, status, bytes }
}

fn every_length<const D: usize>() {
    let mut bed = Bed::new::<D>();
    let mut rng = SplitMix64::new(1);
    for (data_out, response) in stalls() {
        let (at_data, at_response) = (bed.data_out, bed.response);
        bed.bench[at_data].pause(data_out);
        bed.bench[at_response].pause(response);
        for len in 0..=64 {
            let asked = asked(&mut rng, len);
            bed.begin(&asked);
            bed.expect::<D>(&asked);
        }
    }
}

#[test]
fn every_length_comes_whole_under_stalls_and_failures_bring_no_bytes() {
    every_length::<64>();
    every_length::<512>();
}

#[test]
fn an_answer_takes_a_cycle_a_beat_and_two_more() {
    let asked = |len| Asked { ticket: 3, ending: 0, status: 0, bytes: vec![7; len] };
    let (mut narrow, mut wide) = (Bed::new::<64>(), Bed::new::<512>());
    for (len, beats) in [(0, [0, 0]), (1, [1, 1]), (8, [1, 1]), (9, [2, 1]), (16, [2, 1]), (64, [8, 1])] {
        narrow.begin(&asked(len));
        wide.begin(&asked(len));
        assert_eq!(
            [narrow.expect::<64>(&asked(len)), wide.expect::<512>(&asked(len))],
            beats.map(|beats| beats + 1)
        );
    }
}

#[test]
fn recovers_from_reset() {
    let mut bed = Bed::new::<64>();
    let mut rng = SplitMix64::new(2);
    for cycles in 0..12 {
        let before = Asked { ticket: 1, ending: 0, status: 0, bytes: vec![1; 64] };
        let (data_out, response) = (bed.data_out, bed.response);
        bed.bench[response].pause(Pause::Always);
        bed.begin(&before);
        bed.bench.run(cycles);
        bed.bench.reset(1);
        bed.bench[response].pause(Pause::None);
        bed.bench[data_out].take();
        let after = asked(&mut rng, 20);
        bed.begin(&after);
        bed.expect::<64>(&after);
    }
}

#[test]
fn rust_and_verilog_agree() {
    let cases = [
        differential!(
            "reply_64",
            Reply::<64>::default,
            clock,
            [reset, begins, ticket, ending, status, len, data, data_out.ready, response.ready]
        ),
        differential!(
            "reply_512",
            Reply::<512>::default,
            clock,
            [reset, begins, ticket, ending, status, len, data, data_out.ready, response.ready]
        ),
    ];
    assert_agree(cases, 300);
}
