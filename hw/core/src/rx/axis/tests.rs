//! AXI4-Stream pins against what they should mean.

use stroma_verilate::{Bench, Pause, PortId, SinkId, SourceId, SplitMix64, StreamPorts};

use super::AxisIn;
use crate::pack::Packed;
use crate::stream::{Beat, beats};
use crate::testing::{collect, read, stalls, verilated};

/// One transfer on the pins.
#[derive(Clone, Debug)]
struct Transfer {
    data: Vec<u8>,
    keep: Vec<bool>,
    last: bool,
    user: bool,
}

struct Pins<const D: usize> {
    bench: Bench,
    input: SourceId,
    output: SinkId,
    closed: PortId,
}

impl<const D: usize> Pins<D> {
    fn new<const K: usize>() -> Self {
        let mut bench = verilated(&format!("axis_in_{D}"), AxisIn::<D, K>::default);
        let port = |name: &str| bench.model().port(name).unwrap();
        let payload = ["tdata", "tkeep", "tlast", "tuser"].map(port).to_vec();
        let ports =
            StreamPorts { name: "pins".into(), valid: port("tvalid"), ready: port("tready"), payload };
        let closed = port("closed");
        let (input, output) = (bench.source_on(ports), bench.sink("source").unwrap());
        bench.model_mut().set(closed, 0);
        bench.reset(2);
        Self { bench, input, output, closed }
    }

    fn send(&mut self, transfers: &[Transfer]) {
        for transfer in transfers {
            let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
            let data: Vec<u32> = transfer.data.chunks(4).map(word).collect();
            let bit = |(at, keep): (usize, &bool)| u32::from(*keep) << at;
            let keep: Vec<u32> =
                transfer.keep.chunks(32).map(|keep| keep.iter().enumerate().map(bit).sum()).collect();
            let flags = vec![u32::from(transfer.last), u32::from(transfer.user)];
            self.bench[self.input].send([data, keep, flags].concat());
        }
    }

    fn run(&mut self, transfers: &[Transfer]) -> Vec<Beat<D>> {
        self.send(transfers);
        self.bench.run_until(Bench::is_sent, 100_000).unwrap();
        self.bench.run(100);
        collect(&mut self.bench, self.output)
    }
}

/// What the transfers mean. Data of a beat with an odd `tkeep` has no meaning, and neither has its length.
fn meaning<const D: usize>(transfers: &[Transfer]) -> Vec<Beat<D>> {
    let (mut begins, mut is_bad) = (true, false);
    let mut found = Vec::new();
    for transfer in transfers {
        let count = transfer.keep.iter().filter(|keep| **keep).count();
        let is_odd = transfer.keep[..count].contains(&false) || (!transfer.last && count < D / 8);
        is_bad |= is_odd;
        let kept = if is_odd { &transfer.data } else { &transfer.data[..count] };
        let data = if kept.is_empty() { Beat::default() } else { beats::<D>(kept)[0] };
        let err = transfer.last && (transfer.user || is_bad);
        found.push(Beat { sop: begins, eop: transfer.last, err, ..data });
        (begins, is_bad) = (transfer.last, is_bad && !transfer.last);
    }
    found
}

/// Frames of one to four transfers; most as they should be, some with holes or gaps.
fn random(count: usize, width: usize, rng: &mut SplitMix64) -> Vec<Transfer> {
    let bytes = width / 8;
    let one = |_| {
        let last = rng.below(3) == 0;
        let kept = if last { usize::try_from(rng.below(bytes as u64 + 1)).unwrap() } else { bytes };
        let mut keep: Vec<bool> = (0..bytes).map(|at| at < kept).collect();
        if rng.below(8) == 0 {
            let at = usize::try_from(rng.below(bytes as u64)).unwrap();
            keep[at] = !keep[at];
        }
        let data = (0..bytes).map(|_| rng.next_u64().to_le_bytes()[0]).collect();
        Transfer { data, keep, last, user: rng.below(5) == 0 }
    };
    (0..count).map(one).collect()
}

fn agrees_with_the_meaning<const D: usize, const K: usize>() {
    let (mut pins, mut rng) = (Pins::<D>::new::<K>(), SplitMix64::new(1));
    for (idle, pressure) in stalls() {
        pins.bench[pins.input].pause(idle.clone());
        pins.bench[pins.output].pause(pressure.clone());
        let mut transfers = random(200, D, &mut rng);
        transfers.last_mut().expect("there are transfers").last = true;
        let expected = meaning::<D>(&transfers);
        assert!(expected.iter().any(|beat| beat.err) && expected.iter().any(|beat| beat.eop && !beat.err));
        assert_eq!(pins.run(&transfers), expected, "{idle:?} {pressure:?}");
    }
}

#[test]
fn agrees_with_the_meaning_of_the_pins_under_stalls() {
    agrees_with_the_meaning::<64, 8>();
    agrees_with_the_meaning::<512, 64>();
}

/// The frames that come in, and how many do not, when `closed` is as it was while each transfer moved.
fn admitted(transfers: &[Transfer], closed: &[bool]) -> (Vec<Transfer>, usize) {
    let (mut kept, mut lost) = (Vec::new(), 0);
    let mut at = 0;
    for frame in transfers.split_inclusive(|transfer| transfer.last) {
        if closed[at] {
            lost += 1;
        } else {
            kept.extend_from_slice(frame);
        }
        at += frame.len();
    }
    (kept, lost)
}

fn drops_what_begins_while_it_is_closed<const D: usize, const K: usize>() {
    let (mut pins, mut rng) = (Pins::<D>::new::<K>(), SplitMix64::new(2));
    for (idle, pressure) in stalls() {
        pins.bench[pins.input].pause(idle.clone());
        pins.bench[pins.output].pause(pressure.clone());
        let mut transfers = random(300, D, &mut rng);
        transfers.last_mut().expect("there are transfers").last = true;
        pins.send(&transfers);
        let before = pins.bench[pins.input].sent();
        let (mut moved, mut is_closed, mut pulses) = (Vec::new(), false, 0);
        for _ in 0..20_000 {
            // Open and closed for some cycles each: frames begin, go on and end in both.
            is_closed ^= rng.below(6) == 0;
            pins.bench.model_mut().set(pins.closed, is_closed.into());
            pins.bench.step();
            pulses += usize::from(read::<bool>(&pins.bench, "dropped"));
            let count = usize::try_from(pins.bench[pins.input].sent() - before).unwrap();
            moved.resize(count, is_closed);
            // Between the last beat of a frame and the first of the next nothing is on its way in.
            let begun = count > 0 && !transfers[count - 1].last;
            let first = transfers[..count].iter().rposition(|transfer| transfer.last);
            let is_let_in = begun && !moved[first.map_or(0, |last| last + 1)];
            assert_eq!(read::<bool>(&pins.bench, "enters"), is_let_in, "{idle:?} {pressure:?}, {count}");
        }
        let (kept, lost) = admitted(&transfers, &moved);
        assert!(lost > 20 && kept.len() > 50, "{lost}, {}", kept.len());
        let found: Vec<Beat<D>> = collect(&mut pins.bench, pins.output);
        assert_eq!((found, pulses), (meaning::<D>(&kept), lost), "{idle:?} {pressure:?}");
    }
}

#[test]
fn frames_that_begin_while_it_is_closed_are_dropped_whole_and_told() {
    drops_what_begins_while_it_is_closed::<64, 8>();
    drops_what_begins_while_it_is_closed::<512, 64>();
}

#[test]
fn every_count_of_kept_bytes_is_understood() {
    let data: Vec<u8> = (1..=64).collect();
    let of = |count| Transfer {
        data: data.clone(),
        keep: (0..64).map(|at| at < count).collect(),
        last: true,
        user: false,
    };
    let transfers: Vec<Transfer> = (0..=64).map(of).collect();
    let found = Pins::<512>::new::<64>().run(&transfers);
    for (count, beat) in found.iter().enumerate() {
        assert_eq!((beat.nbytes.index(), beat.sop, beat.eop, beat.err), (count, true, true, false));
        assert_eq!(
            beat.data.to_words(),
            beats::<512>(&[&data[..count], &vec![0; 64 - count]].concat())[0].data.to_words()
        );
    }
    assert_eq!(found.len(), 65);
}

#[test]
fn recovers_from_reset_in_mid_frame() {
    let mut pins = Pins::<64>::new::<8>();
    let full = Transfer { data: vec![3; 8], keep: vec![true; 8], last: false, user: false };
    let holed = Transfer { keep: [vec![false], vec![true; 7]].concat(), ..full.clone() };
    pins.send(&[full.clone(), holed]);
    pins.bench[pins.output].pause(Pause::Script(vec![true]));
    pins.bench.run(10);
    pins.bench.reset(1);
    pins.bench[pins.output].pause(Pause::None);
    let frame = [full.clone(), Transfer { last: true, ..full }];
    assert_eq!(pins.run(&frame), meaning::<64>(&frame));
}
