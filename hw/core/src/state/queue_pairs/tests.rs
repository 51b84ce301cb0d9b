mod corners;

use stroma_abi::desc::queue_pair::{TRANSITIONS, attribute};
use stroma_abi::desc::{CommandStatus, QueuePair, QueuePairState, Verb};
use stroma_verilate::SplitMix64;

use super::model::Ask;
use super::rig::{QPS, Rig, noise};
use crate::testing::stalls;

/// One of these.
fn pick<T: Copy>(rng: &mut SplitMix64, from: &[T]) -> T {
    from[usize::try_from(rng.below(from.len() as u64)).expect("small")]
}

fn small(rng: &mut SplitMix64, bound: u64) -> u8 {
    u8::try_from(rng.below(bound)).expect("small")
}

/// The base of a ring: anywhere, or so close to the last address that some rings wrap.
fn base(rng: &mut SplitMix64) -> u64 {
    match rng.below(3) {
        0 => (rng.below(1 << 15) << 12).wrapping_neg(),
        _ => rng.next_u64() << 12,
    }
}

/// A command that creates, one of whose fields may be wrong.
fn create(rig: &mut Rig, object: u32) -> Ask {
    let (rng, cqs) = (&mut rig.rng, rig.owner.cqs.iter().copied().collect::<Vec<_>>());
    let mut body = noise(rng);
    QueuePair::KIND.set(&mut body, 1 + small(rng, 4));
    QueuePair::SEND_CQ.set(&mut body, pick(rng, &cqs));
    QueuePair::SEND_LOG.set(&mut body, 4 + small(rng, 12));
    QueuePair::RECEIVE_CQ.set(&mut body, pick(rng, &cqs));
    let receive_log = if rng.below(4) == 0 { 0 } else { 4 + small(rng, 12) };
    QueuePair::RECEIVE_LOG.set(&mut body, receive_log);
    QueuePair::PAGE.set(&mut body, u16::from(small(rng, 4)));
    QueuePair::HAS_SRQ.set(&mut body, receive_log == 0 && rng.below(2) == 0);
    QueuePair::SRQ.set(&mut body, 2 * u32::from(small(rng, 9)));
    QueuePair::SEND_BASE.set(&mut body, base(rng));
    QueuePair::RECEIVE_BASE.set(&mut body, base(rng));
    let mut command = Ask { body, ..Ask::new(Verb::Create, object) };
    let wrong = rng.below(24);
    let body = &mut command.body;
    let any_cq = |rng: &mut SplitMix64| match rng.below(2) {
        0 => u32::from(small(rng, 20)),
        _ => pick(rng, &cqs) | 1 << (3 + rng.below(21)),
    };
    match wrong {
        0 => QueuePair::KIND.set(body, pick(rng, &[0_u8, 5, 9, 0x81])),
        1 => QueuePair::SEND_CQ.set(body, any_cq(rng)),
        2 => QueuePair::RECEIVE_CQ.set(body, any_cq(rng)),
        3 => QueuePair::SEND_LOG.set(body, pick(rng, &[0_u8, 3, 16, 20, 132])),
        4 => QueuePair::RECEIVE_LOG.set(body, pick(rng, &[1_u8, 3, 16, 20, 132])),
        5 => QueuePair::PAGE.set(body, 1_u16 << (2 + rng.below(14))),
        6 => QueuePair::HAS_SRQ.set(body, true),
        7 => QueuePair::SEND_BASE.set(body, base(rng) | 1 << rng.below(12)),
        8 => QueuePair::RECEIVE_BASE.set(body, base(rng) | 1 << rng.below(12)),
        9 => command.attributes = 1 << rng.below(64),
        10 => command.object ^= 1 << (3 + rng.below(29)),
        11 => body.fill(0xff),
        12 => QueuePair::SRQ.set(body, 2 * u32::from(small(rng, 9)) + 1),
        _ => {}
    }
    command
}

/// A command that modifies what there is, of which something may be wrong.
fn modify(rig: &mut Rig, object: u32) -> Ask {
    let present = rig.owner.queue_pairs.get(&object).copied().unwrap_or_default();
    let rng = &mut rig.rng;
    let mut body = noise(rng);
    // Mostly good values.
    for (field, low, high) in
        [(QueuePair::PATH_MTU, 1, 5), (QueuePair::READS_OUT, 0, 16), (QueuePair::READS_IN, 0, 16)]
    {
        if rng.below(6) != 0 {
            field.set(&mut body, low + small(rng, 1 + u64::from(high - low)));
        }
    }
    if rng.below(6) != 0 {
        let log = pick(rng, &[0_u8, 12, 13, 16]);
        QueuePair::RESULT_LOG.set(&mut body, log);
        QueuePair::RESULT_BASE.set(&mut body, rng.next_u64() << (4 + log));
    }
    let rows: Vec<_> = TRANSITIONS
        .iter()
        .filter(|row| row.from as u8 == present.state && row.kinds >> present.kind & 1 == 1)
        .collect();
    let mut attributes = attribute::STATE;
    let mut state = pick(rng, &[QueuePairState::Reset, QueuePairState::Error]);
    if !rows.is_empty() && rng.below(12) != 0 {
        let row = pick(rng, &rows);
        state = row.to;
        attributes |= row.required | (row.optional & rng.next_u64());
        if row.from == row.to && rng.below(2) == 0 {
            attributes &= !attribute::STATE;
        }
    }
    let state = state as u8;
    match rng.below(20) {
        0 => attributes ^= 1 << rng.below(17),
        1 => attributes |= 1 << (17 + rng.below(47)),
        2 => attributes = rng.next_u64() >> 47,
        _ => {}
    }
    // Without its attribute a state is noise, too.
    if attributes & attribute::STATE != 0 {
        let asked = if rng.below(12) == 0 { pick(rng, &[0, 1, 2, 3, 4, 5, 6, 7, 11, 0x86]) } else { state };
        QueuePair::STATE.set(&mut body, asked);
    }
    Ask { attributes, body, ..Ask::new(Verb::Modify, object) }
}

/// Any command, more often than not one that is legal.
fn any(rig: &mut Rig) -> Ask {
    let object = u32::try_from(rig.rng.below((1 << QPS) + 1)).expect("small");
    let exists = rig.owner.queue_pairs.contains_key(&object);
    let choice = rig.rng.below(40);
    if choice < 3 {
        let body = noise(&mut rig.rng);
        let object = object ^ u32::from(choice == 0) << 31;
        return Ask { verb: small(&mut rig.rng, 9), body, ..Ask::new(Verb::Query, object) };
    }
    match choice {
        3..6 => Ask::new(Verb::Query, object),
        6..8 => Ask::new(Verb::Destroy, object),
        _ if exists == (choice != 8) => modify(rig, object),
        _ => create(rig, object),
    }
}

/// Commands, each behind the reply to the last, with errors and drains that end in between and beside them.
fn run(rig: &mut Rig, count: usize) {
    for _ in 0..count {
        let command = any(rig);
        for _ in 0..rig.rng.below(8) / 6 {
            let number = match rig.rng.below(10) {
                0 => 1 << 23 | command.object & 7,
                1..4 => u32::try_from(rig.rng.below(1 << QPS)).expect("small"),
                _ => command.object & 0xff_ffff,
            };
            let (status, untold) = (small(&mut rig.rng, 256), rig.rng.below(2) == 0);
            rig.error(number, status, untold);
        }
        if rig.rng.below(4) == 0 {
            let number = match rig.rng.below(10) {
                0 => 1 << 23 | command.object & 7,
                _ => u32::try_from(rig.rng.below(1 << QPS)).expect("small"),
            };
            rig.emptied(number);
        }
        rig.command(command);
        if rig.rng.below(3) != 0 {
            rig.settle();
        }
    }
    rig.settle();
}

#[test]
fn agrees_with_the_model() {
    use CommandStatus::{BadAttribute, BadState, Done, Exists, NoObject, OutOfRange};
    let mut rig = Rig::default();
    for seed in 0..4 {
        rig.reset(seed);
        run(&mut rig, 4000);
    }
    assert!(rig.drains_told > 20, "{} drains were told", rig.drains_told);
    let seen = |verb: Verb, status: CommandStatus, field: u64| {
        let count = rig.seen.get(&(verb as u8, status as u64, field)).copied().unwrap_or_default();
        assert!(count > 5, "{verb:?} was answered {count} times with {status:?} at {field}");
    };
    for field in [1, 4, 7, 8, 11, 12, 14, 16, 24] {
        seen(Verb::Create, CommandStatus::BadField, field);
    }
    for field in [0, 35, 52, 53] {
        seen(Verb::Modify, CommandStatus::BadField, field);
    }
    for status in [Done, OutOfRange, Exists, BadAttribute] {
        seen(Verb::Create, status, 0);
    }
    for status in [Done, NoObject, BadAttribute, BadState] {
        seen(Verb::Modify, status, 0);
    }
    for (verb, status) in [(Verb::Query, Done), (Verb::Query, NoObject), (Verb::Destroy, Done)] {
        seen(verb, status, 0);
    }
    seen(Verb::Destroy, NoObject, 0);
    for verb in [0, 5, 8] {
        assert!(rig.seen.contains_key(&(verb, CommandStatus::UnknownVerb as u64, 0)), "verb {verb}");
    }
}

#[test]
fn survives_stalls() {
    let mut rig = Rig::default();
    for (seed, (idle, pressure)) in (100..).zip(stalls()) {
        rig.reset(seed);
        rig.pause(&idle, &pressure);
        run(&mut rig, 150);
    }
}
