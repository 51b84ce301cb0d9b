//! Which frames are struck, and how.

use super::*;
use Verdict::{Drop, Duplicate, Overtakes, Pass};
use opcode::{
    CNP, RC_ACKNOWLEDGE, RC_ATOMIC_ACKNOWLEDGE, RC_FETCH_ADD, RC_READ_REQUEST, RC_READ_RESPONSE_FIRST,
    RC_READ_RESPONSE_LAST, RC_READ_RESPONSE_MIDDLE, RC_SEND_LAST_IMM, RC_SEND_MIDDLE, RC_SEND_ONLY_INV,
    RC_WRITE_FIRST, RC_WRITE_LAST, RC_WRITE_MIDDLE, RC_WRITE_ONLY, RPC_WRITE_ONLY, UC_WRITE_ONLY,
};

fn rules(text: &str) -> Rules {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Verdicts on frames that leave a microsecond apart, from 5 ms on.
fn verdicts(text: &str, frames: &[Vec<u8>]) -> Vec<Verdict> {
    let mut rules = rules(text);
    (5000..).zip(frames).map(|(us, frame)| rules.judge(frame, us * 1000)).collect()
}

/// The numbers, from 0, of the frames that are struck; each of them is struck so.
fn struck(text: &str, verdict: Verdict, frames: &[Vec<u8>]) -> Vec<usize> {
    let verdicts = verdicts(text, frames);
    let found = verdicts.iter().enumerate().filter(|(_, found)| **found != Verdict::Pass);
    found.map(|(number, found)| (assert_eq!(*found, verdict, "{text}: frame {number}"), number).1).collect()
}

fn dropped(text: &str, frames: &[Vec<u8>]) -> Vec<usize> {
    struck(text, Verdict::Drop, frames)
}

/// One frame of each kind that a story needs, by number.
fn zoo() -> Vec<Vec<u8>> {
    let rows = [
        RC_WRITE_FIRST,          // 0
        RC_WRITE_MIDDLE,         // 1
        RC_WRITE_LAST,           // 2
        RC_WRITE_ONLY,           // 3
        UC_WRITE_ONLY,           // 4
        RPC_WRITE_ONLY,          // 5
        RC_READ_REQUEST,         // 6
        RC_READ_RESPONSE_FIRST,  // 7
        RC_READ_RESPONSE_MIDDLE, // 8
        RC_READ_RESPONSE_LAST,   // 9
        RC_SEND_MIDDLE,          // 10
        RC_SEND_LAST_IMM,        // 11
        RC_SEND_ONLY_INV,        // 12
        RC_FETCH_ADD,            // 13
        RC_ATOMIC_ACKNOWLEDGE,   // 14
        CNP,                     // 15
    ];
    let mut frames: Vec<Vec<u8>> = rows.iter().map(|row| packet(row, 1, 0, 16)).collect();
    frames.push(answer(Syndrome::Ack { credits: 3 })); // 16
    frames.push(answer(Syndrome::Nak(NakCode::PsnSequence))); // 17
    frames.push(answer(Syndrome::RnrNak { timer: 12 })); // 18
    frames.push(vec![0x5a; 60]); // 19: no packet at all
    frames
}

#[test]
fn kinds_are_what_their_names_say() {
    for (kind, expected) in [
        ("WRITEs", vec![0, 1, 2, 3, 4]),
        ("WRITE requests", vec![0, 1, 2, 3, 4]),
        ("WRITE Only", vec![3, 4]),
        ("RC_WRITE_ONLY", vec![3]),
        ("RPCs", vec![5]),
        ("READs", vec![6, 7, 8, 9]),
        ("READ requests", vec![6]),
        ("READ responses", vec![7, 8, 9]),
        ("READ response Middle", vec![8]),
        ("SENDs", vec![10, 11, 12]),
        ("SEND Last", vec![11]),
        ("ATOMICs", vec![13, 14]),
        ("ATOMIC responses", vec![14]),
        ("CNPs", vec![15]),
        ("ACKs", vec![16]),
        ("NAKs", vec![17]),
        ("RNRs", vec![18]),
        ("RC_ACKNOWLEDGE", vec![16, 17, 18]),
        ("responses", vec![7, 8, 9, 14, 16, 17, 18]),
        ("requests Last", vec![2, 11]),
        ("packets", (0..19).collect()),
        ("frames", (0..20).collect()),
        ("everything", (0..20).collect()),
    ] {
        assert_eq!(dropped(&format!("drop {kind}"), &zoo()), expected, "{kind}");
    }
}

#[test]
fn a_packet_with_a_wrong_icrc_is_a_frame_and_no_packet() {
    let mut frame = packet(&RC_WRITE_ONLY, 1, 0, 16);
    *frame.last_mut().expect("a frame has bytes") ^= 1;
    assert_eq!(dropped("drop packets", std::slice::from_ref(&frame)), [0; 0]);
    assert_eq!(dropped("drop frames", &[frame]), [0]);
}

/// Ten WRITEs with an ACK before each: frame 2n + 1 is WRITE n, from 0.
fn alternating() -> Vec<Vec<u8>> {
    let pair = |psn| {
        [answer(Syndrome::Ack { credits: 31 }), packet(&RC_WRITE_ONLY, 1 + psn % 2, psn, psn as usize * 4)]
    };
    (0..10).flat_map(pair).collect()
}

#[test]
fn numbers_count_what_is_described_and_nothing_else() {
    for (rule, expected) in [
        ("drop the next WRITE", vec![1]),
        ("drop the 3rd WRITE", vec![5]),
        ("drop the next three WRITEs", vec![1, 3, 5]),
        ("drop WRITEs 3 to 5", vec![5, 7, 9]),
        ("drop every 4th WRITE", vec![7, 15]),
        ("drop every 4th WRITE once", vec![7]),
        ("drop WRITEs once", vec![1]),
        ("drop packets 3 to 5", vec![2, 3, 4]),
        // Those to queue pair 2 are WRITEs 1, 3, 5, 7 and 9.
        ("drop the 2nd WRITE of QP 2", vec![7]),
        ("drop WRITEs with PSN 0x6", vec![13]),
        ("drop WRITEs with PSN 6 of QP 2", vec![]),
        // A WRITE with n words of payload has 74 + 4n bytes: 14, 20, 8, 12, 16 and 4.
        ("drop WRITEs larger than 102 bytes", vec![17, 19]),
        ("drop everything larger than 102 bytes", vec![17, 19]),
        // Frame n leaves after n us.
        ("drop WRITEs until 3 us", vec![1]),
        ("drop WRITEs after 17 us", vec![17, 19]),
        ("drop the 2nd WRITE after 4 us until 9 us", vec![7]),
    ] {
        assert_eq!(dropped(rule, &alternating()), expected, "{rule}");
    }
}

#[test]
fn each_action_is_its_verdict() {
    let hold = |frames, ns| Verdict::Hold(Hold { frames, ns });
    for (text, verdict) in [
        ("drop the next WRITE", Verdict::Drop),
        ("duplicate the next WRITE", Verdict::Duplicate),
        ("mark the next WRITE", Verdict::Mark),
        ("hold the next WRITE", hold(1, PATIENCE_NS)),
        ("hold the next WRITE for 20 us", hold(0, 20_000)),
        ("hold the next WRITE until 3 others passed", hold(3, PATIENCE_NS)),
        ("hold the next WRITE until 1 other passed for 2 ms", hold(1, 2_000_000)),
        ("corrupt byte 70 of the next WRITE", Verdict::Corrupt { bit: 560, is_caught: true }),
        (
            "corrupt bit 5 of byte 20 of the next WRITE undetected",
            Verdict::Corrupt { bit: 165, is_caught: false },
        ),
    ] {
        assert_eq!(struck(text, verdict, &alternating()), [1], "{text}");
    }
}

#[test]
fn the_first_of_several_waits_for_the_last() {
    for (text, first, last) in [
        ("swap the 2nd and the 3rd WRITE", 3, 5),
        ("reorder the next two WRITEs", 1, 3),
        ("reorder WRITEs 2 to 4", 3, 7),
        ("reorder the next two WRITEs once", 1, 3),
    ] {
        let mut expected = vec![Verdict::Pass; 20];
        (expected[first], expected[last]) = (Verdict::Overtaken(0), Verdict::Overtakes(0));
        assert_eq!(verdicts(text, &alternating()), expected, "{text}");
    }
}

#[test]
fn rules_count_for_themselves_and_the_first_that_strikes_decides() {
    let text = "drop the 2nd WRITE\nduplicate every 2nd WRITE\nmark the 4th packet once\nswap the 6th and the 7th WRITE";
    let verdicts = verdicts(text, &alternating());
    let of_writes: Vec<Verdict> = verdicts.iter().skip(1).step_by(2).copied().collect();
    // WRITE 2 is packet 4, and dropped before it is doubled or marked. WRITE 6 is doubled before it is held.
    let expected = [Pass, Drop, Pass, Duplicate, Pass, Duplicate, Overtakes(3), Duplicate, Pass, Duplicate];
    assert_eq!(of_writes, expected);
    assert!(verdicts.iter().step_by(2).all(|verdict| *verdict == Pass), "ACKs pass");
}

#[test]
fn an_acknowledgement_is_found_however_it_looks_to_the_table() {
    assert_eq!(RC_ACKNOWLEDGE.code, 0x11);
    let reserved = answer(Syndrome::Reserved(0x9f));
    assert_eq!(dropped("drop ACKs\ndrop NAKs\ndrop RNRs", std::slice::from_ref(&reserved)), [0; 0]);
    assert_eq!(dropped("drop RC_ACKNOWLEDGE", &[reserved]), [0]);
}
