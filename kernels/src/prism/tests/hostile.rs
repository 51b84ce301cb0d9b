//! Memory that is out of reach, requests that are out of range, and reset.

use stroma_abi::desc::SlotCommand;
use stroma_verilate::Pause;

use super::*;

fn aside(item: Item) -> Item {
    with(item, |one| (one.redirect, one.redirect_address) = (true, ASIDE))
}

fn led(item: Item) -> Item {
    with(item, |one| (one.indirect, one.address) = (true, POINTER))
}

fn copying(item: Item) -> Item {
    with(item, |one| (one.data_indirect, one.data_address) = (true, ASIDE + 0x100))
}

/// Every DMA of every kind: the operation, where it is out of reach, and how it ends there.
fn touches() -> Vec<(Item, u64, Stage)> {
    let swap = || swap(TARGET, 24, Comparison::Equal, &always(1));
    vec![
        (led(read(0, 50)), POINTER + 7, Stage::Pointer),
        (led(write(0, &[1; 50])), POINTER, Stage::Pointer),
        (led(swap()), POINTER + 3, Stage::Pointer),
        (copying(write(TARGET, &[1; 50])), ASIDE + 0x131, Stage::Data),
        (copying(swap()), ASIDE + 0x117, Stage::Data),
        (copying(allocate(LIST, &[1; 50])), ASIDE + 0x100, Stage::Data),
        (allocate(LIST, &[1; 50]), LIST + 31, Stage::List),
        (allocate(LIST, &[1; 50]), RING + 16, Stage::List),
        (read(TARGET, 4096), TARGET + 4095, Stage::Target),
        (led(read(0, 100)), TARGET + 64, Stage::Target),
        (swap(), TARGET + 23, Stage::Target),
        (write(TARGET, &[1; 1000]), TARGET + 999, Stage::Write),
        (led(write(0, &[1; 10])), TARGET, Stage::Write),
        (allocate(LIST, &[1; 50]), BUFFERS + (2 << 13) + 49, Stage::Write),
        (aside(read(TARGET, 100)), ASIDE + 99, Stage::Redirect),
        (aside(swap()), ASIDE + 23, Stage::Redirect),
        (aside(allocate(LIST, &[1; 50])), ASIDE + 7, Stage::Redirect),
    ]
}

pub(super) fn bad_addresses<const D: usize>(rig: &mut Rig<D>) {
    for (is_refused, expected) in [(true, End::Refused), (false, End::Failed)] {
        for (seed, (item, bad, stage)) in (0..).zip(touches()) {
            rig.reset(seed);
            rig.latency = [(1, 2), (10, 11), (10, 400)][usize::try_from(seed % 3).expect("small")];
            rig.free_buffers(2, 5);
            rig.host.store(POINTER, &[TARGET]);
            let before = || read(BUFFERS + 0x9000, 70);
            let range = if is_refused { &mut rig.host.refused } else { &mut rig.host.failing };
            range.push(bad..bad + 1);
            let found = rig.run_chain(&[before(), item.clone(), before(), before()]);
            assert_eq!(outcomes(&found), [1, expected as u8, 0, 0], "{stage:?} of {item:?}");
            assert_eq!((found[1].stage, found[1].applied), (stage as u8, stage == Stage::Redirect));
            rig.host.refused.clear();
            rig.host.failing.clear();
            assert_eq!(outcomes(&rig.run_chain(&[before(), item, before()])), [1, 1, 1, 0], "it lives on");
        }
    }
    read_only(rig);
    rig.reset(1);
    rig.free_buffers(2, 5);
    rig.host.store(POINTER, &[0, 5]);
    let null = End::Null as u8;
    let bounded = with(led(write(0, &[1; 9])), |one| one.bounded = true);
    let swap = led(swap(0, 8, Comparison::Equal, &always(1)));
    assert_eq!(
        outcomes(&rig.run_chain(&[led(read(0, 9)), bounded, swap, read(TARGET, 1)])),
        [null, null, null, 1]
    );
    rig.host.store(RING + 16, &[0]);
    assert_eq!(outcomes(&rig.run_chain(&[allocate(LIST, &[1]), read(TARGET, 1)])), [null, 1, 0, 0]);
    let long = [1; 4096];
    rig.host.put(LIST + 24, &4095_u32.to_le_bytes());
    let too_long = outcomes(&rig.run_chain(&[allocate(LIST, &long), read(TARGET, 1)]));
    assert_eq!(too_long, [End::TooLong as u8, 1, 0, 0]);
    assert_eq!(outcomes(&rig.run_chain(&[allocate(LIST, &long[1..])])), [null, 0, 0, 0]);
}

/// What is read before it is written: a swap's target, and a list's head.
fn read_only<const D: usize>(rig: &mut Rig<D>) {
    let swap = swap(TARGET, 24, Comparison::Equal, &always(1));
    for (item, bad) in [(swap, TARGET + 23), (allocate(LIST, &[1; 50]), LIST)] {
        rig.reset(bad);
        rig.free_buffers(2, 5);
        rig.host.read_only.push(bad..bad + 1);
        let found = rig.run_chain(&[item.clone(), read(TARGET, 1)]);
        assert_eq!(outcomes(&found), [End::Refused as u8, 0, 0, 0], "{item:?}");
        assert_eq!((found[0].stage, found[0].applied), (Stage::Write as u8, false));
        assert_eq!(rig.word_at(LIST), 2, "no buffer is taken");
        rig.host.read_only.clear();
        assert_eq!(outcomes(&rig.run_chain(&[item, read(TARGET, 1)])), [1, 1, 0, 0], "it lives on");
    }
}

pub(super) fn keys<const D: usize>(rig: &mut Rig<D>) {
    for is_aside in [false, true] {
        for (seed, (item, _, stage)) in (0..).zip(touches()) {
            rig.reset(seed);
            rig.free_buffers(2, 5);
            rig.host.store(POINTER, &[TARGET]);
            let mut invocation = rig.chain_of(std::slice::from_ref(&item));
            let place = if is_aside { Operation::ASIDE_KEY } else { Operation::KEY };
            invocation.data[place.byte] ^= 1;
            reports();
            rig.call(invocation);
            rig.settle();
            let found = reports()[0][0];
            // What is asked of either key, first of all.
            let is_buffer = item.0.kind == Kind::Allocate as u8;
            let expected = if is_aside {
                if item.0.data_indirect {
                    Some(Stage::Data)
                } else if is_buffer {
                    Some(Stage::Write)
                } else {
                    item.0.redirect.then_some(Stage::Redirect)
                }
            } else if item.0.indirect {
                Some(Stage::Pointer)
            } else if is_buffer {
                Some(Stage::List)
            } else if item.0.kind == Kind::Write as u8 {
                Some(Stage::Write)
            } else {
                Some(Stage::Target)
            };
            let outcome = if expected.is_some() { End::Refused } else { End::Done };
            let told = (found.outcome, found.stage);
            assert_eq!(
                told,
                (outcome as u8, expected.unwrap_or(Stage::Nowhere) as u8),
                "{stage:?} of {item:?}"
            );
        }
    }
}

type Change = fn(&mut Operation);

pub(super) fn bad_requests<const D: usize>(rig: &mut Rig<D>) {
    rig.reset(1);
    rig.free_buffers(2, 5);
    let operands = always(1);
    let swap = || swap(TARGET, 8, Comparison::Equal, &operands);
    let bad: [(Item, Change); 28] = [
        (read(TARGET, 8), |one| one.length = 0),
        (read(TARGET, 8), |one| one.length = 4097),
        (read(TARGET, 8), |one| one.length = 1 << 13 | 8),
        (read(TARGET, 8), |one| one.length = u32::MAX),
        (read(TARGET, 8), |one| one.bounded = true),
        (read(TARGET, 8), |one| one.data_indirect = true),
        (read(TARGET, 8), |one| one.forward = true),
        (write(TARGET, &[1; 8]), |one| one.length = 0),
        (write(TARGET, &[1; 8]), |one| one.length = 65),
        (write(TARGET, &[1; 8]), |one| one.length = u32::MAX),
        (write(TARGET, &[1; 8]), |one| one.bounded = true),
        (write(TARGET, &[1; 8]), |one| one.redirect = true),
        (write(TARGET, &[1; 8]), |one| one.forward = true),
        (write(TARGET, &[1; 8]), |one| (one.data_indirect, one.length) = (true, 4097)),
        (write(TARGET, &[1; 8]), |one| one.data_line = 128),
        (write(TARGET, &[1; 8]), |one| one.data_line = 255),
        (swap(), |one| one.length = 0),
        (swap(), |one| one.length = 4),
        (swap(), |one| one.length = 40),
        (swap(), |one| one.length = 72),
        (swap(), |one| one.length = 1 << 31 | 8),
        (swap(), |one| (one.indirect, one.bounded) = (true, true)),
        (swap(), |one| (one.forward, one.data_indirect) = (true, true)),
        (swap(), |one| one.data_line += 1),
        (allocate(LIST, &[1; 8]), |one| one.length = 0),
        (allocate(LIST, &[1; 8]), |one| one.indirect = true),
        (allocate(LIST, &[1; 8]), |one| one.forward = true),
        (allocate(LIST, &[1; 8]), |one| one.data_line = 9),
    ];
    for (at, (item, change)) in bad.into_iter().enumerate() {
        for before in [0, at % 4] {
            // Each stands last, where it ends with the payload.
            let mut items = vec![read(TARGET, 8); before];
            items.push(item.clone());
            let mut invocation = rig.chain_of(&items);
            let place = before * LINE;
            let mut operation = Operation::parse(&invocation.data[place..]).expect("an operation");
            change(&mut operation);
            operation.emit(&mut invocation.data[place..]);
            rig.call(invocation);
            rig.settle();
            assert_eq!(rig.told.last(), Some(&0x101), "{operation:?}");
        }
    }
    bad_heads(rig);
    assert_eq!((rig.moves.reads.len(), rig.moves.writes.len()), (0, 0));
    assert_eq!(outcomes(&rig.run_chain(&[read(TARGET, 8)])), [1, 0, 0, 0], "it lives on");
}

fn bad_heads<const D: usize>(rig: &mut Rig<D>) {
    let good = rig.chain_of(&[read(TARGET, 65), read(TARGET, 64)]);
    let edit = |change: fn(&mut SlotCommand)| {
        let mut bad = good.clone();
        change(&mut bad.command);
        bad
    };
    let with_count = |rig: &mut Rig<D>, count: u8, lines: usize| {
        rig.streamed(&Chain { count }.to_bytes(), good.data.repeat(2)[..lines].to_vec(), 1 << 16)
    };
    let mut cases = vec![
        edit(|head| head.flags = 1),
        edit(|head| head.flags = 0x80),
        edit(|head| head.response_max = 255),
        edit(|head| head.response_max = 0),
        edit(|head| head.parameter_words = 2),
        with_count(rig, 0, 64),
        with_count(rig, 1, 0),
        with_count(rig, 1, 1),
        with_count(rig, 1, 63),
        with_count(rig, 2, 127),
        with_count(rig, 5, 256),
        with_count(rig, 0x81, 128),
        with_count(rig, 255, 256),
        rig.streamed(&[1, 0, 0, 0, 0, 0, 0, 0], good.data.clone(), 1 << 16),
        rig.streamed(&[], good.data.clone(), 1 << 16),
    ];
    for length in [8193, 8192 + 64, 20_000] {
        let mut data = good.data.clone();
        data.resize(length, 0);
        cases.push(rig.streamed(&Chain { count: 2 }.to_bytes(), data, 1 << 16));
    }
    for bad in cases {
        rig.call(bad.clone());
        rig.settle();
        assert_eq!(rig.told.last(), Some(&0x101), "{:?}, {} bytes", bad.command, bad.data.len());
    }
}

pub(super) fn resets<const D: usize>(rig: &mut Rig<D>) {
    let chain = |rig: &mut Rig<D>| {
        rig.free_buffers(0, 16);
        rig.host.store(POINTER, &[TARGET]);
        [
            aside(allocate(LIST, &[1; 700])),
            swap(TARGET, 32, Comparison::Equal, &always(9)),
            led(read(0, 300)),
            led(write(0, &[7; 99])),
        ]
    };
    for cycles in (0..400).step_by(5) {
        rig.reset(cycles);
        rig.pause(std::array::from_fn(|stream| Pause::Random { seed: stream as u64, percent: 30 }));
        let items = chain(rig);
        rig.ask_chain(&items);
        rig.ask_chain(&items);
        rig.run(cycles);
        rig.reset(cycles + 1);
        rig.pause(std::array::from_fn(|_| Pause::None));
        let items = chain(rig);
        assert_eq!(outcomes(&rig.run_chain(&items)), [1; 4], "after {cycles} cycles");
        assert_eq!(rig.told.len(), 1);
    }
}
