//! Errands of all kinds, chosen and at random.

use stroma_abi::desc::Status;
use stroma_abi::desc::region::rights;
use stroma_verilate::SplitMix64;

use crate::fabric::records::{Calling, NO_KERNEL};
use crate::testing::noise;
use crate::transport::place::model::Visit;
use crate::transport::place::model::memory::{LISTLESS, PAGE, REFUSED};
use crate::transport::records::{Answer, Atomic, Errand, List};

/// An errand that does nothing, of queue pair 1, the last of its arrival; what means nothing is noise.
pub(super) fn blank(rng: &mut SplitMix64) -> Errand {
    Errand {
        ends: true,
        unreliable: false,
        begins: false,
        qpn: 1.into(),
        payload_len: 0.into(),
        places: false,
        has_value: false,
        list: (List::None as u64).into(),
        atomic: (Atomic::None as u64).into(),
        call: (Calling::None as u64).into(),
        key: 0x1234.into(),
        span: 0.into(),
        answer: (Answer::None as u64).into(),
        completes: false,
        fails: false,
        retires: false,
        last_receive: false,
        ..noise(rng)
    }
}

pub(super) fn bytes(rng: &mut SplitMix64, len: u64) -> Vec<u8> {
    (0..len).map(|_| rng.next_u32().to_le_bytes()[3]).collect()
}

/// An errand that places `len` bytes at `va`.
pub(super) fn place(rng: &mut SplitMix64, va: u64, len: u64) -> (Errand, Vec<u8>) {
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

/// An errand that places a value at `va`.
pub(super) fn value(rng: &mut SplitMix64, va: u64) -> Errand {
    Errand {
        has_value: true,
        places: true,
        va: va.into(),
        need: u64::from(rights::LOCAL_WRITE).into(),
        span: 8.into(),
        ..blank(rng)
    }
}

/// An errand that does what an atomic asks for to the word at `va`, or tells again what it found.
pub(super) fn atomic(rng: &mut SplitMix64, kind: Atomic, va: u64) -> Errand {
    Errand {
        atomic: (kind as u64).into(),
        va: (va & !7).into(),
        need: u64::from(rights::REMOTE_ATOMIC).into(),
        span: if kind == Atomic::Replay { 0.into() } else { 8.into() },
        ..blank(rng)
    }
}

/// An errand of a packet of an RPC with `len` bytes, for this kernel.
pub(super) fn call(rng: &mut SplitMix64, calling: Calling, kernel: u8, len: u64) -> (Errand, Vec<u8>) {
    let ends = calling != Calling::Again && rng.below(2) == 1;
    let answer = if ends { Answer::Result as u64 } else { 0 };
    let errand = Errand {
        payload_len: len.into(),
        call: (calling as u64).into(),
        call_ends: ends,
        kernel: u64::from(kernel).into(),
        answer: answer.into(),
        fresh: ends,
        status: 0.into(),
        ..blank(rng)
    };
    (errand, bytes(rng, len))
}

/// Of any kind, half of them without payload.
fn any_call(rng: &mut SplitMix64, len: u64) -> (Errand, Vec<u8>) {
    let all = [Calling::Begins, Calling::GoesOn, Calling::Again];
    let calling = all[usize::try_from(rng.below(3)).expect("small")];
    let kernel = [0, 1, 14, NO_KERNEL][usize::try_from(rng.below(4)).expect("small")];
    let len = len * rng.below(2);
    let (errand, bytes) = call(rng, calling, kernel, len);
    let acknowledges = calling != Calling::Again && !errand.call_ends && rng.below(2) == 1;
    let answer = if acknowledges { (Answer::Acknowledge as u64).into() } else { errand.answer };
    (Errand { answer, ..errand }, bytes)
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
    let (va, len, kind) = (address(rng), length(rng), rng.below(26));
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
        // The last packet of a WRITE with immediate data; of an atomic.
        20 => errand.completes = true,
        21..26 => {
            let all = [Atomic::Add, Atomic::Swap, Atomic::Replay];
            (errand, data) = (atomic(rng, all[usize::try_from(kind % 3).expect("small")], va), Vec::new());
        }
        _ => {}
    }
    (Errand { qpn: qpn.into(), key: key(rng, risk).into(), ..errand }, data)
}

/// What a packet of a SEND leads to: pieces of its payload, the last of which may end the message.
fn receive(rng: &mut SplitMix64, qpn: u64, risk: u64) -> Vec<(Errand, Vec<u8>)> {
    let packet = blank(rng);
    let (list, completes, answer) = (1 + rng.below(2), rng.below(2) == 1, rng.below(2));
    let mut errands: Vec<_> = (0..=rng.below(3))
        .map(|_| {
            let (va, len) = (address(rng), length(rng));
            let (piece, data) = place(rng, va, len);
            let Errand { psn, msn, counts, colour, .. } = packet;
            let list = list.into();
            let key = key(rng, risk).into();
            let qpn = qpn.into();
            (Errand { ends: false, qpn, psn, msn, counts, colour, list, key, ..piece }, data)
        })
        .collect();
    let (tail, _) = errands.last_mut().expect("there is one");
    (tail.ends, tail.completes, tail.answer) = (true, completes, answer.into());
    // The list is too short.
    if rng.below(400) < risk {
        (tail.places, tail.span, tail.fails) = (false, 0.into(), true);
        tail.status = u64::from(Status::LocalLength as u8).into();
    }
    errands
}

/// What a request of an unreliable connection leads to: a packet of a WRITE, the last with or without a receive, or of a SEND.
fn unanswered(rng: &mut SplitMix64, qpn: u64, risk: u64) -> Vec<(Errand, Vec<u8>)> {
    let (begins, is_send) = (rng.below(3) == 0, rng.below(3) == 0);
    let mut errands = receive(rng, qpn, if is_send { risk / 4 } else { risk });
    if !is_send {
        errands.truncate(1);
    }
    for (errand, _) in &mut errands {
        errand.is_awaited = true;
        (errand.unreliable, errand.begins, errand.answer) = (true, begins, (Answer::None as u64).into());
        if !is_send {
            (errand.ends, errand.fails, errand.list) = (true, false, (List::None as u64).into());
            let more = if begins { 50 } else { 0 };
            (errand.places, errand.span) = (true, (u64::from(errand.payload_len) + more).into());
        }
    }
    errands
}

/// A receive that is given up, perhaps the last one; or there is none.
fn recall(rng: &mut SplitMix64, qpn: u64) -> Errand {
    Errand {
        qpn: qpn.into(),
        completes: rng.below(3) > 0,
        status: u64::from(Status::Flushed as u8).into(),
        last_receive: rng.below(3) == 0,
        ..blank(rng)
    }
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
        let (data, bytes) = match rng.below(4) {
            0 => (value(rng, va), Vec::new()),
            kind => {
                let (data, bytes) = place(rng, va, len);
                let list = if kind == 1 { List::Send } else { List::None };
                (Errand { list: (list as u64).into(), ..data }, bytes)
            }
        };
        let Errand { retires, completes, fails, .. } = errands[at].0;
        errands[at] = (Errand { ends: false, retires, completes, fails, ..data }, bytes);
    } else if rng.below(5) == 0 {
        let (tail, data) = errands.last_mut().expect("there is one");
        (tail.payload_len, *data) = (len.into(), bytes(rng, len));
    }
    errands.last_mut().expect("there is one").0.ends = true;
    let colour = rng.below(2) == 1;
    for (errand, _) in &mut errands {
        (errand.qpn, errand.colour, errand.key) = (qpn.into(), colour, key(rng, risk).into());
    }
    errands
}

/// Arrivals of all kinds, for some of the queue pairs.
pub(super) fn visits(seed: u64, count: usize, risk: u64, qps: u64) -> Vec<Visit> {
    let mut rng = SplitMix64::new(seed);
    let mut next = || {
        let qpn = rng.below(qps);
        let kind = rng.below(13);
        // The last of them is an unreliable connection.
        if qpn == qps - 1 && (matches!(kind, 1..7 | 12)) {
            return Visit::Request(unanswered(&mut rng, qpn, risk));
        }
        match kind {
            12 => {
                let len = length(&mut rng);
                let (errand, data) = any_call(&mut rng, len);
                Visit::Request(vec![(Errand { qpn: qpn.into(), ..errand }, data)])
            }
            0 => {
                let len = length(&mut rng);
                Visit::Drop(bytes(&mut rng, len), rng.below(2) == 1)
            }
            1..5 => Visit::Request(vec![request(&mut rng, qpn, risk)]),
            5..7 if rng.below(6) == 0 => Visit::Request(vec![(recall(&mut rng, qpn), Vec::new())]),
            5..7 => Visit::Request(receive(&mut rng, qpn, risk)),
            _ => Visit::Response(response(&mut rng, qpn, risk)),
        }
    };
    (0..count).map(|_| next()).collect()
}
