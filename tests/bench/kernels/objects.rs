//! An object that carries its CRC, read while its owner may be changing it.

use stroma_kernel_client::Call;
use stroma_kernel_client::consistency::{check, request, seal};
use stroma_tests::pair::pattern;

use super::baseline::CRC_NS_PER_KIB;
use super::stage::{PROFILE, Stage, microseconds};
use crate::rate::number;
use crate::report::{Metric, Report};

/// Bytes of an object with its CRC.
const SIZES: [(usize, &str); 4] = [(64, "64B"), (256, "256B"), (1024, "1KiB"), (4096, "4KiB")];
/// One of so many objects is torn when it is asked for; 0: none.
const TORN: [(usize, &str); 3] = [(0, "0"), (16, "1in16"), (4, "1in4")];
/// Objects of a figure.
const TRIALS: usize = 16;
/// When a torn object is whole: behind the first look at it, and before the second, whoever looks.
const REPAIR_NS: u64 = 2600;
/// Bytes of the CRC.
const TRAILER: usize = 8;

/// An object in far memory.
struct Object {
    /// As it should be.
    whole: Vec<u8>,
    is_torn: bool,
}

impl Object {
    fn new(size: usize, seed: u64, is_torn: bool) -> Self {
        let mut whole = pattern(seed, size - TRAILER);
        seal(&mut whole).expect("a length that the kernel knows");
        Self { whole, is_torn }
    }

    /// Lays it down as it is found.
    fn begin(&self, stage: &Stage) {
        let mut found = self.whole.clone();
        found[0] ^= u8::from(self.is_torn);
        stage.put(1, 0, &found);
    }

    /// Its owner goes on, if it has to: called right behind a post.
    fn repair(&self, stage: &Stage) {
        if self.is_torn {
            stage.think(REPAIR_NS);
            stage.put(1, 0, &self.whole);
        }
    }

    fn content(&self) -> &[u8] {
        &self.whole[..self.whole.len() - TRAILER]
    }
}

fn by_kernel(stage: &Stage, object: &Object) {
    let call = request(stage.at(0), object.content().len(), 100, 0).expect("a length that the kernel knows");
    let batch = stage.ends[0].start().wr_id(1).signaled();
    let room = stage.near(0, call.response_max() as usize);
    let key = stage.key();
    batch.rpc(room, &call.target(), key, call.parameters()).post().expect("room in the queue");
    object.repair(stage);
    let found = stage.pair.ends[0].expect(1);
    let answer = call.answer(found.rpc.expect("an RPC"), &stage.bytes(0, 0, found.length as usize));
    let answer = answer.unwrap_or_else(|error| panic!("{error}"));
    assert!(answer.expect("it settles") == object.content());
}

fn by_reads(stage: &Stage, object: &Object) {
    let size = object.whole.len();
    for attempt in 0.. {
        let batch = stage.ends[0].start().wr_id(2).signaled();
        let batch = batch.read(&[stage.near(0, size)], stage.at(0), stage.key());
        batch.post().expect("room in the queue");
        if attempt == 0 {
            object.repair(stage);
        }
        stage.pair.ends[0].expect(2);
        stage.think(size as u64 * CRC_NS_PER_KIB / 1024);
        if let Some(content) = check(&stage.bytes(0, 0, size)) {
            assert!(content == object.content());
            return;
        }
    }
}

/// Mean cycles of all trials.
fn mean(stage: &Stage, size: usize, torn: usize, look: fn(&Stage, &Object)) -> u64 {
    let mut cycles = 0;
    for trial in 0..=TRIALS {
        let is_torn = torn != 0 && trial % torn == 1;
        let object = Object::new(size, trial as u64, is_torn);
        object.begin(stage);
        stage.pair.run(1000);
        let start = stage.pair.now();
        look(stage, &object);
        // The first fills the TLBs.
        cycles += if trial == 0 { 0 } else { stage.pair.now() - start };
    }
    cycles / TRIALS as u64
}

/// Kernel against READ and software.
pub(crate) fn measure(report: &mut Report) {
    let stage = Stage::new(1 << 21);
    for (size, size_name) in SIZES {
        for (torn, torn_name) in TORN {
            let kernel = mean(&stage, size, torn, by_kernel);
            let reads = mean(&stage, size, torn, by_reads);
            let how = format!(
                "mean of {TRIALS} objects, post to answer; torn ones are whole {REPAIR_NS} ns behind the post; idle cards"
            );
            let name = |way: &str| format!("consistency.{way}.{size_name}.{torn_name}");
            report.add(&name("kernel"), Metric::Latency, microseconds(kernel), PROFILE, &how);
            let how =
                format!("{how}; READ, CRC in software at {CRC_NS_PER_KIB} ns a KiB, again if it is wrong");
            report.add(&name("reads"), Metric::Latency, microseconds(reads), PROFILE, &how);
            let how = "READ and software CRC over kernel";
            report.add(&name("speedup"), Metric::Ratio, number(reads) / number(kernel), PROFILE, how);
        }
    }
}
