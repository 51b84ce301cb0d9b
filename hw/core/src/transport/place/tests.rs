//! The block against its plain-Rust twin.

mod corners;
mod timing;

use stroma_abi::desc::Status;
use stroma_abi::desc::region::rights;
use stroma_verilate::{Pause, SplitMix64};

use super::Place;
use super::model::{LISTLESS, PAGE, REFUSED, Visit};
use super::rig::{QPS, Rig, STREAMS};
use crate::testing::{noise, stalls_of};
use crate::transport::records::{Answer, Errand};
use crate::verilog::differential::{assert_agree, differential};

/// An errand that does nothing, of queue pair 1, the last of its arrival; what means nothing is noise.
fn blank(rng: &mut SplitMix64) -> Errand {
    Errand {
        ends: true,
        qpn: 1.into(),
        payload_len: 0.into(),
        places: false,
        key: 0x1234.into(),
        span: 0.into(),
        answer: (Answer::None as u64).into(),
        completes: false,
        fails: false,
        retires: false,
        ..noise(rng)
    }
}

fn bytes(rng: &mut SplitMix64, len: u64) -> Vec<u8> {
    (0..len).map(|_| rng.next_u32().to_le_bytes()[3]).collect()
}

/// An errand that places `len` bytes at `va`.
fn place(rng: &mut SplitMix64, va: u64, len: u64) -> (Errand, Vec<u8>) {
    let errand = Errand {
        payload_len: len.into(),
        places: true,
        va: va.into(),
        need: u64::from(rights::REMOTE_WRITE).into(),
        span: len.into(),
        ..blank(rng)
    };
    (errand, bytes(rng, len))
}

/// Often a page's end is near; now and then the last address.
fn address(rng: &mut SplitMix64) -> u64 {
    match rng.below(20) {
        0 => 0_u64.wrapping_sub(rng.below(5000)),
        1..4 => rng.next_u64() >> 8,
        4..8 => (rng.next_u64() >> 20) & !0x3f,
        _ => 0x7fff_0000_0000 + rng.below(1 << 24) * PAGE - rng.below(600),
    }
}

fn length(rng: &mut SplitMix64) -> u64 {
    let longest = [1, 8, 64, 200, 4096][usize::try_from(rng.below(5)).expect("small")];
    if rng.below(3) == 0 { longest } else { 1 + rng.below(longest) }
}

/// `risk` in a hundred have pages that are refused, of all kinds.
fn key(rng: &mut SplitMix64, risk: u64) -> u64 {
    let plain = rng.below(1 << 16);
    match rng.below(100) {
        bad if bad >= risk => plain,
        bad if bad % 4 == 0 => plain | u64::from(LISTLESS),
        _ => plain | u64::from(REFUSED) | (1 + rng.below(4)) << 24,
    }
}

/// What a request of the peer leads to.
fn request(rng: &mut SplitMix64, qpn: u64, risk: u64) -> (Errand, Vec<u8>) {
    let (va, len, kind) = (address(rng), length(rng), rng.below(20));
    let (mut errand, mut data) = place(rng, va, len);
    errand.answer = (Answer::Acknowledge as u64 * rng.below(2)).into();
    match kind {
        // A WRITE's first packet, a repeated one, one that is not wanted, one without payload.
        0..4 => {
            errand.span =
                (len + [1, 100, 1 << 20, (1 << 31) - len][usize::try_from(kind).expect("small")]).into();
        }
        4..6 => (errand.places, errand.span) = (false, 0.into()),
        6 => (errand.places, errand.answer) = (false, 0.into()),
        7 => (errand.payload_len, errand.span, data) = (0.into(), 0.into(), Vec::new()),
        // A READ.
        8..12 => {
            (errand.payload_len, errand.places, data) = (0.into(), false, Vec::new());
            errand.answer = (Answer::Data as u64).into();
            errand.span = [0, 1, 2, 70_000][usize::try_from(kind - 8).expect("small")].into();
        }
        // Something that no peer may ask for.
        12 if risk > 0 => {
            errand.places = false;
            errand.fails = true;
            errand.status = u64::from(Status::RemoteInvalid as u8).into();
        }
        _ => {}
    }
    (Errand { qpn: qpn.into(), key: key(rng, risk).into(), ..errand }, data)
}

/// What an answer of the peer leads to: some messages are over, and there may be data.
fn response(rng: &mut SplitMix64, qpn: u64, risk: u64) -> Vec<(Errand, Vec<u8>)> {
    let mut errands: Vec<_> = (0..=rng.below(3))
        .map(|_| {
            let retires = rng.below(4) > 0;
            let completes = retires && rng.below(3) > 0;
            let fails = risk > 0 && rng.below(30) == 0;
            (Errand { ends: false, retires, completes, fails, ..blank(rng) }, Vec::new())
        })
        .collect();
    let (va, len) = (address(rng), length(rng));
    if rng.below(2) == 0 {
        let at = errands.len() - 1;
        let (data, bytes) = place(rng, va, len);
        let Errand { retires, completes, fails, .. } = errands[at].0;
        errands[at] = (Errand { ends: false, retires, completes, fails, ..data }, bytes);
    } else if rng.below(5) == 0 {
        errands[0].0.payload_len = len.into();
        errands[0].1 = bytes(rng, len);
    }
    errands.last_mut().expect("there is one").0.ends = true;
    let colour = rng.below(2) == 1;
    for (errand, _) in &mut errands {
        (errand.qpn, errand.colour, errand.key) = (qpn.into(), colour, key(rng, risk).into());
    }
    errands
}

/// Arrivals of all kinds, for some of the queue pairs.
fn visits(seed: u64, count: usize, risk: u64, qps: u64) -> Vec<Visit> {
    let mut rng = SplitMix64::new(seed);
    let mut next = || {
        let qpn = rng.below(qps);
        match rng.below(12) {
            0 => {
                let len = length(&mut rng);
                Visit::Drop(bytes(&mut rng, len), rng.below(2) == 1)
            }
            1..7 => Visit::Request(vec![request(&mut rng, qpn, risk)]),
            _ => Visit::Response(response(&mut rng, qpn, risk)),
        }
    };
    (0..count).map(|_| next()).collect()
}

fn agree<const D: usize>(rounds: u64) {
    let mut rig = Rig::<D>::new();
    for seed in 0..rounds {
        rig.send(&visits(seed, 60, [0, 5, 20, 60][usize::try_from(seed % 4).expect("small")], 7));
        // A queue pair of which nothing is inside may reset whenever it likes.
        for cycle in 0..seed * 4 {
            rig.run(cycle % 3);
            rig.change(7, true);
            rig.change(cycle % 7, false);
        }
        rig.finish();
        (0..7).filter(|qpn| (qpn + seed) % 3 != 0).for_each(|qpn| rig.change(qpn, true));
        rig.run(20);
    }
}

#[test]
fn agrees_with_the_model() {
    agree::<64>(24);
    agree::<512>(48);
}

#[test]
fn the_random_errands_meet_every_end() {
    let mut rig = super::model::Twin::default();
    let mut met = std::collections::BTreeMap::<(u64, u64), usize>::new();
    let (mut crossings, mut refused, mut untold, mut told) = (0, 0, 0, 0);
    for seed in 0..48 {
        let found = rig.run(&visits(seed, 60, [0, 5, 20, 60][usize::try_from(seed % 4).expect("small")], 7));
        for (done, _) in found.dones {
            *met.entry((done.status.into(), done.vendor.into())).or_default() += 1;
        }
        crossings +=
            found.questions.iter().filter(|question| super::model::translate(question).len() > 1).count();
        refused += found.refused;
        untold += found.errors.iter().filter(|(error, _)| error.untold).count();
        told += found.errors.iter().filter(|(error, _)| !error.untold).count();
        rig.failed.clear();
    }
    let local = (1..=4).map(|cause| (u64::from(Status::LocalProtection as u8), cause));
    for end in local.chain([(u64::from(Status::Flushed as u8), 0), (u64::from(Status::General as u8), 5)]) {
        assert!(met.get(&end).is_some_and(|count| *count >= 2), "{end:?} in {met:?}");
    }
    assert!(
        crossings > 100 && refused > 20 && untold > 30 && told > 30,
        "{crossings} {refused} {untold} {told}"
    );
}

fn survive<const D: usize>() {
    let mut rig = Rig::<D>::new();
    for (seed, stall) in (100..).zip(stalls_of::<STREAMS>()) {
        rig.latency = [(6, 7), (1, 60), (1, 300)][usize::try_from(seed % 3).expect("small")];
        rig.pause(stall);
        rig.send(&visits(seed, 40, 8, 1 << QPS));
        rig.finish();
        (0..1 << QPS).for_each(|qpn| rig.change(qpn, true));
        rig.run(20);
    }
}

#[test]
fn survives_stalls() {
    survive::<64>();
    survive::<512>();
}

/// Every place in a beat at which a page may end, and every length around it.
fn every_cut<const D: usize>() {
    let mut rig = Rig::<D>::new();
    let mut rng = SplitMix64::new(3);
    let beat = D as u64 / 8;
    for before in 1..=2 * beat {
        let lengths = [1, 2, beat - 1, beat, beat + 1, 2 * beat, 2 * beat + 3, 600];
        let one = |rng: &mut SplitMix64, behind: u64| {
            Visit::Request(vec![place(rng, 0x9_0000_1000 - before, before + behind)])
        };
        let mut all: Vec<Visit> = lengths.iter().map(|behind| one(&mut rng, *behind)).collect();
        all.push(Visit::Request(vec![place(&mut rng, 0x9_0000_1000 - before, before)]));
        rig.send(&all);
        rig.finish();
    }
}

#[test]
fn every_byte_may_begin_a_page() {
    every_cut::<64>();
    every_cut::<512>();
}

fn recover<const D: usize>() {
    let mut rig = Rig::<D>::new();
    rig.latency = (1, 30);
    for seed in 0..12 {
        rig.send(&visits(seed, 60, 30, 1 << QPS));
        rig.pause([(); STREAMS].map(|()| Pause::Random { seed, percent: 30 }));
        rig.run(20 + 37 * seed);
        assert!(rig.port("busy"), "nothing was inside when reset came");
        rig.reset();
        rig.pause([(); STREAMS].map(|()| Pause::None));
        // What failed before is forgotten.
        rig.send(&visits(seed + 50, 60, 5, 1 << QPS));
        rig.finish();
    }
}

#[test]
fn recovers_from_reset() {
    recover::<64>();
    recover::<512>();
}

#[test]
fn rust_and_verilog_agree() {
    let case = differential!(
        "place",
        Place::<64, 2>::default,
        clock,
        [
            order.payload,
            order.valid,
            requests.payload,
            requests.valid,
            responses.payload,
            responses.valid,
            payload.payload,
            payload.valid,
            xlat.ready,
            answer.payload,
            answer.valid,
            write.ready,
            write_data.ready,
            issued,
            task.ready,
            done.ready,
            error.ready,
            kick.ready,
            change.payload,
            change.valid
        ]
    );
    assert_agree([case], 100);
}
