use super::*;

fn good(rng: &mut SplitMix64, is_response: bool, bytes: u64) -> Packet {
    packet(rng, is_response, &[(1, 0x7000_0000, bytes)])
}

fn gaps(moments: &[u64]) -> u64 {
    let span = moments[moments.len() - 1] - moments[0] + 1;
    span - moments.len() as u64
}

#[test]
fn the_ways_through_an_empty_block_take_the_cycles_that_are_promised() {
    let mut rig = Rig::<512, WIDE>::new();
    let mut rng = SplitMix64::new(1);
    // Of one beat, and of more: neither side waits for the other's turn.
    for (is_response, bytes, payload) in
        [(false, 64, 3), (false, 65, 4), (true, 64, 3), (true, 4096, 4), (false, 128, 4), (true, 1, 3)]
    {
        rig.at = Moments::default();
        let start = rig.bench.cycle() + 1;
        rig.send(&[good(&mut rng, is_response, bytes)]);
        rig.finish();
        assert_eq!(rig.at.step, [start]);
        assert_eq!(rig.at.question[0] - rig.at.step[0], 1);
        assert_eq!(rig.at.command[0] - rig.at.answer[0], 2);
        assert_eq!(rig.at.packet[0] - rig.at.read[0], 1);
        assert_eq!(rig.at.payload[0] - rig.at.read[0], payload, "{bytes}");
    }
    // Two pieces, of which the second leaves bytes over.
    rig.at = Moments::default();
    rig.send(&[packet(&mut rng, false, &[(1, 0x7000_0000, 40), (1, 0x7000_0000, 40)])]);
    rig.finish();
    assert_eq!((rig.at.packet[0] - rig.at.read[1], rig.at.payload[0] - rig.at.read[1]), (1, 5));
    // Without payload.
    for is_response in [false, true, true, false] {
        rig.at = Moments::default();
        let start = rig.bench.cycle() + 1;
        rig.send(&[good(&mut rng, is_response, 0)]);
        rig.finish();
        assert_eq!(rig.at.packet, [start + 2]);
    }
}

#[test]
fn inline_data_of_either_side_are_taken_a_cycle_behind_their_step() {
    let mut rig = Rig::<512, WIDE>::new();
    let mut rng = SplitMix64::new(1);
    for is_response in [false, true] {
        for (bytes, packet, payload) in [(64, 2, 4), (1, 2, 4), (128, 3, 6), (480, 9, 12)] {
            rig.at = Moments::default();
            let start = rig.bench.cycle() + 1;
            rig.send(&[inline(&mut rng, is_response, bytes)]);
            rig.finish();
            assert_eq!((rig.at.packet[0] - start, rig.at.payload[0] - start), (packet, payload), "{bytes}");
        }
        // One behind the other, of one beat each.
        rig.at = Moments::default();
        let packets: Vec<_> = (0..50).map(|_| inline(&mut rng, is_response, 64)).collect();
        rig.send(&packets);
        rig.finish();
        assert_eq!((rig.at.packet.len(), gaps(&rig.at.packet), gaps(&rig.at.payload)), (50, 0, 0));
        // They come later than their step.
        rig.at = Moments::default();
        let start = rig.bench.cycle() + 1;
        let stream = rig.inline[usize::from(is_response)];
        rig.bench[stream].pause(Pause::Always);
        rig.send(&[inline(&mut rng, is_response, 64)]);
        rig.run(1);
        rig.send(&[good(&mut rng, true, 64)]);
        rig.run(99);
        assert_eq!((rig.at.command.len(), rig.at.packet.len()), (1, 0), "what is behind is read ahead");
        rig.bench[stream].pause(Pause::None);
        rig.finish();
        assert_eq!((rig.at.packet[0] - start, rig.at.payload[0] - start), (101, 103));
    }
}

#[test]
fn a_packet_of_four_kibibytes_from_a_kernel_leaves_without_a_gap() {
    let mut rig = Rig::<512, WIDE>::new();
    let mut rng = SplitMix64::new(1);
    let packets: Vec<_> = (0..20).map(|_| inline(&mut rng, true, 4096)).collect();
    rig.send(&packets);
    rig.finish();
    assert_eq!((rig.at.payload.len(), gaps(&rig.at.payload)), (20 * 64, 0));
}

fn long_packets<const D: usize, const LOG: usize>() {
    let mut rig = Rig::<D, LOG>::new();
    let mut rng = SplitMix64::new(2);
    let packets: Vec<_> = (0..20).map(|at| good(&mut rng, at % 2 == 1, 4096)).collect();
    rig.send(&packets);
    rig.finish();
    assert_eq!((rig.at.payload.len(), gaps(&rig.at.payload)), (20 * 4096 * 8 / D, 0));
}

#[test]
fn packets_of_four_kibibytes_leave_without_a_gap() {
    long_packets::<64, NARROW>();
    long_packets::<512, WIDE>();
}

#[test]
fn small_packets_take_a_cycle_each_if_translations_and_reads_are_near() {
    let mut rig = Rig::<512, WIDE>::new();
    let mut rng = SplitMix64::new(3);
    let packets: Vec<_> = (0..200).map(|at| good(&mut rng, at % 2 == 1, 64)).collect();
    rig.send(&packets);
    rig.finish();
    assert_eq!((rig.at.packet.len(), gaps(&rig.at.packet), gaps(&rig.at.payload)), (200, 0, 0));
}

#[test]
fn small_packets_of_eight_beats_leave_without_a_gap() {
    let mut rig = Rig::<64, NARROW>::new();
    let mut rng = SplitMix64::new(3);
    let packets: Vec<_> = (0..50).map(|at| good(&mut rng, at % 2 == 1, 64)).collect();
    rig.send(&packets);
    rig.finish();
    assert_eq!((rig.at.payload.len(), gaps(&rig.at.payload)), (400, 0));
}

#[test]
fn packets_without_payload_take_a_cycle_each() {
    let mut rig = Rig::<512, WIDE>::new();
    let mut rng = SplitMix64::new(4);
    let packets: Vec<_> = (0..100).map(|at| good(&mut rng, at % 2 == 1, 0)).collect();
    rig.send(&packets);
    rig.finish();
    assert_eq!((rig.at.packet.len(), gaps(&rig.at.packet)), (100, 0));
}

#[test]
fn pieces_take_a_cycle_for_each_beat_they_need() {
    let mut rig = Rig::<512, WIDE>::new();
    let mut rng = SplitMix64::new(5);
    let list: Vec<Piece> = (0..16).map(|at| (at, 0x9000_0000, 1 + u64::from(at) * 5)).collect();
    let packets: Vec<_> = (0..20).map(|_| packet(&mut rng, false, &list)).collect();
    rig.send(&packets);
    rig.finish();
    // 16 pieces, three of them of two beats.
    let apart: Vec<u64> = rig.at.packet.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(apart.iter().all(|cycles| *cycles == 19), "{apart:?}");
}

#[test]
fn sixteen_questions_and_thirty_two_reads_are_open_and_no_more() {
    let mut rig = Rig::<512, WIDE>::new();
    let mut rng = SplitMix64::new(6);
    (rig.xlat_latency, rig.read_latency) = ((100, 101), (2000, 2001));
    let packets: Vec<_> = (0..60).map(|at| good(&mut rng, at % 2 == 1, 100)).collect();
    rig.send(&packets);
    rig.finish();
    assert_eq!((rig.most_questions, rig.most_reads), (16, 32));
    // Where each piece lies in two pages the questions are as many, and so are the reads.
    (rig.most_questions, rig.most_reads) = (0, 0);
    let packets: Vec<_> = (0..60).map(|_| packet(&mut rng, false, &[(1, 2 * PAGE - 5, 100)])).collect();
    rig.send(&packets);
    rig.finish();
    assert_eq!((rig.most_questions, rig.most_reads), (16, 32));
}
