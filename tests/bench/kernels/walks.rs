//! A linked list in the far host's memory, walked to its n-th element.

use stroma_sim::host::timing::Timing;
use stroma_tests::far::List;

use super::baseline::{CPU_NS, message};
use super::stage::{PROFILE, Stage, microseconds};
use crate::rate::number;
use crate::report::{Metric, Report};

/// Elements from the head on.
const LENGTHS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// Three ways to the n-th element.
pub(crate) fn measure(report: &mut Report) {
    let stage = Stage::new(1 << 21);
    let list = List::new(&stage, LENGTHS[LENGTHS.len() - 1]);
    let mut kernels = Vec::new();
    for length in LENGTHS {
        let check = |found: Vec<u8>| assert!(found == list.value(length), "the value of element {length}");
        let kernel = stage.time(|| check(list.by_kernel(length)));
        let reads = stage.time(|| check(list.by_reads(length)));
        let messages = stage.time(|| check(message(&stage, || list.by_software(length))));
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
