//! Reads and writes of the card reach memory, in order.

use super::*;
use stroma_verilate::{Pause, SplitMix64};

/// What a completion's descriptor says: lower address, byte count, request completed, status, error, tag.
fn told(words: &[u32]) -> (u32, u32, bool, u32, u32, u32) {
    (
        field(words, 0, 12),
        field(words, 16, 13),
        field(words, 30, 1) == 1,
        field(words, 43, 3),
        field(words, 12, 4),
        field(words, 64, 8),
    )
}

#[test]
fn a_write_is_seen_by_a_read_behind_it_and_by_the_processor_later() {
    let mut rig = Rig::new(Config::default(), 1);
    rig.send(Asked::write(BASE + 0x10, &[0x0403_0201, 0x0807_0605]).beats());
    rig.send(Asked::read(BASE + 0x10, 2, 7).beats());
    assert_eq!(rig.bytes(0x10, 8), [0; 8], "450 ns are not over");
    rig.run(400);
    assert_eq!(rig.bytes(0xc, 16), [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0]);
    let [completion] = &rig.completions[..] else { panic!("one, not {:x?}", rig.completions) };
    assert_eq!(told(completion), (0x10, 8, true, 0, 0, 7));
    assert_eq!(completion[3..], [0x0403_0201, 0x0807_0605]);
    assert_eq!(rig.sequence, [0, 0]);
    assert!(rig.block.is_idle());
}

#[test]
fn byte_enables_choose_the_bytes_that_are_written() {
    let mut rig = Rig::new(Config::default(), 2);
    let mut write = Asked::new(BASE, 1, 3, (0b1000, 0b0011), 5);
    write.words.extend([0x1111_1111, 0x2222_2222, 0x3333_3333]);
    rig.send(write.beats());
    rig.run(200);
    assert_eq!(rig.bytes(0, 12), [0, 0, 0, 0x11, 0x22, 0x22, 0x22, 0x22, 0x33, 0x33, 0, 0]);
    assert_eq!(rig.sequence, [5]);
}

#[test]
fn what_the_iommu_stops_is_refused_and_changes_nothing() {
    let mut rig = Rig::new(Config::default(), 3);
    rig.block.iommu().hide(BASE + 0x1000);
    rig.send(Asked::read(BASE + 0x1000, 16, 9).beats());
    rig.send(Asked::write(BASE + 0x1000, &[7]).beats());
    rig.run(400);
    let [completion] = &rig.completions[..] else { panic!("one, not {:x?}", rig.completions) };
    let (_, _, is_last, status, error, tag) = told(completion);
    assert_eq!((completion.len(), is_last, status, error, tag), (3, true, 1, 2, 9));
    assert_eq!((rig.bytes(0x1000, 4), rig.block.iommu().faults().len()), (vec![0; 4], 2));
}

#[test]
fn a_read_of_nothing_is_answered_with_one_word() {
    let mut rig = Rig::new(Config::default(), 4);
    rig.send(Asked::new(BASE + 8, 0, 1, (0, 0), 0).beats());
    rig.run(400);
    assert_eq!(told(&rig.completions[0]), (8, 1, true, 0, 0, 0));
    assert_eq!(rig.completions[0].len(), 4);
}

/// Reads of all sizes, under stalls and with credits that run dry: each tag gets its bytes once, in order, cut at the boundary.
fn reads_come_back(config: Config, seed: u64) {
    let mut rig = Rig::new(config, seed);
    let mut random = SplitMix64::new(seed);
    let content: Vec<u8> = (0..PAGES * 4096).map(|_| random.next_u64().to_le_bytes()[0]).collect();
    rig.memory.write(0, &content).expect("inside");
    rig.block.set_weather(Weather {
        requests: Pause::Random { seed, percent: 30 },
        completions: Pause::Random { seed: seed + 1, percent: 30 },
        credits: Pause::Burst { go: 300, pause: 900 },
        ..Weather::default()
    });
    let tags = if config.extended_tags { 256 } else { 32 };
    let mut asked = Vec::new();
    for tag in 0..tags {
        let start = random.below(64 * u64::from(tag % 8 + 1)) & !3;
        let most = (u64::from(config.max_read) / 4).min((4096 - start) / 4);
        let dwords = usize::try_from(1 + random.below(most)).unwrap();
        asked.push((usize::try_from(start).unwrap(), dwords * 4));
        // The block has no room for completions without end.
        let in_flight = |rig: &Rig, asked: &[(usize, usize)]| {
            let came: usize = rig.completions.iter().map(|words| (words.len() - 3) * 4).sum();
            asked.iter().map(|(_, bytes)| bytes).sum::<usize>() - came
        };
        while in_flight(&rig, &asked) > 16 << 10 {
            rig.step();
        }
        rig.send(Asked::read(BASE + start, dwords, tag).beats());
    }
    let mut waited = 0;
    while !rig.block.is_idle() {
        rig.step();
        waited += 1;
        assert!(waited < 100_000, "reads are lost");
    }
    let mut left = asked.clone();
    let (mut order, mut is_cut) = (Vec::new(), false);
    for words in &rig.completions {
        let (lower, count, is_last, status, error, tag) = told(words);
        let (at, remaining) = &mut left[tag as usize];
        let data = super::super::bits::bytes(&words[3..]);
        assert_eq!((status, error, lower as usize, count as usize), (0, 0, *at % 4096, *remaining));
        assert_eq!(data[..], content[*at..*at + data.len()], "tag {tag}");
        *at += data.len();
        *remaining -= data.len();
        assert_eq!(is_last, *remaining == 0);
        assert!(is_last || *at % config.boundary as usize == 0, "cut at {at:#x}");
        assert!(data.len() <= config.max_payload as usize);
        is_cut |= !is_last;
        if is_last {
            order.push(tag);
        }
    }
    assert!(left.iter().all(|(_, remaining)| *remaining == 0));
    assert!(is_cut && !order.is_sorted(), "chance cuts and reorders");
}

#[test]
fn reads_come_back_in_pieces_and_in_any_order() {
    for (seed, boundary, max_payload, max_read) in
        [(10, 64, 128, 512), (11, 128, 256, 512), (12, 64, 512, 256), (13, 128, 1024, 4096)]
    {
        reads_come_back(Config { max_payload, max_read, boundary, ..Config::default() }, seed);
    }
    reads_come_back(Config { extended_tags: false, ..Config::default() }, 14);
}

#[test]
fn writes_become_visible_in_the_order_they_were_sent() {
    let mut rig = Rig::new(Config::default(), 20);
    rig.block.set_weather(Weather { credits: Pause::Burst { go: 100, pause: 400 }, ..Weather::default() });
    let words: Vec<u32> = (1..=600).collect();
    let mut sent = words.iter().map(|word| Asked::write(BASE, &[*word]).beats());
    let mut seen = vec![0];
    while *seen.last().unwrap() != 600 {
        match sent.next() {
            Some(beats) => rig.send(beats),
            None => rig.step(),
        }
        let word = u32::from_le_bytes(rig.bytes(0, 4).try_into().unwrap());
        if word != *seen.last().unwrap() {
            seen.push(word);
        }
    }
    assert!(seen.is_sorted() && seen.len() > 100, "{seen:?}");
    assert_eq!(rig.block.visible(), 600);
}

#[test]
fn credits_that_run_dry_stop_the_stream_and_show_at_the_pin() {
    let mut rig = Rig::new(Config::default(), 21);
    rig.block.set_weather(Weather { credits: Pause::Always, ..Weather::default() });
    for tag in 0..32 {
        rig.send(Asked::read(BASE, 1, tag).beats());
    }
    rig.run(100);
    assert_eq!(rig.block.pins().nonposted_credits, 0);
    for tag in 32..40 {
        rig.send(Asked::read(BASE, 1, tag).beats());
    }
    assert!(!rig.block.pins().rq_ready, "reads without credits fill the block");
    rig.run(1000);
    assert!(!rig.block.pins().rq_ready && rig.completions.len() == 32);
    rig.block.set_weather(Weather::default());
    rig.run(1000);
    assert_eq!((rig.block.pins().nonposted_credits, rig.completions.len()), (15, 40));
}

#[test]
fn a_link_that_was_reset_starts_anew() {
    let mut rig = Rig::new(Config::default(), 22);
    rig.send(Asked::read(BASE, 4, 3).beats());
    rig.send(Asked::write(BASE, &[1]).beats());
    rig.run(20);
    rig.block.reset_link();
    rig.run(500);
    assert_eq!((rig.completions.len(), rig.bytes(0, 4)), (0, vec![0; 4]));
    rig.send(Asked::read(BASE, 4, 3).beats());
    rig.run(500);
    assert_eq!(rig.completions.len(), 1);
}

#[test]
fn beats_have_sixteen_words() {
    assert_eq!(Asked::write(BASE, &[0; 13]).beats().len(), 2);
    assert_eq!(Asked::write(BASE, &[0; LANES - 4]).beats().len(), 1);
}
