//! A linked list in the far host's memory, walked to its n-th element.

use stroma_abi::kernel::traversal::Traversal;
use stroma_sim::host::timing::Timing;
use stroma_tests::pair::pattern;

use super::baseline::{CPU_NS, message};
use super::stage::{PROFILE, Stage, microseconds};
use crate::rate::number;
use crate::report::{Metric, Report};

/// Elements from the head on.
const LENGTHS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Bytes from an element to the next: none is in the cache line of another.
const STEP: usize = 4096;
/// Bytes of an element that a walk reads: key, pointer to the next, pointer to the value.
const ELEMENT: usize = 24;
const VALUE: usize = 64;
const VALUES: usize = 1 << 18;

/// Lays the list down; the values behind its keys.
fn list(stage: &Stage) -> Vec<u8> {
    let most = LENGTHS[LENGTHS.len() - 1];
    let values = pattern(3, most * VALUE);
    stage.put(1, VALUES, &values);
    for at in 0..most {
        let following = if at + 1 < most { stage.at((at + 1) * STEP) } else { 0 };
        let words = [at as u64 + 1, following, stage.at(VALUES + at * VALUE)];
        stage.put(1, at * STEP, &words.map(u64::to_le_bytes).concat());
    }
    values
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at * 8..].first_chunk().expect("a word"))
}

/// Element by element, then the value.
fn by_reads(stage: &Stage, key: u64) -> Vec<u8> {
    let mut element = stage.read(stage.at(0), 0, ELEMENT);
    while word(&element, 0) != key {
        element = stage.read(word(&element, 1), 0, ELEMENT);
    }
    stage.read(word(&element, 2), 0, VALUE)
}

/// As the far host's program does it.
fn by_software(stage: &Stage, key: u64) -> Vec<u8> {
    let mut element = stage.bytes(1, 0, ELEMENT);
    while word(&element, 0) != key {
        element = stage.bytes(1, stage.offset(word(&element, 1)), ELEMENT);
    }
    stage.bytes(1, stage.offset(word(&element, 2)), VALUE)
}

fn by_kernel(stage: &Stage, key: u64) -> Vec<u8> {
    let walk = Traversal {
        root: stage.at(0),
        sought: key,
        mask: u64::MAX,
        value_length: u32::try_from(VALUE).expect("small"),
        hop_limit: 1000,
        key_words: 1,
        element_words: 3,
        next_at: 1,
        value_at: 2,
        ..Traversal::default()
    };
    stage.call(&walk).expect("the key is there")
}

/// Three ways to the n-th element.
pub(crate) fn measure(report: &mut Report) {
    let stage = Stage::new(1 << 21);
    let values = list(&stage);
    let mut kernels = Vec::new();
    for length in LENGTHS {
        let key = length as u64;
        let expected = &values[(length - 1) * VALUE..][..VALUE];
        let check = |found: Vec<u8>| assert!(found == expected, "the value of element {length}");
        let kernel = stage.time(|| check(by_kernel(&stage, key)));
        let reads = stage.time(|| check(by_reads(&stage, key)));
        let messages = stage.time(|| check(message(&stage, || by_software(&stage, key))));
        let how = format!("list of {length}, value of 64 bytes; post to completion in memory; idle cards");
        let mut add = |way: &str, cycles: u64, how: &str| {
            let name = format!("traversal.{way}.{length}");
            report.add(&name, Metric::Latency, microseconds(cycles), PROFILE, how);
        };
        add("kernel", kernel, &how);
        add("reads", reads, &format!("{how}; {} READs, each when the one before has completed", length + 1));
        add("rpc", messages, &format!("{how}; SEND, {CPU_NS} ns of the far processor, SEND back"));
        if length == 8 {
            let how = "READ chain over kernel, list of 8";
            report.add("traversal.speedup.8", Metric::Ratio, number(reads) / number(kernel), PROFILE, how);
        }
        kernels.push(kernel);
    }
    let hops = number((LENGTHS[LENGTHS.len() - 1] - LENGTHS[0]) as u64);
    let hop = number(kernels[kernels.len() - 1] - kernels[0]) / hops;
    let read = Timing::cycles(Timing::ALVEO_GEN3X16.read_ns, PROFILE.clock_khz());
    let how =
        format!("cycles of a further hop above the {read} of the host's read; from walks of 1 and of 32");
    report.add("traversal.hop_overhead", Metric::Cycles, hop - number(read), PROFILE, &how);
}
