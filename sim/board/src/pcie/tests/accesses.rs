//! Stores and loads of the processor, and completions for them.

use super::super::stream::{CC, CQ, Packet};
use super::*;

/// What arrives on `m_axis_cq`.
fn arrived(rig: &mut Rig, gather: &mut Gather<6>, cycles: usize) -> Vec<Packet<6>> {
    let mut packets = Vec::new();
    for _ in 0..cycles {
        packets.extend(gather.cycle(rig.block.pins().cq.as_ref(), rig.shell.cq_ready));
        rig.step();
    }
    packets
}

fn answer(rig: &mut Rig, words: &[u32]) {
    for beat in beats(CC, words, [0; 3], (0, &vec![0; words.len()])) {
        rig.shell.cc = Some(beat);
        while !rig.block.pins().cc_ready {
            rig.step();
        }
        rig.step();
    }
    rig.shell.cc = None;
}

/// A completion for a request on `m_axis_cq`: lower address, byte count, data.
fn completion(request: &[u32], lower: u32, count: u32, data: &[u32]) -> Vec<u32> {
    let mut words = vec![0; 3];
    put(&mut words, 0, 7, lower);
    put(&mut words, 16, 13, count);
    put(&mut words, 32, 11, u32::try_from(data.len()).unwrap());
    put(&mut words, 48, 16, request[2] >> 16);
    put(&mut words, 64, 8, request[3] & 0xff);
    words.extend(data);
    words
}

#[test]
fn stores_arrive_as_packets_with_their_bytes() {
    let mut rig = Rig::new(Config::default(), 1);
    let mut gather = Gather::new(CQ);
    rig.block.store(Bar::Bar0, 0x1234, &[1, 2, 3, 4]);
    rig.block.store(Bar::Bar2, 0x100, &[5; 8]);
    rig.block.store(Bar::Bar4, 0x80, &(0..64).collect::<Vec<u8>>());
    rig.block.store(Bar::Bar0, 3, &[9, 8]);
    assert_eq!(arrived(&mut rig, &mut gather, 80), []);
    let packets = arrived(&mut rig, &mut gather, 20);
    let [word, pair, line, odd] = &packets[..] else { panic!("four, not {packets:x?}") };
    assert_eq!(word.words[..2], [0x1234, 0x38]);
    // One word, a write, by 00:03.0; BAR 0 of 2^24 bytes.
    assert_eq!(word.words[2..], [0x0018_0801, 24 << 19, 0x0403_0201]);
    assert_eq!((word.user[0] & 0xffff, word.user[0] >> 16), (0xf, 0));
    // Bytes 16 to 19; a packet's start, and its end in word 4.
    assert_eq!((word.user[1], word.user[2]), (0xf, 0x0441_0000));
    assert_eq!((pair.words[0], pair.words[2] & 0x7ff, pair.words[3] >> 16 & 7), (0x200_0100, 2, 2));
    assert_eq!(pair.user[0] & 0xffff, 0xf0f);
    assert_eq!((line.words.len(), line.words[19], line.words[3] >> 16 & 7), (20, 0x3f3e_3d3c, 4));
    assert_eq!(
        (odd.words[2] & 0x7ff, odd.words[4..].to_vec(), odd.user[0] & 0xffff),
        (2, vec![9 << 24, 8], 0x108)
    );
    assert_eq!(rig.block.accesses_under_way(), 0);
}

#[test]
fn a_load_gets_the_value_of_its_completion_behind_the_stores_before_it() {
    let mut rig = Rig::new(Config::default(), 1);
    let mut gather = Gather::new(CQ);
    rig.block.store(Bar::Bar0, 8, &[1; 4]);
    let (narrow, wide) = (rig.block.load(Bar::Bar0, 0x10, 4), rig.block.load(Bar::Bar2, 0x78, 8));
    let packets = arrived(&mut rig, &mut gather, 150);
    assert_eq!(packets.iter().map(|packet| packet.words.len()).collect::<Vec<_>>(), [5, 4, 4]);
    // The second is answered first.
    answer(&mut rig, &completion(&packets[2].words, 0x78, 8, &[0x7777_7777, 0x8888_8888]));
    answer(&mut rig, &completion(&packets[1].words, 0x10, 4, &[0x1234_5678]));
    assert_eq!(rig.block.loaded(wide), None, "it is on its way");
    rig.run(200);
    assert_eq!(rig.block.loaded(wide), Some(vec![0x77, 0x77, 0x77, 0x77, 0x88, 0x88, 0x88, 0x88]));
    assert_eq!(rig.block.loaded(narrow), Some(vec![0x78, 0x56, 0x34, 0x12]));
    assert_eq!(rig.block.loaded(narrow), None);
}

#[test]
fn a_long_load_may_be_cut_at_128_bytes_and_a_refused_one_reads_as_ones() {
    let mut rig = Rig::new(Config::default(), 1);
    let mut gather = Gather::new(CQ);
    let (long, refused) = (rig.block.load(Bar::Bar2, 0x40, 128), rig.block.load(Bar::Bar4, 0x1000, 8));
    let packets = arrived(&mut rig, &mut gather, 150);
    answer(&mut rig, &completion(&packets[0].words, 0x40, 128, &[1; 16]));
    answer(&mut rig, &completion(&packets[0].words, 0, 64, &[2; 16]));
    let mut refusal = completion(&packets[1].words, 0, 8, &[]);
    put(&mut refusal, 43, 3, 1);
    refusal.push(0xff);
    refusal.extend(&packets[1].words);
    answer(&mut rig, &refusal);
    rig.run(200);
    let expected: Vec<u8> = [1, 2].iter().flat_map(|word: &u32| word.to_le_bytes().repeat(16)).collect();
    assert_eq!((rig.block.loaded(long), rig.block.loaded(refused)), (Some(expected), Some(vec![0xff; 8])));
}

#[test]
fn completions_that_are_wrong_are_told_how() {
    type Spoil = fn(&mut Vec<u32>);
    let cases: [(Spoil, &str); 15] = [
        (|words| words[2] ^= 1, "which no load has"),
        (|words| words[1] ^= 1 << 16, "the requester is another"),
        (|words| words[0] ^= 4, "lower address"),
        (|words| words[0] ^= 8 << 16, "byte count"),
        (|words| words[0] |= 1 << 29, "locked"),
        (|words| words[1] |= 1 << 14, "poisoned"),
        (|words| words[2] |= 1 << 24, "completer ID enable"),
        (|words| words[2] |= 1 << 8, "completer function"),
        (|words| words[2] |= 1 << 28, "attributes"),
        (|words| words[1] |= 2 << 11, "status 2"),
        (|words| words[1] |= 1 << 11, "data with status 1"),
        (|words| words.truncate(4), "by its count"),
        (|words| words.truncate(2), "no descriptor"),
        (
            |words| {
                words[1] += 1;
                words.push(0);
            },
            "too many",
        ),
        (
            |words| {
                words[1] -= 1;
                words.pop();
            },
            "not at a multiple of 128",
        ),
    ];
    for (spoil, rule) in cases {
        let told = panics(move || {
            let mut rig = Rig::new(Config::default(), 1);
            rig.block.load(Bar::Bar0, 0x18, 8);
            let packets = arrived(&mut rig, &mut Gather::new(CQ), 150);
            let mut words = completion(&packets[0].words, 0x18, 8, &[1, 2]);
            spoil(&mut words);
            answer(&mut rig, &words);
        });
        assert!(told.as_ref().is_some_and(|told| told.contains(rule)), "{rule}: {told:?}");
    }
    let told = panics(|| {
        let mut rig = Rig::new(Config::default(), 1);
        answer(&mut rig, &completion(&[0; 4], 0, 4, &[1]));
    });
    assert!(told.is_some_and(|told| told.contains("which no load has")));
}
