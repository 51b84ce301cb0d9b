use rust_hdl::prelude::Bits;
use stroma_hw::testing::{read, verilated};
use stroma_verilate::{Bench, SplitMix64};

use super::{INTERVAL, Settings};

fn set(bench: &mut Bench, name: &str, value: u64) {
    let port = bench.model().port(name).expect("a port");
    bench.model_mut().set(port, value);
}

fn get(bench: &Bench, name: &str) -> u64 {
    bench.model().get(bench.model().port(name).expect("a port"))
}

/// The hard block's way to its configuration space: answers some cycles after it was asked, or never.
struct Space {
    bench: Bench,
    control: u64,
    delay: Option<u64>,
    asked: u64,
    reads: u64,
}

impl Space {
    fn new() -> Self {
        let mut bench = verilated("settings", Settings::default);
        bench.reset(2);
        Self { bench, control: 0, delay: Some(4), asked: 0, reads: 0 }
    }

    fn step(&mut self) {
        assert_eq!(get(&self.bench, "cfg_mgmt_addr"), 0x78 / 4, "Device Control, in dwords");
        assert_eq!(get(&self.bench, "cfg_mgmt_function_number"), 0, "there is one function");
        assert!(!read::<bool>(&self.bench, "cfg_mgmt_write"));
        let is_asked = read::<bool>(&self.bench, "cfg_mgmt_read");
        self.asked = if is_asked { self.asked + 1 } else { 0 };
        let is_done = is_asked && self.delay.is_some_and(|delay| self.asked == delay);
        self.reads += u64::from(is_done);
        set(&mut self.bench, "cfg_mgmt_read_write_done", is_done.into());
        // What is on the bus without `done` means nothing.
        set(
            &mut self.bench,
            "cfg_mgmt_read_data",
            if is_done { self.control } else { !self.control & 0xffff_ffff },
        );
        self.bench.step();
    }

    fn tags(&self) -> bool {
        read(&self.bench, "extended_tags")
    }
}

#[test]
fn lengths_and_master_follow_the_pins() {
    let mut space = Space::new();
    let mut rng = SplitMix64::new(1);
    for code in 0..300 {
        let (payload, request, status) = (code % 4, code / 4 % 8, rng.below(0x10000));
        set(&mut space.bench, "cfg_max_payload", payload);
        set(&mut space.bench, "cfg_max_read_req", request);
        set(&mut space.bench, "cfg_function_status", status);
        space.step();
        let payload_log = u64::from((128_u64 << payload).ilog2());
        let read_log = u64::from(if request < 6 { (128_u64 << request).ilog2() } else { 7 });
        assert_eq!(get(&space.bench, "max_payload_log"), payload_log);
        assert_eq!(get(&space.bench, "max_read_log"), read_log);
        assert_eq!(read::<bool>(&space.bench, "is_master"), status & 4 != 0);
    }
}

#[test]
fn tags_follow_device_control() {
    let mut space = Space::new();
    let mut rng = SplitMix64::new(2);
    let within = 2 * (INTERVAL as u64 + 1) + 16;
    for round in 0..20 {
        let allows = round % 3 != 0;
        space.control = (rng.below(1 << 32) & !0x100) | u64::from(allows) << 8;
        space.delay = Some(1 + rng.below(12));
        for _ in 0..within {
            space.step();
        }
        assert_eq!(space.tags(), allows);
    }
    assert!(space.reads >= 20);
}

#[test]
fn a_block_that_does_not_answer_is_asked_again() {
    let mut space = Space::new();
    space.control = 0x100;
    for _ in 0..2100 {
        space.step();
    }
    assert!(space.tags());
    space.delay = None;
    space.control = 0;
    let mut times = 0;
    let mut was_asked = true;
    for _ in 0..20_000 {
        space.step();
        let is_asked = read::<bool>(&space.bench, "cfg_mgmt_read");
        times += u32::from(is_asked && !was_asked);
        was_asked = is_asked;
        assert!(space.tags(), "what it said before holds");
    }
    assert!((8..12).contains(&times), "{times} times");
    space.delay = Some(4);
    for _ in 0..2100 {
        space.step();
    }
    assert!(!space.tags());
}

#[test]
fn there_are_1024_cycles_between_two_reads_and_as_many_for_an_answer() {
    for (delay, asks) in [(Some(1), 1), (Some(12), 12), (None, 1024)] {
        let mut space = Space::new();
        space.delay = delay;
        let mut levels = Vec::new();
        for _ in 0..5000 {
            space.step();
            levels.push(read::<bool>(&space.bench, "cfg_mgmt_read"));
        }
        let runs: Vec<usize> = levels.chunk_by(|before, now| before == now).map(<[bool]>::len).collect();
        assert_eq!(runs[1..4], [asks, 1024, asks], "an answer after {delay:?}");
    }
}

#[test]
fn reset_forgets_everything() {
    let mut space = Space::new();
    set(&mut space.bench, "cfg_max_payload", 3);
    set(&mut space.bench, "cfg_max_read_req", 5);
    set(&mut space.bench, "cfg_function_status", 0xffff);
    space.control = 0x100;
    for _ in 0..2100 {
        space.step();
    }
    let shown = |bench: &Bench| {
        let logs = [read::<Bits<4>>(bench, "max_payload_log"), read::<Bits<4>>(bench, "max_read_log")];
        (logs, read::<bool>(bench, "extended_tags"), read::<bool>(bench, "is_master"))
    };
    assert_eq!(shown(&space.bench), ([10.into(), 12.into()], true, true));
    space.bench.reset(1);
    assert_eq!(shown(&space.bench), ([7.into(), 7.into()], false, false));
    assert!(!read::<bool>(&space.bench, "cfg_mgmt_read"));
}
