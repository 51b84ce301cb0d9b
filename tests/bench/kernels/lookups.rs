//! The value of a key in a hash table of the far host.

use stroma_tests::far::Hash;

use super::baseline::{CPU_NS, message};
use super::stage::{PROFILE, Stage, microseconds};
use crate::rate::number;
use crate::report::{Metric, Report};

/// Kernel, two READs, and a message.
pub(crate) fn measure(report: &mut Report) {
    let stage = Stage::new(1 << 21);
    let table = Hash::new(&stage);
    let check = |found: Vec<u8>| assert!(found == Hash::value(), "the value of the key");
    let kernel = stage.time(|| check(table.by_kernel()));
    let reads = stage.time(|| check(table.by_reads()));
    let messages = stage.time(|| check(message(&stage, Hash::value)));
    let how = "value of 64 bytes, in the first bucket of its chain; post to completion in memory; idle cards";
    let mut add = |name: &str, cycles: u64, how: &str| {
        report.add(name, Metric::Latency, microseconds(cycles), PROFILE, how);
    };
    add("get.kernel.64B", kernel, how);
    add("get.reads.64B", reads, &format!("{how}; READ of the bucket, then READ of the object"));
    add("get.rpc.64B", messages, &format!("{how}; SEND, {CPU_NS} ns of the far processor, SEND back"));
    let how = "two READs over kernel";
    report.add("get.speedup", Metric::Ratio, number(reads) / number(kernel), PROFILE, how);
}
