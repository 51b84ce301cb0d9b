use std::sync::Arc;

use stroma_device::DmaMemory;

use super::*;

const KHZ: u32 = 250_000;

fn port() -> Port {
    let mut port = Port::new(Timing::ALVEO_GEN3X16, 512, KHZ, 1);
    port.iommu.map(0x1_0000, &Arc::new(DmaMemory::allocate(0x4000, None).unwrap())).unwrap();
    port
}

/// Runs until something is answered; the cycle and the answer.
fn until<T>(from: u64, mut answer: impl FnMut(u64) -> Option<T>) -> (u64, T) {
    (from..from + 10_000)
        .find_map(|now| answer(now).map(|found| (now, found)))
        .expect("an answer within 10,000 cycles")
}

#[test]
fn a_write_is_visible_and_answered_after_its_latency_and_not_before() {
    let mut port = port();
    port.write(0x1_0040, 1);
    port.write_data(10, &[0xab; 64], 0xf0, true);
    let (now, response) = until(10, |now| port.write_response(now));
    assert_eq!((now, response), (10 + 113, OKAY));
    assert_eq!(port.iommu.read(0x1_0040, 10).unwrap(), [0, 0, 0, 0, 0xab, 0xab, 0xab, 0xab, 0, 0]);
}

#[test]
fn a_read_comes_back_after_a_round_trip_with_what_an_earlier_write_left() {
    let mut port = port();
    port.write(0x1_0000, 1);
    port.write_data(0, &[7; 64], u64::MAX, true);
    port.read(0, 0x1_0000, 1, 3);
    // Nobody asks for the write's answer: the read sees what was written all the same.
    let (now, beat) = until(1, |now| port.read_data(now));
    assert_eq!(now, 225);
    assert_eq!(beat, ReadBeat { id: 3, data: vec![7; 64], response: OKAY, last: true });
}

#[test]
fn other_times_hold_from_then_on_and_reads_still_wait_for_writes_before_them() {
    let mut port = port();
    port.set_timing(Timing { write_ns: 4000, ..Timing::ALVEO_GEN3X16 }, KHZ);
    port.write(0x1_0000, 1);
    port.write_data(0, &[7; 64], u64::MAX, true);
    port.read(0, 0x1_0000, 1, 3);
    let (now, beat) = until(1, |now| port.read_data(now));
    assert_eq!((now, beat.data), (1000, vec![7; 64]));
    assert_eq!(port.write_response(now), Some(OKAY));
}

#[test]
fn reads_of_different_ids_may_overtake_and_those_of_one_id_never_do() {
    let mut port = port();
    for page in 0..4_u8 {
        assert!(port.iommu.write(0x1_0000 + u64::from(page) * 64, &[page; 64]));
    }
    port.read(0, 0x1_0000, 1, 0);
    port.read(0, 0x1_0040, 1, 1);
    port.read(0, 0x1_0080, 1, 2);
    port.read(0, 0x1_00c0, 1, 0);
    let mut order = Vec::new();
    for now in 0..1000 {
        order.extend(port.read_data(now).map(|beat| beat.data[0]));
    }
    assert_eq!(order.len(), 4);
    assert_ne!(order, [0, 1, 2, 3], "the seed shuffles");
    let place = |value| order.iter().position(|found| *found == value);
    assert!(place(0) < place(3), "both carried ID 0: {order:?}");
}

#[test]
fn what_the_iommu_stops_is_answered_with_an_error_and_moves_nothing() {
    let mut port = port();
    port.write(0x2_0000, 1);
    port.write_data(0, &[1; 64], u64::MAX, true);
    port.read(0, 0x2_0000, 1, 0);
    assert_eq!(until(0, |now| port.write_response(now)).1, SLAVE_ERROR);
    assert_eq!(until(0, |now| port.read_data(now)).1.response, SLAVE_ERROR);
    assert_eq!(port.iommu.faults().len(), 2);
    assert!(port.is_idle());
}

#[test]
fn bursts_at_the_end_of_the_addresses_are_answered_with_an_error_and_recorded() {
    let mut port = port();
    // The last page, whole; and its last beat.
    for (address, beats) in [(u64::MAX - 0xfff, 64), (u64::MAX - 0x3f, 1)] {
        port.write(address, beats);
        for beat in 1..=beats {
            port.write_data(0, &[1; 64], u64::MAX, beat == beats);
        }
        port.read(0, address, beats, 0);
        assert_eq!(until(0, |now| port.write_response(now)).1, SLAVE_ERROR, "{address:#x}");
        for beat in 1..=beats {
            let answer = until(0, |now| port.read_data(now)).1;
            assert_eq!((answer.response, answer.last), (SLAVE_ERROR, beat == beats), "{address:#x}");
        }
        let faulted: Vec<u64> = port.iommu.take_faults().iter().map(|fault| fault.iova).collect();
        assert_eq!(faulted, [address; 2]);
    }
    assert!(port.is_idle());
}

#[test]
fn the_next_thing_due_is_the_first_that_happens() {
    let mut port = port();
    assert_eq!(port.next_due(5), None);
    port.write(0x1_0000, 1);
    assert_eq!(port.next_due(5), None, "it waits for the card's data");
    port.write_data(5, &[1; 64], u64::MAX, true);
    port.read(5, 0x1_0000, 1, 0);
    // Both are 113 cycles away: the write becomes visible, and the read looks at memory.
    assert_eq!(port.next_due(5), Some(118));
    assert_eq!(port.write_response(118), Some(OKAY));
    assert_eq!(port.next_due(119), Some(230), "the read comes back");
    assert_eq!(port.next_due(300), Some(300), "and waits for somebody to take it");
}

#[test]
fn the_link_carries_no_more_than_its_bandwidth() {
    let mut port = port();
    let (mut sent, mut beats_left) = (0, 0);
    for now in 0..100_000 {
        while port.write_response(now).is_some() {}
        if beats_left == 0 && port.takes_write() {
            port.write(0x1_0000, 64);
            beats_left = 64;
        }
        if port.takes_data(now) {
            port.write_data(now, &[0; 64], u64::MAX, beats_left == 1);
            beats_left -= 1;
            sent += 64;
        }
    }
    let bytes_per_cycle = f64::from(sent) / 100_000.0;
    assert!((57.0..=57.7).contains(&bytes_per_cycle), "{bytes_per_cycle} bytes a cycle");
}

#[test]
fn one_read_more_than_the_bridge_keeps_waits() {
    let mut port = port();
    for id in 0..32 {
        assert!(port.takes_read());
        port.read(0, 0x1_0000, 1, id);
    }
    assert!(!port.takes_read());
    until(0, |now| port.read_data(now));
    assert!(port.takes_read());
}

#[test]
#[should_panic(expected = "crosses 4 KiB")]
fn a_burst_across_a_page_breaks_the_contract() {
    port().read(0, 0x1_0fc0, 2, 0);
}
