//! Parts of the kernel by themselves: what random items meet too rarely.

use std::collections::VecDeque;

use stroma_abi::kernel::hyperloglog::{RANK_MAX, place};
use stroma_hw::testing::verilated;
use stroma_verilate::{Bench, SplitMix64};

use super::super::{lane::Lane, maximum::Maximum, rank::Rank};

fn set(bench: &mut Bench, name: &str, value: u64) {
    let port = bench.model().port(name).expect("a port of the block");
    bench.model_mut().set(port, value);
}

fn get(bench: &Bench, name: &str) -> u64 {
    bench.model().get(bench.model().port(name).expect("a port of the block"))
}

#[test]
fn every_rank_is_found() {
    let mut bench = verilated("first_one", Rank::default);
    bench.reset(2);
    let mut rng = SplitMix64::new(1);
    let mut under_way = VecDeque::from([None, None]);
    let mut found = std::collections::BTreeSet::new();
    for at in 0..2000_u64 {
        // So many zeros behind the register's number, then a one, then anything; or zeros to the end.
        let zeros = at % 49;
        let above = if zeros == 48 { 0 } else { (rng.next_u64() << 17 | 1 << 16) << zeros };
        let hash = above | rng.below(1 << 16);
        let is_there = rng.below(4) > 0;
        set(&mut bench, "is_there", is_there.into());
        set(&mut bench, "hash", hash);
        bench.step();
        under_way.push_back(is_there.then_some(hash));
        let expected: Option<u64> = under_way.remove(1).expect("two stages");
        assert_eq!(get(&bench, "is_ranked") == 1, expected.is_some());
        if let Some(hash) = expected {
            let (register, rank) = place(hash);
            assert_eq!(
                (get(&bench, "register"), get(&bench, "rank")),
                (register.into(), rank.into()),
                "{hash:#x}"
            );
            found.insert(rank);
        }
    }
    assert!(found.into_iter().eq(1..=RANK_MAX));
}

#[test]
fn a_lane_keeps_the_largest_of_any_ranks() {
    let mut bench = verilated("lane", Lane::default);
    bench.reset(2);
    set(&mut bench, "sweeps", 0);
    let mut rng = SplitMix64::new(2);
    let mut registers = vec![0_u64; 1 << 16];
    // Few registers, in few words, so that each cycle meets those before it at every distance; and others soon, so that what is
    // lost is not made good by what follows.
    let places = [0_u64, 1, 15, 16, 17];
    for at in 0..20_000_u64 {
        let spread = 1 + at / 100 % 5;
        let register = places[usize::try_from(rng.below(spread)).expect("small")] + at / 10 * 32;
        let (register, rank) = (register & 0xffff, 1 + rng.below(49));
        let is_there = rng.below(1 + at / 1000 % 8) == 0;
        set(&mut bench, "is_there", is_there.into());
        set(&mut bench, "register", register);
        set(&mut bench, "rank", rank);
        bench.step();
        if is_there {
            let held = &mut registers[usize::try_from(register).expect("16 bits")];
            *held = rank.max(*held);
        }
    }
    set(&mut bench, "is_there", 0);
    bench.run(4);
    for (is_wiped, wipes) in [(false, 0), (false, 1), (true, 0)] {
        for word in 0..registers.len() as u64 / 16 {
            set(&mut bench, "sweeps", 1);
            set(&mut bench, "wipes", wipes);
            set(&mut bench, "at", word);
            bench.step();
            set(&mut bench, "sweeps", 0);
            bench.step();
            let port = bench.model().port("word").expect("a port of the block");
            let shown: Vec<u8> =
                bench.model().get_wide(port).iter().flat_map(|word| word.to_le_bytes()).collect();
            let from = usize::try_from(word).expect("small") * 16;
            let expected = registers[from..from + 16].iter().map(|held| if is_wiped { 0 } else { *held });
            assert!(
                shown.iter().map(|held| u64::from(*held)).eq(expected),
                "word {word}, wipes {wipes}: {shown:?}"
            );
        }
    }
    assert!(registers.contains(&49));
}

#[test]
fn the_larger_of_any_two_registers_is_chosen() {
    let mut bench = verilated("maximum", Maximum::default);
    let mut rng = SplitMix64::new(3);
    for pair in 0..50 * 50_u64 {
        // All pairs in one register, and anything in the others.
        let at = usize::try_from(pair % 16).expect("small");
        let mut words = [[0_u8; 16]; 2];
        for (word, own) in words.iter_mut().zip([pair / 50, pair % 50]) {
            *word = std::array::from_fn(|_| rng.below(50).to_le_bytes()[0]);
            word[at] = own.to_le_bytes()[0];
        }
        for (name, word) in ["left", "right"].into_iter().zip(words) {
            let port = bench.model().port(name).expect("a port of the block");
            let words: Vec<u32> = word.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
            bench.model_mut().set_wide(port, &words);
        }
        bench.step();
        let port = bench.model().port("larger").expect("a port of the block");
        let shown: Vec<u8> =
            bench.model().get_wide(port).iter().flat_map(|word| word.to_le_bytes()).collect();
        let larger: Vec<u8> = words[0].iter().zip(words[1]).map(|(left, right)| right.max(*left)).collect();
        assert_eq!(shown, larger);
    }
}
