use stroma_top::Profile;

use super::*;

const CONFIG: LinkConfig =
    LinkConfig { delay_ns: 0, honours_pause: true, ..LinkConfig::cable(Profile::HundredGig) };

fn mac(last: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, last])
}

fn frame(destination: Mac, source: Mac, length: usize) -> Vec<u8> {
    let mut bytes = vec![0x5a; length];
    Ethernet { destination, source, ethertype: 0x0800 }.emit(&mut bytes);
    bytes
}

fn arrival(due: u64, bytes: Vec<u8>) -> Departure {
    Departure { due, bytes, bad: false, copies: 1, hold: None, overtakes: None }
}

/// Sends a frame in, and says at which ports it comes out, and when.
fn pass(switch: &mut Switch, port: usize, due: u64, bytes: &[u8]) -> Vec<(usize, u64)> {
    switch.arrive(port, arrival(due, bytes.to_vec()));
    switch.advance(due);
    let departures = switch.departures(due);
    assert!(departures.iter().all(|(_, departure)| departure.bytes == bytes && !departure.bad));
    departures.into_iter().map(|(port, departure)| (port, departure.due)).collect()
}

#[test]
fn an_unknown_receiver_is_sought_everywhere_and_a_known_one_found() {
    let mut switch = Switch::new(CONFIG, 4, 250_000);
    // 112 bytes of preamble, frame and FCS: 2.24 cycles.
    let there = frame(mac(3), mac(1), 100);
    assert_eq!(pass(&mut switch, 1, 10, &there), [(0, 13), (2, 13), (3, 13)]);
    assert_eq!(pass(&mut switch, 3, 20, &frame(mac(1), mac(3), 100)), [(1, 23)]);
    assert_eq!(pass(&mut switch, 1, 30, &there), [(3, 33)]);
    // It moves to another port, and is found there.
    assert_eq!(pass(&mut switch, 2, 40, &frame(mac(1), mac(3), 100)), [(1, 43)]);
    assert_eq!(pass(&mut switch, 1, 50, &there), [(2, 53)]);
}

#[test]
fn groups_are_flooded_and_never_learnt() {
    let mut switch = Switch::new(CONFIG, 3, 250_000);
    let group = Mac([0x33, 0x33, 0, 0, 0, 1]);
    for (count, receiver) in [Mac::BROADCAST, group].into_iter().enumerate() {
        let due = 10 * count as u64;
        assert_eq!(pass(&mut switch, 0, due, &frame(receiver, group, 100)), [(1, due + 3), (2, due + 3)]);
    }
}

#[test]
fn what_is_bad_or_at_home_or_for_a_neighbour_is_not_forwarded() {
    let mut switch = Switch::new(CONFIG, 3, 250_000);
    assert_eq!(pass(&mut switch, 0, 0, &frame(mac(9), mac(1), 100)).len(), 2);
    assert_eq!(pass(&mut switch, 0, 10, &frame(mac(1), mac(2), 100)), []);
    assert_eq!(pass(&mut switch, 0, 20, &frame(Mac([1, 0x80, 0xc2, 0, 0, 0x0e]), mac(2), 100)), []);
    assert_eq!(pass(&mut switch, 0, 30, &[1, 2, 3]), []);
    switch.arrive(0, Departure { bad: true, ..arrival(40, frame(mac(9), mac(7), 100)) });
    switch.advance(40);
    assert_eq!(switch.departures(40), []);
    assert_eq!(switch.refused(), Refused { bad: 2, local: 1, neighbour: 1 });
    // The sender of a bad frame is not learnt.
    assert_eq!(pass(&mut switch, 0, 50, &frame(mac(7), mac(1), 100)).len(), 2);
}

#[test]
fn two_senders_to_one_receiver_queue_at_its_port() {
    let mut switch = Switch::new(CONFIG, 3, 250_000);
    pass(&mut switch, 2, 0, &frame(mac(9), mac(2), 100));
    for port in [1, 0] {
        switch.arrive(port, arrival(100, frame(mac(2), mac(10 + u8::try_from(port).unwrap()), 988)));
    }
    assert_eq!(switch.next_due(), Some(100));
    switch.advance(100);
    // 1000 bytes to the FCS are 20 cycles, 12 bytes of gap 0.24.
    let sources: Vec<_> = switch
        .departures(200)
        .into_iter()
        .filter(|(port, _)| *port == 2)
        .map(|(_, departure)| (departure.due, departure.bytes[11]))
        .collect();
    assert_eq!(sources, [(120, 10), (141, 11)], "by port within a cycle");
}

#[test]
fn a_port_that_is_told_to_pause_does() {
    let mut switch = Switch::new(CONFIG, 2, 250_000);
    pass(&mut switch, 1, 0, &frame(mac(9), mac(1), 100));
    // 100 quanta: 128 cycles.
    let pause = PauseFrame { quanta: [Some(100); 8] }.to_bytes(mac(1));
    assert_eq!(pass(&mut switch, 1, 10, &pause), []);
    switch.arrive(0, arrival(20, frame(mac(1), mac(0), 988)));
    switch.advance(20);
    assert_eq!((switch.departures(137), switch.next_due()), (Vec::new(), Some(158)));
    let departures = switch.departures(138);
    assert_eq!(
        departures.iter().map(|(port, departure)| (*port, departure.due)).collect::<Vec<_>>(),
        [(1, 158)]
    );
}
