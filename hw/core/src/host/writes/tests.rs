use std::collections::VecDeque;

use stroma_verilate::{Bench, SinkId, SourceId, SplitMix64};

use super::Writes;
use crate::host::work::HostWrite;
use crate::stream::{Beat, beats};
use crate::testing::{collect, noise, push, stalls, verilated};

struct Rig<const D: usize> {
    bench: Bench,
    writes: [SourceId; 2],
    data: [SourceId; 2],
    write: SinkId,
    source: SinkId,
    rng: SplitMix64,
}

impl<const D: usize> Rig<D> {
    fn new() -> Self {
        let mut bench = verilated("writes", Writes::<D>::default);
        let source = |bench: &mut Bench, name: String| bench.source(&name).expect("the stream exists");
        let writes = std::array::from_fn(|way| source(&mut bench, format!("writes${way}")));
        let data = std::array::from_fn(|way| source(&mut bench, format!("data${way}")));
        let [write, source] = ["write", "source"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        Self { bench, writes, data, write, source, rng: SplitMix64::new(5) }
    }

    /// Queues a write of some bytes, perhaps of none, and gives it with its beats.
    fn queue(&mut self, way: usize) -> (HostWrite, Vec<Beat<D>>) {
        let len = if self.rng.below(8) == 0 { 0 } else { 1 + self.rng.below(300) };
        let write = HostWrite { len: len.into(), qpn: (way as u64).into(), ..noise(&mut self.rng) };
        let bytes: Vec<u8> = (0..len).map(|_| self.rng.next_u64().to_le_bytes()[0]).collect();
        let packet = if bytes.is_empty() { Vec::new() } else { beats::<D>(&bytes) };
        push(&mut self.bench, self.writes[way], &[write]);
        push(&mut self.bench, self.data[way], &packet);
        (write, packet)
    }

    /// Steps until all has passed; commands and beats as they left.
    fn settle(&mut self) -> (Vec<HostWrite>, Vec<Beat<D>>) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() {
            self.bench.step();
            assert!(self.bench.cycle() < start + 200_000, "stuck");
        }
        self.bench.run(4);
        (collect(&mut self.bench, self.write), collect(&mut self.bench, self.source))
    }
}

fn passes_all<const D: usize>() {
    let mut rig = Rig::<D>::new();
    for (idle, pressure) in stalls() {
        for source in rig.writes.into_iter().chain(rig.data) {
            rig.bench[source].pause(idle.clone());
        }
        for sink in [rig.write, rig.source] {
            rig.bench[sink].pause(pressure.clone());
        }
        let mut queues: [VecDeque<_>; 2] =
            std::array::from_fn(|way| (0..60).map(|_| rig.queue(way)).collect());
        let (commands, data) = rig.settle();
        let mut data = data.into_iter();
        for command in commands {
            let way = usize::try_from(u64::from(command.qpn)).expect("small");
            let (expected, packet) = queues[way].pop_front().expect("as many as were queued");
            assert_eq!(command, expected);
            assert_eq!(
                data.by_ref().take(packet.len()).collect::<Vec<_>>(),
                packet,
                "data in the order of commands"
            );
        }
        assert!(queues.iter().all(VecDeque::is_empty) && data.next().is_none());
    }
}

#[test]
fn commands_and_data_of_both_clients_arrive_in_one_order() {
    passes_all::<64>();
    passes_all::<512>();
}

#[test]
fn clients_take_turns() {
    let mut rig = Rig::<512>::new();
    (0..40).for_each(|at| drop(rig.queue(at % 2)));
    let (commands, _) = rig.settle();
    let ways: Vec<u64> = commands.iter().map(|command| command.qpn.into()).collect();
    assert!(ways.windows(2).all(|pair| pair[0] != pair[1]), "{ways:?}");
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::<64>::new();
    push(&mut rig.bench, rig.writes[1], &[HostWrite { len: 9.into(), ..HostWrite::default() }]);
    rig.bench.run(5);
    assert!(crate::testing::read::<bool>(&rig.bench, "busy"), "data is awaited");
    rig.bench.reset(1);
    collect::<HostWrite>(&mut rig.bench, rig.write);
    assert!(!crate::testing::read::<bool>(&rig.bench, "busy"));
    let (write, packet) = rig.queue(0);
    assert_eq!(rig.settle(), (vec![write], packet));
}
