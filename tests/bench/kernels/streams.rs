//! Kernels that data pass through, against WRITEs of the same data.

use std::collections::BTreeSet;

use stroma_abi::kernel::shuffle::{Buffer, Shuffle};
use stroma_kernel_client::Call;
use stroma_kernel_client::hyperloglog::{self, Sketch};
use stroma_kernel_client::shuffle::{self as client, Shuffled, Table};
use stroma_tests::pair::pattern;

use super::stage::{PROFILE, Stage, microseconds};
use crate::rate::number;
use crate::report::{Metric, Report};

const MIB: usize = 1 << 20;
/// Where the parameters of a stream stand in the caller's memory, before its data.
const PARAMETERS: usize = 0;
const DATA: usize = 4096;
/// Where partitions begin in far memory, behind the table.
const BUFFERS: usize = 1 << 16;

/// What is sent: so many messages of so many bytes, at one doorbell.
#[derive(Clone, Copy)]
struct Stream {
    size: usize,
    count: usize,
}

impl Stream {
    /// WRITEs of the data, to offset [`BUFFERS`]; cycles from the doorbell to the last completion.
    fn write(self, stage: &Stage) -> u64 {
        stage.time(|| {
            let batch = (0..self.count).fold(stage.ends[0].start(), |batch, index| {
                let piece = [stage.near(DATA + index * self.size % MIB, self.size)];
                let to = stage.at(BUFFERS + index * self.size % MIB);
                batch.wr_id(index as u64).signaled().write(&piece, to, stage.key())
            });
            batch.post().expect("room in the queue");
            stage.finish(self.count);
        })
    }

    /// The same through a kernel; `calls` makes the request of each message.
    fn through<C: Call>(self, stage: &Stage, calls: &[C]) -> Vec<Option<u32>> {
        let room = PARAMETERS;
        let words: Vec<u8> = calls.iter().flat_map(|call| call.parameters().as_bytes().to_vec()).collect();
        stage.put(0, room, &words);
        let each = words.len() / calls.len();
        let batch = calls.iter().enumerate().fold(stage.ends[0].start(), |batch, (index, call)| {
            let pieces = [
                stage.near(room + index * each, each),
                stage.near(DATA + index * self.size % MIB, self.size),
            ];
            let batch = batch.wr_id(index as u64).signaled();
            batch.rpc_write(stage.near(room, 0), &call.target(), stage.key(), &pieces)
        });
        batch.post().expect("room in the queue");
        stage.finish(calls.len())
    }
}

/// Tuples of 8 bytes; those of one partition each, or all of the first.
fn tuples(is_uniform: bool) -> Vec<u8> {
    let mut bytes = pattern(5, MIB);
    if !is_uniform {
        bytes.chunks_mut(8).for_each(|tuple| tuple[..2].fill(0));
    }
    bytes
}

/// A table of buffers that are large enough, in far memory.
fn buffers(stage: &Stage, partitions_log: u8, data: &[u8], count: usize) -> Vec<Buffer> {
    let mut place = BUFFERS;
    let mut sizes = vec![0; 1 << partitions_log];
    data.chunks(8).for_each(|tuple| sizes[partition(tuple, partitions_log)] += 8 * count);
    let table: Vec<Buffer> = sizes
        .iter()
        .map(|size: &usize| {
            let capacity = size.next_multiple_of(256);
            let address = stage.at(place);
            place += capacity;
            Buffer { address, capacity: u32::try_from(capacity).expect("a few MiB"), used: 0 }
        })
        .collect();
    stage.put(1, 0, &Table::of(table.clone()).to_bytes());
    table
}

fn partition(tuple: &[u8], partitions_log: u8) -> usize {
    usize::from(u16::from_le_bytes([tuple[0], tuple[1]])) & ((1 << partitions_log) - 1)
}

/// Every tuple is where it belongs, in the order of the stream.
fn check(stage: &Stage, table: &[Buffer], data: &[u8], count: usize) {
    let log = u8::try_from(table.len().ilog2()).expect("few");
    let mut expected = vec![Vec::<u8>::new(); table.len()];
    for _ in 0..count {
        data.chunks(8).for_each(|tuple| expected[partition(tuple, log)].extend(tuple));
    }
    for (buffer, expected) in table.iter().zip(&expected) {
        let found = stage.bytes(1, stage.offset(buffer.address), expected.len());
        assert!(found == *expected, "a partition of {} bytes", expected.len());
    }
}

/// Messages of 1 MiB into 16, 256 and 1024 partitions. In a row, as a transfer of many MiB has them, the end of one is hidden behind the
/// next; one alone shows it: a write for each partition, of what is left in its row. Equal keys, of which a bank takes one a cycle, take
/// their time, and are sent once.
pub(crate) fn shuffle(report: &mut Report) {
    let stage = Stage::new(8 * MIB);
    for (is_uniform, count, suffix) in [(true, 4, ""), (true, 1, ".alone"), (false, 1, ".equal")] {
        let stream = Stream { size: MIB, count };
        let write = stream.write(&stage);
        let how =
            format!("{count} of 1 MiB at one doorbell; doorbell to last completion, start and end included");
        if is_uniform {
            let name = format!("shuffle.write.1MiB{suffix}");
            report.add(&name, Metric::Latency, microseconds(write), PROFILE, &how);
        }
        let keys = if is_uniform { "uniform" } else { "equal" };
        let how = format!("cycles of WRITEs over those of shuffles; tuples of 8 bytes, {keys} keys; {how}");
        let data = tuples(is_uniform);
        stage.put(0, DATA, &data);
        for log in [4, 8, 10] {
            report
                .progress
                .doing(format!("shuffle of {count} MiB into {} partitions, {keys} keys", 1 << log));
            let cycles = shuffled(&stage, stream, log, &data);
            let name = format!("shuffle.ratio.1MiB.p{}{suffix}", 1 << log);
            report.add(&name, Metric::Ratio, number(write) / number(cycles), PROFILE, &how);
        }
    }
}

/// Cycles of a stream into so many partitions, where every tuple then is.
fn shuffled(stage: &Stage, stream: Stream, partitions_log: u8, data: &[u8]) -> u64 {
    let call: Shuffle = client::parameters(stage.at(0), partitions_log, 0, false).expect("parameters");
    let mut table = Vec::new();
    let cycles = stage.time(|| {
        table = buffers(stage, partitions_log, data, stream.count);
        for status in stream.through(stage, &vec![call; stream.count]) {
            assert_eq!(call.answer(status.expect("an RPC"), &[]), Ok(Shuffled::All));
        }
    });
    check(stage, &table, data, stream.count);
    cycles
}

/// Messages of 64 KiB that are counted as they go to memory.
pub(crate) fn hyperloglog(report: &mut Report) {
    const STREAM: Stream = Stream { size: 65_536, count: 32 };
    const SKETCH: u64 = 77;
    let stage = Stage::new(2 * MIB);
    let data = pattern(6, MIB);
    let write = STREAM.write(&stage);
    let how = "32 messages of 64 KiB at one doorbell; doorbell to last completion, start and end included";
    for item in [4, 8] {
        stage.call(&hyperloglog::clear(SKETCH));
        // The answer with the registers lies where the data were.
        stage.put(0, DATA, &data);
        let cycles = stage.time(|| {
            let tasks: Vec<_> = (0..STREAM.count)
                .map(|index| hyperloglog::count(SKETCH, item, stage.at(BUFFERS + index * STREAM.size % MIB)))
                .map(|task| task.expect("a size of items"))
                .collect();
            let statuses = STREAM.through(&stage, &tasks);
            assert!(statuses.iter().all(|status| *status == Some(0)), "{statuses:?}");
        });
        let sketch = stage.call(&hyperloglog::read(SKETCH));
        let mut software = Sketch::default();
        let items: BTreeSet<&[u8]> = data.chunks(item.into()).collect();
        for item in items {
            software.insert(item);
        }
        assert_eq!(sketch, software, "registers as software has them");
        assert!(stage.bytes(1, BUFFERS, MIB) == data, "data unchanged");
        let suffix = if item == 8 { String::new() } else { format!(".item{item}") };
        let how = format!("cycles of the WRITEs over those with the count; items of {item} bytes; {how}");
        let name = format!("hyperloglog.ratio.64KiB{suffix}");
        report.add(&name, Metric::Ratio, number(write) / number(cycles), PROFILE, &how);
    }
}
