//! Protection: what a key, its domain, its bounds or its rights do not allow gets the right status, and moves nothing.

use stroma_abi::desc::{
    Body, ObjectKind, QueuePairState, Region, Sge, Status, Verb, WorkOp, WqeHead, region::rights,
};
use stroma_sim::host::attach::Event;
use stroma_tests::rig::{Rig, head, pieces, status};
use stroma_top::Profile;

const BASE: u64 = 0x5555_0000_0abc;
const LENGTH: u64 = 3 * 4096;
const PD: u16 = 7;

/// One range of memory, named by a request.
#[derive(Clone, Copy)]
struct Range {
    key: u32,
    address: u64,
    length: u32,
}

fn violations(profile: Profile) {
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 8, 0);
    let mut memory = |number, pd, rights| {
        let buffer = rig.buffer(4 * 4096);
        let contents: Vec<u8> = (0..buffer.len()).map(|at| at.to_le_bytes()[0] ^ number).collect();
        buffer.write(0, &contents);
        let region = Region {
            base: BASE,
            length: LENGTH,
            list: buffer.iova(),
            rights,
            ..Rig::direct(&buffer, BASE, pd)
        };
        (rig.region(u32::from(number), &region), buffer, contents)
    };
    let all = rights::LOCAL_WRITE | rights::REMOTE_READ | rights::REMOTE_WRITE;
    let (good, ..) = memory(1, PD, all);
    let (target, target_buffer, contents) = memory(2, PD, all);
    let (foreign, ..) = memory(3, PD + 1, all);
    let (read_only, read_only_buffer, read_only_contents) = memory(4, PD, all & !rights::LOCAL_WRITE);
    let (gone, ..) = memory(5, PD, all);
    rig.done(Verb::Destroy, ObjectKind::Region, 5, 0, &[]);

    let fine = |key| Range { key, address: BASE + 16, length: 64 };
    let cases = [
        ("another key byte", Range { key: good ^ 1, ..fine(good) }),
        ("a region never made", Range { key: 0x0077_7742, ..fine(good) }),
        ("beyond the card's regions", Range { key: 0xffff_ff42, ..fine(good) }),
        ("another domain", fine(foreign)),
        ("deregistered", fine(gone)),
        ("one byte before", Range { address: BASE - 1, ..fine(good) }),
        ("one byte behind", Range { address: BASE + LENGTH - 63, ..fine(good) }),
        (
            "crossing the end after pages",
            Range { key: good, address: BASE, length: u32::try_from(LENGTH).unwrap() + 1 },
        ),
        ("far away", Range { address: 64, ..fine(good) }),
        ("around the end of addresses", Range { address: u64::MAX - 31, ..fine(good) }),
    ];
    let mut qpn = 10;
    rig.world(|world| world.card(0).start_trace());
    for (what, range) in cases {
        // As source and as target, in a gather and in a scatter, behind good pieces.
        for (op, is_place) in [
            (WorkOp::Gather, true),
            (WorkOp::Gather, false),
            (WorkOp::Scatter, true),
            (WorkOp::Scatter, false),
        ] {
            let mut queue = rig.queue(qpn, &completions, PD);
            let other = Range { key: target, address: BASE + 128, length: range.length };
            // The other side is long enough for all of it, or the request would fail for that.
            let other = if range.length > 64 && !is_place {
                Range { address: BASE, length: range.length - 1, ..other }
            } else {
                other
            };
            let sge =
                |range: Range| Sge { address: range.address, local_key: range.key, length: range.length };
            let (place, list) = if is_place {
                let list: Vec<Sge> = if range.length > 64 {
                    vec![
                        sge(Range { length: range.length - 1, address: BASE, ..other }),
                        sge(Range { length: 1, ..other }),
                    ]
                } else {
                    vec![sge(other)]
                };
                (range, list)
            } else {
                (other, vec![sge(range)])
            };
            queue.put(WqeHead { remote: place.address, key: place.key, ..head(op) }, pieces(&list));
            queue.put(head(WorkOp::Nop), Body::Nop);
            rig.doorbell(&queue);
            let cqe = rig.completion(&mut completions);
            assert_eq!(
                (status(&cqe), cqe.index, cqe.length),
                (Status::LocalProtection, 0, 0),
                "{what}, {op:?}, place {is_place}"
            );
            assert_eq!(status(&rig.completion(&mut completions)), Status::Flushed, "{what}");
            assert_eq!(rig.state_of(qpn), QueuePairState::Error, "{what}");
            rig.arm(&completions, 0);
            rig.done(Verb::Destroy, ObjectKind::QueuePair, qpn, 0, &[]);
            qpn += 1;
        }
    }
    // Writing where only reading is allowed; reading there is fine.
    let read_only_range = fine(read_only);
    for (op, place, piece, expected) in [
        (WorkOp::Gather, read_only_range, fine(good), Status::LocalProtection),
        (WorkOp::Scatter, fine(good), read_only_range, Status::LocalProtection),
    ] {
        let mut queue = rig.queue(qpn, &completions, PD);
        let list = [Sge { address: piece.address, local_key: piece.key, length: piece.length }];
        queue.put(WqeHead { remote: place.address, key: place.key, ..head(op) }, pieces(&list));
        rig.doorbell(&queue);
        assert_eq!(status(&rig.completion(&mut completions)), expected, "{op:?}");
        qpn += 1;
    }
    rig.settle();
    assert!(target_buffer.read(0, contents.len()) == contents, "nothing moved");
    assert!(read_only_buffer.read(0, read_only_contents.len()) == read_only_contents, "nothing moved");
    let trace = rig.world(|world| world.card(0).take_trace());
    let starts = [target_buffer.iova(), read_only_buffer.iova()];
    let touched = trace.iter().filter(|(_, event)| match event {
        Event::Read { address, .. } | Event::Write { address, .. } => {
            starts.iter().any(|start| (*start..start + 4 * 4096).contains(address))
        }
        _ => false,
    });
    assert_eq!(touched.count(), 0, "no DMA was issued for a check that failed");
    assert_eq!(rig.world(|world| world.card(0).iommu().faults().len()), 0);
}

#[test]
fn a_violation_gets_its_status_and_moves_nothing() {
    Profile::ALL.into_iter().for_each(violations);
}

fn lengths_that_disagree(profile: Profile) {
    let mut rig = Rig::new(profile);
    let mut completions = rig.completions(0, 8, 0);
    let buffer = rig.buffer(8192);
    let key = rig.region(1, &Rig::direct(&buffer, BASE, PD));
    let mut queue = rig.queue(5, &completions, PD);
    let list = [Sge { address: BASE, local_key: key, length: 64 }];
    let mut bytes = queue.put(WqeHead { remote: BASE + 4096, key, ..head(WorkOp::Gather) }, pieces(&list));
    // The head promises a byte more than the pieces have.
    queue.producer = 0;
    bytes[8] = 65;
    queue.put_bytes(&bytes);
    rig.doorbell(&queue);
    assert_eq!(status(&rig.completion(&mut completions)), Status::LocalQueuePair);
    rig.settle();
    assert_eq!(buffer.read(0, 8192), [0; 8192]);
}

#[test]
fn a_list_that_is_not_as_long_as_its_request_is_refused() {
    Profile::ALL.into_iter().for_each(lengths_that_disagree);
}
