//! Every rule of `s_axis_rq` can be broken, and is then named.

use super::*;

/// Sends one packet, as it is.
fn told_off(config: Config, beats: Vec<RqBeat>) -> Option<String> {
    panics(move || {
        let mut rig = Rig::new(config, 1);
        rig.run(100);
        rig.send(beats);
        rig.step();
    })
}

#[test]
fn requests_that_break_a_rule_are_told_which() {
    let (config, short_tags) = (Config::default(), Config { extended_tags: false, ..Config::default() });
    let no_master = Config { is_master: false, ..config };
    let write = |dwords: usize| Asked::write(BASE, &vec![1; dwords]);
    let read = |dwords: usize| Asked::read(BASE, dwords, 40);
    for (config, asked, rule) in [
        (config, read(4).with(0, 2, 1), "address type"),
        (config, write(4).with(79, 1, 1), "poisoned"),
        (config, write(4).with(80, 8, 1), "requester function"),
        (config, write(4).with(120, 1, 1), "requester ID enable"),
        (config, write(4).with(121, 3, 1), "traffic class"),
        (config, write(4).with(124, 3, 2), "attributes"),
        (config, write(4).with(127, 1, 1), "force ECRC"),
        (config, write(4).with_user(16, 4, 1), "addr_offset"),
        (config, write(4).with_user(37, 2, 1), "tph_present"),
        (config, write(4).with_user(36, 1, 1), "discontinue"),
        (config, read(0), "no such length"),
        (config, Asked::new(BASE, 2, 1, (0xf, 0), 0), "neither a read nor a write"),
        (config, read(129), "over 512 bytes"),
        (config, write(65), "over 256 bytes"),
        (config, Asked::read(BASE + 0xffc, 2, 0), "crosses 4 KiB"),
        (config, Asked::write(BASE + 0xff0, &[0; 8]), "crosses 4 KiB"),
        (short_tags, read(4), "without extended tags"),
        (config, Asked::new(BASE, 0, 1, (0xf, 0xf), 0), "last byte enables"),
        (config, Asked::new(BASE, 0, 2, (0xf, 0), 0), "no byte enabled"),
        (config, Asked::new(BASE, 0, 2, (0, 0xf), 0), "no byte enabled"),
        (config, Asked::new(BASE, 0, 3, (0b0111, 0xf), 0), "leave a hole"),
        (config, Asked::new(BASE, 0, 3, (0xf, 0b1110), 0), "leave a hole"),
        (config, Asked::new(BASE + 4, 0, 2, (0b1010, 0b0101), 0), "leave a hole"),
        (no_master, read(4), "no bus master"),
        (no_master, write(4), "no bus master"),
    ] {
        let told = told_off(config, asked.beats());
        assert!(told.as_ref().is_some_and(|told| told.contains(rule)), "{rule}: {told:?} of {asked:x?}");
    }
    for asked in [read(128), write(64), Asked::new(BASE, 0, 2, (0b1010, 0b0101), 0)] {
        assert_eq!(told_off(config, asked.beats()), None);
    }
    assert_eq!(told_off(short_tags, Asked::read(BASE, 4, 31).beats()), None);
}

#[test]
fn payload_has_the_length_that_the_descriptor_says() {
    let config = Config::default();
    let mut short = Asked::write(BASE, &[1; 4]);
    short.words.pop();
    let mut long = Asked::write(BASE, &[1; 4]);
    long.words.push(1);
    let mut loaded = Asked::read(BASE, 4, 0);
    loaded.words.push(1);
    let mut stump = Asked::read(BASE, 4, 0);
    stump.words.pop();
    for (asked, rule) in [
        (short, "with 3 words of payload"),
        (long, "with 5 words of payload"),
        (loaded, "a read with 1 words of payload"),
        (stump, "no descriptor"),
    ] {
        let told = told_off(config, asked.beats()).unwrap_or_default();
        assert!(told.contains(rule), "{rule}: {told}");
    }
}

#[test]
fn beats_keep_to_the_rules_of_the_stream() {
    let whole = Asked::write(BASE, &[1; 20]).beats();
    let change = |at: usize, change: &dyn Fn(&mut RqBeat)| {
        let mut beats = whole.clone();
        change(&mut beats[at]);
        beats
    };
    for (beats, rule) in [
        (change(1, &|beat| beat.keep = 0b1011), "has a hole"),
        (change(1, &|beat| beat.keep = 0), "without a word"),
        (change(0, &|beat| beat.keep = 0x7fff), "not the last"),
        (change(1, &|beat| beat.user[0] |= 1 << 20), "is_sop"),
        (change(0, &|beat| beat.user[0] |= 1 << 22), "is_sop_ptr"),
        (change(0, &|beat| beat.user[0] |= 1 << 26), "is_eop"),
        (change(1, &|beat| beat.user[0] ^= 1 << 28), "is_eop0_ptr"),
        (change(1, &|beat| beat.user[0] &= !(0xf << 26)), "both or neither"),
    ] {
        let told = told_off(Config::default(), beats).unwrap_or_default();
        assert!(told.contains(rule), "{rule}: {told}");
    }
    let mut bare = whole.clone();
    bare[0].user[0] &= !(3 << 20);
    bare[1].user[0] &= !(0xff << 26);
    assert_eq!(told_off(Config::default(), bare), None, "marks are not looked at without straddling");
}

#[test]
fn a_packet_has_no_gaps_and_a_beat_on_offer_does_not_change() {
    let beats = Asked::write(BASE, &[1; 20]).beats();
    let gap = beats.clone();
    let told = panics(move || {
        let mut rig = Rig::new(Config::default(), 1);
        rig.shell.rq = Some(gap[0]);
        rig.step();
        rig.shell.rq = None;
        rig.step();
    });
    assert!(told.is_some_and(|told| told.contains("tvalid falls")));
    for changed in [None, Some(beats[1])] {
        let first = beats[0];
        let told = panics(move || {
            let mut rig = Rig::new(Config::default(), 1);
            rig.block.set_weather(Weather { requests: stroma_verilate::Pause::Always, ..Weather::default() });
            rig.run(2);
            rig.shell.rq = Some(first);
            rig.step();
            rig.shell.rq = changed;
            rig.step();
        });
        assert!(told.is_some_and(|told| told.contains("has to stay")));
    }
}

#[test]
fn a_tag_in_flight_is_not_used_again_until_its_last_completion() {
    let told = panics(|| {
        let mut rig = Rig::new(Config::default(), 1);
        rig.send(Asked::read(BASE, 4, 5).beats());
        rig.send(Asked::read(BASE, 4, 5).beats());
    });
    assert!(told.is_some_and(|told| told.contains("tag 5 is in flight")));
    let mut rig = Rig::new(Config::default(), 1);
    for _ in 0..3 {
        rig.send(Asked::read(BASE, 4, 5).beats());
        rig.run(400);
    }
    assert_eq!(rig.completions.len(), 3);
}

#[test]
fn completions_that_are_not_taken_do_not_fit_for_ever() {
    let told = panics(|| {
        let mut rig = Rig::new(Config::default(), 1);
        rig.shell.rc_ready = false;
        for tag in 0..100 {
            rig.send(Asked::read(BASE, 128, tag).beats());
        }
        rig.run(10_000);
    });
    assert!(told.is_some_and(|told| told.contains("no room for more")));
}
