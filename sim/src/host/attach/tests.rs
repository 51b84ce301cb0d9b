//! The DMA engines against the host they are made for.

use rust_hdl::prelude::Block;
use stroma_hw::host::dma_read::{DmaRead, ReadCommand, ReadData};
use stroma_hw::host::dma_write::{DmaWrite, WriteCommand};
use stroma_hw::stream::beats;
use stroma_hw::verilog::emit;
use stroma_top::Profile;
use stroma_verilate::{Model, Options, SourceId, SplitMix64, Verilog};

use super::*;
use crate::host::timing::Timing;

const IOVA: u64 = 0x4000_0000;
const ADDRESS: u64 = 0x9000_0000;
const ROOM: u64 = 1 << 20;

fn verilated<B: Block>(name: &str, build: impl FnOnce() -> B + Send) -> Bench {
    let rtl = emit(name, build).unwrap_or_else(|error| panic!("{error}"));
    let design = Verilog::new(rtl.text.clone(), &rtl.manifest()).expect("our own manifest parses");
    let model = Model::load_with(&design, &Options { seed: 3, ..Options::default() });
    Bench::new(model.unwrap_or_else(|error| panic!("{error}"))).expect("it has a clock")
}

struct Rig<const D: usize, const K: usize> {
    bench: Bench,
    host: Writes<D, K>,
    port: Port,
    command: SourceId,
    data: SourceId,
}

impl<const D: usize, const K: usize> Rig<D, K> {
    fn new(profile: Profile) -> Self {
        let mut bench = verilated("dma_write", DmaWrite::<D, K>::default);
        let host = Writes::attach(&mut bench).expect("it has the channels");
        let (command, data) =
            (bench.source("command").expect("a port"), bench.source("data").expect("a port"));
        bench.sink("failed").expect("a port");
        bench.reset(3);
        let mut port = Port::new(Timing::ALVEO_GEN3X16, D, profile.clock_khz(), 5);
        port.iommu.map(IOVA, ADDRESS, ROOM, true).expect("whole pages");
        Self { bench, host, port, command, data }
    }

    fn write(&mut self, iova: u64, bytes: &[u8]) {
        let command = WriteCommand { iova: iova.into(), len: (bytes.len() as u64).into() };
        self.bench[self.command].send(command.to_words());
        for beat in beats::<D>(bytes) {
            self.bench[self.data].send(beat.to_words());
        }
    }

    /// Runs until the given ticket is done; the cycle in which it was.
    fn run_until_done(&mut self, ticket: u64) -> u64 {
        let done = self.bench.model().port("done").expect("a port");
        for _ in 0..1_000_000 {
            if self.bench.model().get(done) == ticket {
                return self.bench.cycle();
            }
            self.host.before(&mut self.bench, &mut self.port);
            self.bench.step();
            self.host.after(&mut self.bench, &mut self.port);
        }
        panic!("ticket {ticket} is not done");
    }
}

fn writes_land<const D: usize, const K: usize>(profile: Profile) {
    let mut rig = Rig::<D, K>::new(profile);
    let mut random = SplitMix64::new(11);
    let mut expected = vec![0_u8; usize::try_from(ROOM).expect("a megabyte")];
    for _ in 0..200 {
        let length = usize::try_from(1 + random.below(4096)).expect("small");
        let offset = random.below(ROOM - 4096);
        let bytes: Vec<u8> = (0..length).map(|_| random.next_u64().to_le_bytes()[0]).collect();
        rig.write(IOVA + offset, &bytes);
        let start = usize::try_from(offset).expect("small");
        expected[start..start + length].copy_from_slice(&bytes);
    }
    rig.run_until_done(200);
    assert_eq!(rig.port.memory.read(ADDRESS, expected.len()), expected, "{profile:?}");
    assert_eq!(rig.port.iommu.faults(), [], "{profile:?}");
}

#[test]
fn what_the_engine_writes_is_what_the_host_holds_when_the_ticket_is_done() {
    writes_land::<64, 8>(Profile::TenGig);
    writes_land::<512, 64>(Profile::HundredGig);
}

#[test]
fn a_write_outside_the_map_is_done_and_changes_nothing() {
    let mut rig = Rig::<512, 64>::new(Profile::HundredGig);
    rig.write(IOVA + ROOM, &[0xff; 64]);
    rig.run_until_done(1);
    assert_eq!(rig.port.iommu.faults().len(), 1);
    assert_eq!(rig.port.memory.read(ADDRESS + ROOM, 64), [0; 64]);
}

#[test]
fn long_writes_fill_the_link() {
    let mut rig = Rig::<512, 64>::new(Profile::HundredGig);
    let count: u32 = 64;
    for page in 0..u64::from(count) {
        rig.write(IOVA + page * 4096, &[0x5a; 4096]);
    }
    let started = rig.bench.cycle();
    let cycles = rig.run_until_done(u64::from(count)) - started;
    // 57.6 bytes a cycle is what the link carries; the last write's latency comes on top.
    let latency = Timing::cycles(Timing::ALVEO_GEN3X16.write_ns, Profile::HundredGig.clock_khz());
    let least = u64::from(count) * 40_960 / 576;
    let taken = cycles - latency;
    assert!(least <= taken && taken * 95 <= least * 100, "{taken} cycles, where the link needs {least}");
}

fn reads_arrive<const D: usize, const LOG: usize>(profile: Profile) {
    let mut bench = verilated("dma_read", DmaRead::<D, 2, LOG>::default);
    let host = Reads::<D>::attach(&mut bench).expect("it has the channels");
    let clients = ["command$0", "command$1"].map(|name| bench.source(name).expect("a port"));
    let answers = ["data$0", "data$1"].map(|name| bench.sink(name).expect("a port"));
    bench.reset(3);
    let mut port = Port::new(Timing::ALVEO_GEN3X16, D, profile.clock_khz(), 9);
    port.iommu.map(IOVA, ADDRESS, ROOM, false).expect("whole pages");
    let mut random = SplitMix64::new(21);
    let contents: Vec<u8> = (0..ROOM).map(|_| random.next_u64().to_le_bytes()[0]).collect();
    port.memory.write(ADDRESS, &contents);

    let mut expected = [Vec::new(), Vec::new()];
    for number in 0..100 {
        let (length, offset) = (1 + random.below(4096), random.below(ROOM - 4096));
        let command =
            ReadCommand { iova: (IOVA + offset).into(), len: length.into(), tag: (number % 64_u64).into() };
        let client = usize::from(number % 2 == 1);
        bench[clients[client]].send(command.to_words());
        let start = usize::try_from(offset).expect("small");
        expected[client].extend_from_slice(&contents[start..start + usize::try_from(length).expect("small")]);
    }
    let received = |bench: &Bench, client: usize| -> Vec<u8> {
        let beats = bench[answers[client]].received().iter().map(|words| ReadData::<D>::from_words(words));
        beats.flat_map(|beat| bytes(beat.data).into_iter().take(beat.nbytes.index())).collect()
    };
    let ends = |bench: &Bench, client: usize| {
        let beats = bench[answers[client]].received().iter().map(|words| ReadData::<D>::from_words(words));
        beats.filter(|beat| beat.eop && !beat.err).count()
    };
    while (ends(&bench, 0), ends(&bench, 1)) != (50, 50) {
        assert!(bench.cycle() < 200_000, "{profile:?}: the reads do not come back");
        for _ in 0..500 {
            host.before(&mut bench, &mut port);
            bench.step();
            host.after(&mut bench, &mut port);
        }
    }
    for (client, expected) in expected.iter().enumerate() {
        assert_eq!(received(&bench, client), *expected, "{profile:?} client {client}");
    }
    assert_eq!(port.iommu.faults(), [], "{profile:?}");
}

#[test]
fn what_the_engine_reads_is_what_the_host_holds_in_the_order_it_was_asked() {
    reads_arrive::<64, 9>(Profile::TenGig);
    reads_arrive::<512, 9>(Profile::HundredGig);
}
