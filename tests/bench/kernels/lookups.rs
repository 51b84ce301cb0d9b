//! The value of a key in a hash table of the far host.

use stroma_abi::kernel::get::{BUCKET_LEN, BucketEntry, ObjectHead};
use stroma_kernel_client::get::{Lookup, Shape, Table, fingerprint, hash};
use stroma_tests::pair::pattern;

use super::baseline::{CPU_NS, message};
use super::stage::{PROFILE, Stage, microseconds};
use crate::rate::number;
use crate::report::{Metric, Report};

const KEY: &[u8] = b"the key that is sought";
const VALUE: usize = 64;
/// Bytes of the table, and of its chains.
const TABLE: usize = 1 << 16;
const LOG_BUCKETS: u32 = 6;

/// A table with the key among others, in far memory.
fn table(stage: &Stage) -> Shape {
    let mut bytes = vec![0; TABLE];
    let base = stage.at(0);
    let mut table = Table::new(&mut bytes, base, LOG_BUCKETS, 16).expect("room for the buckets");
    for other in 0..40_u64 {
        table.insert(&other.to_le_bytes(), &pattern(other, VALUE)).expect("room");
    }
    table.insert(KEY, &pattern(99, VALUE)).expect("room");
    stage.put(1, 0, &bytes);
    Shape { base, log_buckets: LOG_BUCKETS }
}

/// The bucket, then the object that it names.
fn by_reads(stage: &Stage, shape: &Shape) -> Vec<u8> {
    let hash = hash(KEY);
    let bucket = stage.read(shape.bucket(hash), 0, BUCKET_LEN);
    let entries = bucket.chunks(BucketEntry::LEN).filter_map(BucketEntry::parse);
    let mut fitting = entries.filter(|entry| entry.fingerprint == fingerprint(hash));
    let entry = fitting.next().expect("the key is in the first bucket of its chain");
    let object = stage.read(entry.address, BUCKET_LEN, entry.length as usize);
    let key = &object[ObjectHead::LEN..][..KEY.len()];
    assert_eq!(key, KEY, "the object of the key");
    object[object.len() - VALUE..].to_vec()
}

/// Kernel, two READs, and a message.
pub(crate) fn measure(report: &mut Report) {
    let stage = Stage::new(1 << 21);
    let shape = table(&stage);
    let call = Lookup { request: shape.request(KEY, 4).expect("a key"), value_max: 1024 };
    let expected = pattern(99, VALUE);
    let kernel = stage.time(|| assert_eq!(stage.call(&call).as_ref(), Some(&expected)));
    let reads = stage.time(|| assert_eq!(by_reads(&stage, &shape), expected));
    let messages = stage.time(|| assert_eq!(message(&stage, || expected.clone()), expected));
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
