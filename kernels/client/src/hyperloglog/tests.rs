use super::*;
use stroma_abi::desc::SlotCommand;
use stroma_kernel_models::{Failure, Invocation, Memory, hyperloglog::Kernel};

/// Takes all that is written.
struct Nowhere;

impl Memory for Nowhere {
    fn read(&mut self, _: u32, _: u64, _: usize) -> Result<Vec<u8>, Failure> {
        unreachable!("hyperloglog reads nothing")
    }

    fn write(&mut self, _: u32, _: u64, _: &[u8]) -> Result<(), Failure> {
        Ok(())
    }
}

fn call(kernel: &mut Kernel, task: &impl Call, payload: &[u8]) -> Vec<u8> {
    let command = SlotCommand { response_max: 65_536, ..SlotCommand::default() };
    let outcome = kernel.run(&Invocation::new(command, task.parameters(), payload.to_vec()), &mut Nowhere);
    assert_eq!(outcome.status, 0);
    outcome.data
}

/// Three standard errors.
const MOST: f64 = 3.0 * 1.04 / 256.0;

#[test]
fn what_the_kernel_counts_is_what_software_counts_with_the_same_hash() {
    let payload: Vec<u8> =
        (0..100_000_u32).flat_map(|at| at.wrapping_mul(0x1234_5677).to_be_bytes()).collect();
    for item in ITEMS {
        let mut kernel = Kernel::default();
        call(&mut kernel, &clear(9), &[]);
        let mut software = Sketch::default();
        for (at, part) in payload.chunks(48_000).enumerate() {
            let task = if at % 2 == 0 { count(9, item, 0x1000) } else { count_only(9, item) };
            call(&mut kernel, &task.expect("a known size"), part);
            part.chunks(item.into()).for_each(|item| software.insert(item));
            let card = Sketch::from_answer(&call(&mut kernel, &read(9), &[])).expect("registers");
            assert_eq!(card, software);
            assert_eq!(card.estimate().to_bits(), software.estimate().to_bits());
        }
        assert_eq!(Sketch::from_answer(&call(&mut kernel, &take(9), &[])), Some(software));
        assert_eq!(Sketch::from_answer(&call(&mut kernel, &read(9), &[])), Some(Sketch::default()));
    }
}

/// Items by number, all different.
type Items = fn(u32) -> [u8; 16];

fn words(words: [u32; 4]) -> [u8; 16] {
    std::array::from_fn(|at| words[at / 4].to_le_bytes()[at % 4])
}

/// Kinds of items, each by what changes in the first 4, 8 and 16 bytes.
const KINDS: [(&str, [Items; 3]); 5] = [
    ("sequential", [|at| words([at, 0, 0, 0]), |at| words([0, at, 0, 0]), |at| words([7, 0, at, 0])]),
    (
        "strided",
        [
            |at| words([at << 7, 0, 0, 0]),
            |at| words([at << 12, at >> 20, 0, 0]),
            |at| words([0, 0, at >> 16, at << 16]),
        ],
    ),
    (
        // Each word is a permutation of all numbers, so that none comes twice.
        "random",
        [
            |at| words([scatter(at), 0, 0, 0]),
            |at| words([scatter(at), scatter(!at), 0, 0]),
            |at| words([scatter(at), scatter(!at), scatter(at ^ 0x5555), scatter(at ^ 0x3333)]),
        ],
    ),
    (
        "low entropy",
        [
            |at| words([at.reverse_bits(), 0, 0, 0]),
            |at| words([at & 0xfff, at >> 12, 0, 0]),
            |at| words([at & 0x3f, at >> 6 & 0x3f, at >> 12 & 0x3f, at >> 18]),
        ],
    ),
    (
        "text",
        [
            |at| words([at ^ at >> 1, 0, 0, 0]),
            |at| words([digits(at / 10_000), digits(at % 10_000), 0, 0]),
            |at| words([digits(0), digits(at / 10_000), 0x0a0d_2020, digits(at % 10_000)]),
        ],
    ),
];

/// A permutation that has nothing in common with the hash: eight Feistel rounds on halves of 16 bits.
fn scatter(at: u32) -> u32 {
    (0..8).fold(at, |value, round| {
        let (high, low) = (value >> 16, value & 0xffff);
        let mixed = low.wrapping_mul(low).wrapping_add(0x6487 * (low ^ (round * 0x0357))) >> 5 & 0xffff;
        low << 16 | (high ^ mixed)
    })
}

/// Four decimal digits as text.
fn digits(number: u32) -> u32 {
    let digit = |at: u32| number / 10_u32.pow(3 - at) % 10 + 48;
    (0..4).fold(0, |text, at| text | digit(at) << (8 * at))
}

#[test]
fn estimates_are_within_three_standard_errors_from_a_hundred_to_ten_million() {
    for (kind, by_size) in KINDS {
        for (size, items) in ITEMS.into_iter().zip(by_size) {
            let mut sketch = Sketch::default();
            for at in 1..=10_000_000_u32 {
                sketch.insert(&items(at - 1)[..size.into()]);
                if [100, 1_000, 10_000, 100_000, 1_000_000, 3_000_000, 10_000_000].contains(&at) {
                    let error = sketch.estimate() / f64::from(at) - 1.0;
                    assert!(error.abs() < MOST, "{kind}, {size} bytes, {at} items: {error}");
                }
            }
        }
    }
}

#[test]
fn empty_and_full_sketches_have_estimates() {
    assert!(Sketch::default().estimate().abs() < f64::EPSILON);
    let full = Sketch::from_answer(&vec![RANK_MAX; REGISTERS]).expect("registers");
    assert!(full.estimate().is_infinite());
    // With one item, a register in 65,536.
    let mut one = Sketch::default();
    one.insert(&[1; 16]);
    assert!((one.estimate() - 1.0).abs() < 0.001, "{}", one.estimate());
}

#[test]
fn merged_sketches_are_the_sketch_of_both_sets() {
    let of = |range: std::ops::Range<u32>| {
        let mut sketch = Sketch::default();
        range.for_each(|at| sketch.insert(&at.to_le_bytes()));
        sketch
    };
    let mut merged = of(0..60_000);
    merged.merge(&of(40_000..100_000));
    assert_eq!(merged, of(0..100_000));
}

#[test]
fn bytes_that_are_no_registers_are_refused() {
    assert_eq!(Sketch::from_answer(&vec![0; REGISTERS - 1]), None);
    assert_eq!(Sketch::from_answer(&vec![RANK_MAX + 1; REGISTERS]), None);
    assert_eq!((count(1, 12, 0), count_only(1, 0)), (None, None));
}
