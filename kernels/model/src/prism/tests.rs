//! From literal memory to literal reports and memory.

use super::*;
use stroma_abi::desc::{Parameters, SlotCommand};

/// 32 KiB from address 0x1000 on, under two keys; the last page is refused, the one before fails, and the one before that can only be read.
struct Ram(Vec<u8>);

const BASE: u64 = 0x1000;
const KEY: u32 = 7;
const ASIDE: u32 = 8;
const READ_ONLY: u64 = BASE + 0x5000;
const FAILING: u64 = BASE + 0x6000;
const REFUSED: u64 = BASE + 0x7000;

impl Ram {
    fn place(&self, key: u32, va: u64, len: usize) -> Result<std::ops::Range<usize>, Failure> {
        let at = usize::try_from(va.wrapping_sub(BASE)).map_err(|_| Failure::Refused)?;
        let end = at.checked_add(len).filter(|end| *end <= self.0.len()).ok_or(Failure::Refused)?;
        if ![KEY, ASIDE].contains(&key) || va + len as u64 > REFUSED {
            Err(Failure::Refused)
        } else if va + len as u64 > FAILING {
            Err(Failure::Host)
        } else {
            Ok(at..end)
        }
    }

    fn store(&mut self, va: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.write(KEY, va, &bytes).expect("it is writable");
    }

    fn word(&mut self, va: u64) -> u64 {
        word(&self.read(KEY, va, 8).expect("it is readable"))
    }
}

impl Memory for Ram {
    fn read(&mut self, key: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
        Ok(self.0[self.place(key, va, len)?].to_vec())
    }

    fn write(&mut self, key: u32, va: u64, bytes: &[u8]) -> Result<(), Failure> {
        let place = self.place(key, va, bytes.len())?;
        if va + bytes.len() as u64 > READ_ONLY {
            return Err(Failure::Refused);
        }
        self.0[place].copy_from_slice(bytes);
        Ok(())
    }
}

fn ram() -> Ram {
    Ram((0..0x8000_u32).map(|at| at.to_le_bytes()[0] ^ at.to_le_bytes()[1].wrapping_mul(7)).collect())
}

fn operation(kind: Kind, address: u64, length: u32) -> Operation {
    Operation { kind: kind as u8, address, length, key: KEY, aside_key: ASIDE, ..Operation::default() }
}

/// The call of a chain; all share the data, which begin in the line behind the operations.
fn invocation(operations: &[Operation], data: &[u8]) -> Invocation {
    let line = u8::try_from(operations.len()).expect("few");
    let lines = operations.iter().map(|operation| Operation { data_line: line, ..*operation }.to_bytes());
    let payload: Vec<u8> = lines.flatten().chain(data.iter().copied()).collect();
    let command = SlotCommand { key: 0xbad, response_max: 1 << 16, ..SlotCommand::default() };
    let parameters = Parameters::new(&Chain { count: line }.to_bytes()).expect("a word");
    Invocation::new(command, parameters, payload)
}

fn call(ram: &mut Ram, operations: &[Operation], data: &[u8]) -> (Vec<Report>, Vec<u8>) {
    let outcome = run(&invocation(operations, data), ram);
    assert_eq!(outcome.status, 0);
    let reports: Vec<Report> =
        outcome.data[..64].chunks(16).map(|bytes| Report::parse(bytes).expect("a report")).collect();
    (reports, outcome.data[64..].to_vec())
}

fn outcomes(reports: &[Report]) -> Vec<End> {
    reports.iter().map(|report| End::from_code(report.outcome).expect("a known outcome")).collect()
}

fn done(length: u32, address: u64, answered: bool) -> Report {
    Report { outcome: End::Done as u8, stage: 0, applied: true, answered, length, address }
}

fn ended(end: End, stage: Stage, length: u32, address: u64) -> Report {
    Report { outcome: end as u8, stage: stage as u8, applied: false, answered: false, length, address }
}

#[test]
fn reads_answer_with_whole_lines() {
    let mut ram = ram();
    let reads = [operation(Kind::Read, 0x1003, 1), operation(Kind::Read, 0x1100, 65)];
    let (reports, data) = call(&mut ram, &reads, &[]);
    let none = Report::default();
    assert_eq!(reports, [done(1, 0x1003, true), done(65, 0x1100, true), none, none]);
    assert_eq!((data.len(), &data[..1], &data[1..64]), (192, &ram.0[3..4], &[0; 63][..]));
    assert_eq!((&data[64..129], &data[129..]), (&ram.0[0x100..0x141], &[0; 63][..]));
}

#[test]
fn pointers_lead_and_bounds_cut() {
    let mut ram = ram();
    ram.store(0x2001, &[0x1204, 20]);
    let plain = Operation { indirect: true, ..operation(Kind::Read, 0x2001, 30) };
    let bounded = Operation { bounded: true, ..plain };
    assert_eq!(call(&mut ram, &[plain], &[]).0[0], done(30, 0x1204, true));
    assert_eq!(call(&mut ram, &[bounded], &[]).0[0], done(20, 0x1204, true));
    assert_eq!(call(&mut ram, &[bounded], &[]).1[..24], [&ram.0[0x204..0x218], &[0; 4]].concat());
    let write = Operation { kind: Kind::Write as u8, ..bounded };
    assert_eq!(call(&mut ram, &[write], &[9; 30]).0[0], done(20, 0x1204, false));
    assert_eq!(
        (ram.0[0x203], ram.0[0x217], ram.0[0x218]),
        (0x3 ^ 0xe, 9, 0x18 ^ 0xe),
        "no byte beyond the bound"
    );
    ram.store(0x2001, &[0x1204, 0]);
    assert_eq!(
        call(&mut ram, &[bounded, write], &[1; 30]).0[..2],
        [done(0, 0x1204, true), done(0, 0x1204, false)]
    );
    ram.store(0x2001, &[0x1204, 1 << 32]);
    assert_eq!(call(&mut ram, &[bounded], &[]).0[0], done(30, 0x1204, true), "all 64 bits count");
    ram.store(0x2001, &[0, 20]);
    assert_eq!(call(&mut ram, &[bounded], &[]).0[0], ended(End::Null, Stage::Nowhere, 30, 0));
}

#[test]
fn writes_take_their_data_from_the_payload_or_from_memory() {
    let mut ram = ram();
    assert_eq!(call(&mut ram, &[operation(Kind::Write, 0x1001, 3)], &[1, 2, 3]).0[0], done(3, 0x1001, false));
    assert_eq!(ram.0[..5], [0, 1, 2, 3, 4]);
    let copy =
        Operation { data_indirect: true, data_address: 0x1002, ..operation(Kind::Write, 0x2000, 4096) };
    let expected = ram.0[2..4098].to_vec();
    call(&mut ram, &[copy], &[]);
    assert_eq!(ram.0[0x1000..0x2000], expected);
}

fn operands(compare: u64, compare_mask: u64, swap: u64, swap_mask: u64) -> Vec<u8> {
    let wide = |word: u64| std::array::from_fn(|at| word.to_le_bytes()[at % 8]);
    let all = [compare, compare_mask, swap, swap_mask].map(wide);
    Operands { compare: all[0], compare_mask: all[1], swap: all[2], swap_mask: all[3] }.to_bytes().to_vec()
}

#[test]
fn a_swap_compares_and_replaces_under_masks() {
    let mut ram = ram();
    let swap = |comparison: Comparison| Operation {
        comparison: comparison as u8,
        ..operation(Kind::CompareAndSwap, 0x1fff, 8)
    };
    ram.store(0x1fff, &[0x1122_3344_5566_7788]);
    let good = operands(0xff88, 0xff, 0x9999_9999_9999_9999, 0xffff_0000);
    let (reports, data) = call(&mut ram, &[swap(Comparison::Equal)], &good);
    assert_eq!(reports[0], done(8, 0x1fff, true));
    assert_eq!(data[..9], [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0]);
    assert_eq!(ram.word(0x1fff), 0x1122_3344_9999_7788);
    for (comparison, offered, is_swapped) in [
        (Comparison::Equal, 5, true),
        (Comparison::Equal, 4, false),
        (Comparison::Less, 4, true),
        (Comparison::Less, 5, false),
        (Comparison::Greater, 6, true),
        (Comparison::Greater, 5, false),
        (Comparison::NotEqual, 6, true),
        (Comparison::NotEqual, 5, false),
    ] {
        ram.store(0x1fff, &[5 << 56 | 0xff]);
        let bytes = operands(offered << 56, !0xff, 7, u64::MAX);
        let (reports, _) = call(&mut ram, &[swap(comparison)], &bytes);
        let end = if is_swapped { End::Done } else { End::NotSwapped };
        assert_eq!(
            (outcomes(&reports)[0], reports[0].applied),
            (end, is_swapped),
            "{comparison:?} {offered}"
        );
        assert!(reports[0].answered);
        assert_eq!(ram.word(0x1fff), if is_swapped { 7 } else { 5 << 56 | 0xff });
    }
}

#[test]
fn a_wide_swap_is_one_number() {
    let mut ram = ram();
    for words in 1..=4_usize {
        let swap = Operation {
            comparison: Comparison::Greater as u8,
            ..operation(Kind::CompareAndSwap, 0x2000, u32::try_from(words * 8).expect("small"))
        };
        // The highest word of those that count decides; the one behind it does not count.
        let mut there = [9, 9, 9, 9, 9];
        there[words - 1] = 4;
        ram.store(0x2000, &there);
        let (reports, data) = call(&mut ram, &[swap], &operands(5, u64::MAX, 1, u64::MAX));
        assert_eq!(reports[0].outcome, End::Done as u8);
        assert_eq!(
            data[..words * 8],
            there[..words].iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>()
        );
        let expected: Vec<u64> = (0..5).map(|at| if at < words { 1 } else { there[at] }).collect();
        let found: Vec<u64> = (0..5).map(|at| ram.word(0x2000 + 8 * at)).collect();
        assert_eq!(found, expected);
    }
}

/// A list at 0x3000 with four places at 0x3100 and buffers of 100 bytes, of which the 6th to 8th are free.
fn with_list() -> Ram {
    let mut ram = ram();
    ram.store(0x3000, &[5, 8, 0x3100, 100 + (2 << 32)]);
    ram.store(0x3100, &[0xbad, 0x4000, 0x4100, 0x4200]);
    ram
}

#[test]
fn an_allocation_takes_the_next_buffer_and_fills_it() {
    let mut ram = with_list();
    let allocate = operation(Kind::Allocate, 0x3000, 100);
    for (buffer, head) in [(0x4000, 6), (0x4100, 7), (0x4200, 8)] {
        let (reports, data) = call(&mut ram, &[allocate], &[head; 100]);
        assert_eq!((reports[0], data.len()), (done(100, buffer, false), 0));
        let at = usize::try_from(buffer - BASE).expect("inside");
        assert_eq!(ram.0[at..at + 100], [head; 100]);
        assert_eq!(ram.word(0x3000), u64::from(head));
    }
    let (reports, _) = call(&mut ram, &[allocate], &[1; 100]);
    assert_eq!(reports[0], ended(End::NoBuffer, Stage::Nowhere, 100, 0));
    ram.store(0x3008, &[7]);
    let longer = Operation { length: 101, ..allocate };
    assert_eq!(
        call(&mut ram, &[longer], &[1; 101]).0[0],
        ended(End::TooLong, Stage::Nowhere, 101, 0),
        "a tail behind the head is no end"
    );
    ram.store(0x3100, &[0]);
    assert_eq!(call(&mut ram, &[allocate], &[1; 100]).0[0], ended(End::Null, Stage::Nowhere, 100, 0));
    assert_eq!(ram.word(0x3000), 8);
    ram.store(0x3000, &[u64::MAX, 0]);
    let (reports, _) = call(&mut ram, &[allocate], &[1; 100]);
    assert_eq!((reports[0].address, ram.word(0x3000)), (0x4200, 0), "the counter wraps");
}

#[test]
fn a_buffer_is_published_by_a_conditional_swap() {
    let forwarded = Operation {
        conditional: true,
        forward: true,
        forward_word: 1,
        ..operation(Kind::CompareAndSwap, 0x1040, 16)
    };
    let allocate = operation(Kind::Allocate, 0x3000, 100);
    let mut ram = with_list();
    ram.store(0x1040, &[0, 0]);
    let data = [operands(0, u64::MAX, 0xf00d, u64::MAX), vec![0; 100]].concat();
    let (reports, _) = call(&mut ram, &[allocate, forwarded], &data);
    assert_eq!(outcomes(&reports), [End::Done, End::Done, End::NotReached, End::NotReached]);
    assert_eq!((ram.word(0x1040), ram.word(0x1048)), (0xf00d, 0x4000));
    // The same by way of memory.
    let redirected = Operation { redirect: true, redirect_address: 0x1060, ..allocate };
    let led = Operation { forward: false, data_indirect: true, data_address: 0x1058, ..forwarded };
    ram.store(0x1058, &[0xf11d]);
    let (reports, answer) = call(&mut ram, &[redirected, led], &operands(0x4000, 0, 0, u64::MAX));
    assert_eq!(outcomes(&reports)[..2], [End::Done; 2]);
    assert_eq!((ram.word(0x1040), ram.word(0x1048)), (0xf11d, 0x4100));
    assert_eq!(answer.len(), 64, "only the swap answers");
    // Without a buffer nothing is published.
    ram.store(0x3000, &[8]);
    let (reports, _) = call(&mut ram, &[allocate, forwarded], &operands(0, 0, 0, u64::MAX));
    assert_eq!(outcomes(&reports)[..2], [End::NoBuffer, End::Skipped]);
    assert_eq!(reports[1], ended(End::Skipped, Stage::Nowhere, 0, 0));
    assert_eq!(ram.word(0x1048), 0x4100);
}

#[test]
fn conditions_look_at_the_operation_before() {
    let mut ram = ram();
    ram.store(0x2000, &[0]);
    let good = operation(Kind::Read, 0x1000, 8);
    let null = Operation { indirect: true, ..operation(Kind::Read, 0x2000, 8) };
    let conditional = Operation { conditional: true, ..good };
    let (reports, data) = call(&mut ram, &[conditional, null, conditional, conditional], &[]);
    assert_eq!(outcomes(&reports), [End::Done, End::Null, End::Skipped, End::Skipped]);
    assert_eq!(data.len(), 64);
    let (reports, _) = call(&mut ram, &[null, good, conditional, null], &[]);
    assert_eq!(outcomes(&reports), [End::Null, End::Done, End::Done, End::Null]);
}

#[test]
fn results_go_aside() {
    let mut ram = ram();
    let aside = |kind, length| Operation {
        redirect: true,
        redirect_address: 0x1301,
        ..operation(kind, 0x1200, length)
    };
    let (reports, data) = call(&mut ram, &[aside(Kind::Read, 100)], &[]);
    assert_eq!((reports[0], data.len()), (done(100, 0x1200, false), 0));
    assert_eq!(ram.0[0x301..0x365], ram.0[0x200..0x264]);
    ram.store(0x1200, &[1, 2]);
    let never = operands(0, u64::MAX, 3, u64::MAX);
    let (reports, _) = call(&mut ram, &[aside(Kind::CompareAndSwap, 16)], &never);
    assert_eq!(reports[0], ended(End::NotSwapped, Stage::Nowhere, 16, 0x1200));
    assert_eq!((ram.word(0x1301), ram.word(0x1309)), (1, 2), "what was there, swapped or not");
}

#[test]
fn a_failure_ends_the_chain_and_tells_its_stage() {
    let plain = operation(Kind::Read, 0x1000, 8);
    let write = operation(Kind::Write, 0x1000, 8);
    let swap = operation(Kind::CompareAndSwap, 0x1000, 8);
    let allocate = operation(Kind::Allocate, 0x3000, 8);
    for (bad, end) in [(FAILING, End::Failed), (REFUSED, End::Refused), (0, End::Refused)] {
        let cases = [
            (Operation { indirect: true, address: bad, ..plain }, Stage::Pointer, false, 0),
            (Operation { data_indirect: true, data_address: bad, ..write }, Stage::Data, false, 0x1000),
            (Operation { address: bad, ..plain }, Stage::Target, false, bad),
            (Operation { address: bad, ..swap }, Stage::Target, false, bad),
            (Operation { address: bad, ..write }, Stage::Write, false, bad),
            (Operation { address: bad, ..allocate }, Stage::List, false, 0),
            (Operation { redirect: true, redirect_address: bad, ..plain }, Stage::Redirect, true, 0x1000),
            (Operation { redirect: true, redirect_address: bad, ..swap }, Stage::Redirect, true, 0x1000),
            (Operation { redirect: true, redirect_address: bad, ..allocate }, Stage::Redirect, true, 0x4000),
        ];
        for (operation, stage, applied, address) in cases {
            let mut ram = with_list();
            let (reports, data) = call(&mut ram, &[plain, operation, plain], &operands(0, 0, 0, 0));
            let expected = Report { applied, ..ended(end, stage, 8, address) };
            assert_eq!(reports, [done(8, 0x1000, true), expected, Report::default(), Report::default()]);
            assert_eq!(data.len(), 64);
        }
    }
    // Another key, a ring out of reach, a buffer that is only readable.
    let mut ram = with_list();
    assert_eq!(outcomes(&call(&mut ram, &[Operation { key: 9, ..plain }], &[]).0)[0], End::Refused);
    ram.store(0x3010, &[FAILING]);
    assert_eq!(
        call(&mut ram, &[allocate], &[0; 8]).0[0],
        ended(End::Failed, Stage::List, 8, 0),
        "nothing was taken"
    );
    assert_eq!(ram.word(0x3000), 5);
    ram.store(0x3010, &[0x3100]);
    ram.store(0x3108, &[READ_ONLY]);
    let (reports, _) = call(&mut ram, &[allocate], &[0; 8]);
    assert_eq!(reports[0], ended(End::Refused, Stage::Write, 8, READ_ONLY));
    assert_eq!(ram.word(0x3000), 6, "the head had moved on");
    let swap = Operation { address: READ_ONLY, ..swap };
    let (reports, _) = call(&mut ram, &[swap], &operands(0, 0, 0, 0));
    assert_eq!(reports[0], ended(End::Refused, Stage::Write, 8, READ_ONLY));
}

#[test]
fn each_operation_out_of_range_is_refused() {
    let read = operation(Kind::Read, 0x1000, 8);
    let write = operation(Kind::Write, 0x1000, 8);
    let swap = operation(Kind::CompareAndSwap, 0x1000, 8);
    let allocate = operation(Kind::Allocate, 0x3000, 8);
    let bad = [
        Operation { length: 0, ..read },
        Operation { length: 4097, ..read },
        Operation { length: u32::MAX, ..read },
        Operation { bounded: true, ..read },
        Operation { data_indirect: true, ..read },
        Operation { forward: true, ..read },
        Operation { length: 0, ..write },
        Operation { length: 129, ..write },
        Operation { bounded: true, ..write },
        Operation { redirect: true, ..write },
        Operation { forward: true, ..write },
        Operation { length: 4097, data_indirect: true, ..write },
        Operation { length: 0, ..swap },
        Operation { length: 12, ..swap },
        Operation { length: 40, ..swap },
        Operation { length: 264, ..swap },
        Operation { indirect: true, bounded: true, ..swap },
        Operation { forward: true, data_indirect: true, ..swap },
        Operation { length: 0, ..allocate },
        Operation { length: 129, ..allocate },
        Operation { indirect: true, ..allocate },
        Operation { indirect: true, bounded: true, ..allocate },
        Operation { forward: true, ..allocate },
    ];
    for operation in bad {
        for chain in [vec![operation], vec![read, read, read, operation]] {
            assert_eq!(accepted(&invocation(&chain, &[0; 128])), None, "{operation:?}");
        }
    }
    for operation in [read, write, swap, allocate] {
        assert!(accepted(&invocation(&[operation], &[0; 128])).is_some());
    }
    assert_eq!(accepted(&invocation(&[swap], &[0; 127])), None);
    assert!(accepted(&invocation(&[Operation { length: 128, ..write }], &[0; 128])).is_some());
    let copy = Operation { length: 4096, data_indirect: true, ..write };
    assert!(accepted(&invocation(&[copy], &[])).is_some());
}

#[test]
fn requests_and_answers_have_their_limits() {
    let read = operation(Kind::Read, 0x1000, 65);
    let swap = operation(Kind::CompareAndSwap, 0x1000, 32);
    let aside = Operation { redirect: true, ..read };
    let good = invocation(&[read, swap, aside], &[0; 128]);
    let with = |change: fn(&mut SlotCommand)| {
        let mut changed = good.clone();
        change(&mut changed.command);
        accepted(&changed).is_some()
    };
    assert!(with(|_| {}));
    assert!(with(|head| head.response_max = 256) && !with(|head| head.response_max = 255));
    assert!(!with(|head| head.flags = 1));
    assert!(!with(|head| head.parameter_words = 2) && !with(|head| head.parameter_words = 0));
    assert!(!with(|head| head.request_length = 3) && !with(|head| head.request_length = 4));
    assert!(accepted(&invocation(&[read], &[0; 8192 - 64])).is_some());
    assert_eq!(accepted(&invocation(&[read], &[0; 8192 - 63])), None);
    for count in [0, 5, 0xff] {
        let parameters = Parameters::new(&Chain { count }.to_bytes()).expect("a word");
        let changed = Invocation::new(good.command, parameters, vec![0; 512]);
        assert_eq!(accepted(&changed), None);
    }
    let four = Parameters::new(&Chain { count: 4 }.to_bytes()).expect("a word");
    assert_eq!(accepted(&Invocation::new(good.command, four, vec![0; 255])), None, "less than four lines");
}
