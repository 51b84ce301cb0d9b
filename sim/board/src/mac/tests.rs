use super::*;
use stroma_verilate::SplitMix64;

const UP: FromShell = FromShell { tx: None, rx_enable: true, tx_enable: true, send_rfi: false };

/// A MAC whose link is up.
fn up(seed: u64) -> Mac {
    let mut mac = Mac::new(seed);
    mac.hear(Some(false));
    while !mac.pins().aligned {
        mac.edge(&UP);
    }
    mac
}

fn run(mac: &mut Mac, shell: &FromShell, edges: usize) {
    for _ in 0..edges {
        mac.edge(shell);
    }
}

fn beats(frame: &[u8], is_bad: bool) -> Vec<MacBeat> {
    let mut beats: Vec<MacBeat> = Vec::new();
    for bytes in frame.chunks(64) {
        let mut data = [0; 16];
        for (at, byte) in bytes.iter().enumerate() {
            data[at / 4] |= u32::from(*byte) << (at % 4 * 8);
        }
        let keep = (0..bytes.len()).fold(0, |keep, at| keep | 1 << at);
        beats.push(MacBeat { data, keep, last: false, user: false });
    }
    let last = beats.last_mut().expect("a frame has bytes");
    (last.last, last.user) = (true, is_bad);
    beats
}

/// Sends beats one after the other; the edges it took.
fn send(mac: &mut Mac, beats: &[MacBeat]) -> u64 {
    let start = mac.edges();
    for beat in beats {
        let shell = FromShell { tx: Some(*beat), ..UP };
        while !mac.pins().tx_ready {
            mac.edge(&shell);
        }
        mac.edge(&shell);
    }
    mac.edges() - start
}

/// Edges of 322.265625 MHz in which 100 Gb/s carry so many bytes.
fn edges(bytes: usize) -> u64 {
    bytes as u64 * 322_265_625 / 12_500_000_000
}

fn frame(random: &mut SplitMix64, length: usize) -> Vec<u8> {
    (0..length).map(|_| random.next_u64().to_le_bytes()[0]).collect()
}

fn panics(run: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let Err(fault) = std::panic::catch_unwind(run) else { return String::new() };
    let text = fault.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| fault.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[test]
fn the_link_comes_up_with_a_cable_and_receive_enabled() {
    let mut mac = Mac::new(1);
    assert!(mac.pins().rx_reset && mac.pins().tx_reset && !mac.pins().tx_ready);
    let down = FromShell { rx_enable: false, ..UP };
    run(&mut mac, &UP, 1000);
    assert!(!mac.pins().aligned && mac.pins().local_fault && !mac.pins().rx_reset, "no cable");
    mac.hear(Some(true));
    run(&mut mac, &down, 1000);
    assert!(!mac.pins().aligned, "receive is off");
    run(&mut mac, &UP, 1000);
    assert!(mac.pins().aligned && mac.pins().remote_fault && !mac.pins().local_fault);
    mac.hear(Some(false));
    mac.edge(&UP);
    assert!(!mac.pins().remote_fault);
    mac.hear(None);
    mac.edge(&UP);
    assert!(!mac.pins().aligned);
    assert!(!mac.arrive(&Frame { bytes: vec![0; 64], is_bad: false }), "the link is down");
}

#[test]
fn frames_arrive_whole_in_order_at_the_rate_of_the_wire_with_idle_beats_inside() {
    let (mut mac, mut random) = (up(3), SplitMix64::new(4));
    let lengths = [60, 64, 65, 61, 128, 129, 1500, 4096, 9000, 65, 65, 65];
    let frames: Vec<(Vec<u8>, bool)> =
        lengths.iter().enumerate().map(|(at, length)| (frame(&mut random, *length), at % 4 == 2)).collect();
    for (bytes, is_bad) in &frames {
        assert!(mac.arrive(&Frame { bytes: bytes.clone(), is_bad: *is_bad }));
    }
    let (start, mut got, mut bytes, mut idle) = (mac.edges(), Vec::new(), Vec::new(), 0);
    while !mac.is_idle() || mac.pins().rx.is_some() {
        mac.edge(&UP);
        let Some(beat) = mac.pins().rx else {
            idle += usize::from(!bytes.is_empty());
            continue;
        };
        let count = beat.keep.count_ones() as usize;
        assert!(beat.last || count == 64);
        bytes.extend(beat.data.iter().flat_map(|word| word.to_le_bytes()).take(count));
        if beat.last {
            got.push((std::mem::take(&mut bytes), beat.user));
        }
        assert!(mac.edges() - start < 10_000);
    }
    assert_eq!(got, frames);
    assert!(idle > 0, "some frames have idle beats inside");
    // 12.5 bytes a nanosecond, 24 around each frame; the last gap of 12 is not waited for.
    let on_wire: usize = lengths.iter().map(|length| length + 24).sum::<usize>() - 12;
    let (edges, took) = (edges(on_wire), mac.edges() - start);
    assert!(took.abs_diff(edges) <= 4, "{took} edges, not {edges}");
}

#[test]
fn frames_leave_whole_and_no_faster_than_the_wire() {
    let (mut mac, mut random) = (up(5), SplitMix64::new(6));
    let frames: Vec<Vec<u8>> = (0..200).map(|at| frame(&mut random, 60 + at * 7)).collect();
    for stalls in [Pause::None, Pause::Random { seed: 7, percent: 40 }] {
        mac.stall(stalls);
        let start = mac.edges();
        for (at, bytes) in frames.iter().enumerate() {
            send(&mut mac, &beats(bytes, at % 5 == 0));
        }
        let mut sent = Vec::new();
        while sent.len() < frames.len() {
            mac.edge(&UP);
            sent.extend(mac.sent());
        }
        let expected: Vec<Frame> = (0..)
            .zip(&frames)
            .map(|(at, bytes)| Frame { bytes: bytes.clone(), is_bad: at % 5 == 0 })
            .collect();
        assert_eq!(sent, expected);
        let on_wire: usize = frames.iter().map(|bytes| bytes.len() + 24).sum();
        assert!(mac.edges() - start + 1 >= edges(on_wire));
    }
}

#[test]
fn a_mac_that_may_not_send_takes_a_little_and_keeps_it() {
    let mut mac = up(8);
    let [frame] = &beats(&[7; 60], false)[..] else { panic!("one beat") };
    for quiet in [FromShell { tx_enable: false, ..UP }, FromShell { send_rfi: true, ..UP }] {
        let mut taken = 0;
        for _ in 0..1000 {
            taken += usize::from(mac.pins().tx_ready);
            mac.edge(&FromShell { tx: Some(*frame), ..quiet.clone() });
        }
        assert!(taken < 20 && mac.sent().is_none(), "{taken}");
        assert_eq!(mac.sends_rfi(), quiet.send_rfi);
        // The beat on offer is taken first.
        send(&mut mac, &[*frame]);
        run(&mut mac, &UP, 100);
        assert_eq!(std::iter::from_fn(|| mac.sent()).count(), taken + 1);
    }
}

#[test]
fn rules_of_transmit_are_told_when_broken() {
    let long = beats(&[1; 200], false);
    let change = |at: usize, change: &dyn Fn(&mut MacBeat)| {
        let mut beats = long.clone();
        change(&mut beats[at]);
        beats
    };
    for (beats, rule) in [
        (change(3, &|beat| beat.keep = 0b101), "has a hole"),
        (change(3, &|beat| beat.keep = 0), "has a hole"),
        (change(1, &|beat| beat.keep >>= 1), "not the last"),
        (beats(&[1; 59], false), "may lock up"),
    ] {
        let told = panics(move || assert_ne!(send(&mut up(1), &beats), 0));
        assert!(told.contains(rule), "{rule}: {told}");
    }
    let (gap, changed) = (long.clone(), long.clone());
    let told = panics(move || {
        let mut mac = up(1);
        send(&mut mac, &gap[..1]);
        mac.edge(&UP);
    });
    assert!(told.contains("tvalid falls"), "{told}");
    let told = panics(move || {
        let mut mac = up(1);
        mac.stall(Pause::Always);
        mac.edge(&UP);
        mac.edge(&FromShell { tx: Some(changed[0]), ..UP });
        mac.edge(&FromShell { tx: Some(changed[3]), ..UP });
    });
    assert!(told.contains("has to stay"), "{told}");
}
