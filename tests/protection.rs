//! Protection: what a key, its domain, its bounds or its rights do not allow gets the right status, and moves nothing.

use stroma_abi::desc::{
    Body, ObjectKind, QueuePairState, Region, Sge, Status, Verb, WorkOp, WqeHead, region::rights,
};
use stroma_sim::host::attach::Event;
use stroma_tests::rig::{Buffer, Completions, Rig, head, pieces, status};
use stroma_tests::widths;
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

/// Regions of all kinds, and memory that must not change.
struct Desk {
    rig: Rig,
    completions: Completions,
    good: u32,
    target: u32,
    foreign: u32,
    read_only: u32,
    gone: u32,
    untouched: Vec<(Buffer, Vec<u8>)>,
    next_qpn: u32,
}

fn desk(profile: Profile) -> Desk {
    let mut rig = Rig::new(profile);
    let completions = rig.completions(0, 8, 0);
    let mut untouched = Vec::new();
    let mut region = |number: u8, pd, rights| {
        let buffer = rig.buffer(4 * 4096);
        let contents: Vec<u8> = (0..buffer.len()).map(|at| at.to_le_bytes()[0] ^ number).collect();
        buffer.write(0, &contents);
        let region = Region { length: LENGTH, rights, ..Rig::direct(&buffer, BASE, pd) };
        untouched.push((buffer, contents));
        rig.region(u32::from(number), &region)
    };
    let all = rights::LOCAL_WRITE | rights::REMOTE_READ | rights::REMOTE_WRITE;
    let (good, target, foreign) = (region(1, PD, all), region(2, PD, all), region(3, PD + 1, all));
    let (read_only, gone) = (region(4, PD, rights::REMOTE_READ), region(5, PD, all));
    rig.done(Verb::Destroy, ObjectKind::Region, 5, 0, &[]);
    rig.world(|world| world.card(0).start_trace());
    Desk { rig, completions, good, target, foreign, read_only, gone, untouched, next_qpn: 10 }
}

impl Desk {
    /// Tries a copy on a queue pair of its own, with another request behind it; how both end.
    fn attempt(&mut self, op: WorkOp, place: Range, list: &[Range]) -> [Status; 2] {
        let qpn = self.next_qpn;
        self.next_qpn += 1;
        let mut queue = self.rig.queue(qpn, &self.completions, PD);
        let sge = |range: &Range| Sge { address: range.address, local_key: range.key, length: range.length };
        let list: Vec<Sge> = list.iter().map(sge).collect();
        queue.put(WqeHead { remote: place.address, key: place.key, ..head(op) }, pieces(&list));
        queue.put(head(WorkOp::Nop), Body::Nop);
        self.rig.doorbell(&queue);
        let cqes = [(); 2].map(|()| self.rig.completion(&mut self.completions));
        assert_eq!(cqes.map(|cqe| cqe.index), [0, u16::try_from(list.len().div_ceil(2)).expect("few units")]);
        assert_eq!(cqes[0].length, 0, "nothing was copied");
        assert_eq!(self.rig.state_of(qpn), QueuePairState::Error);
        self.rig.arm(&self.completions, 0);
        self.rig.done(Verb::Destroy, ObjectKind::QueuePair, qpn, 0, &[]);
        cqes.map(|cqe| status(&cqe))
    }

    /// All memory is as it was, and the card never went near it.
    fn nothing_moved(&self) {
        self.rig.settle();
        let trace = self.rig.world(|world| world.card(0).take_trace());
        for (buffer, contents) in &self.untouched {
            assert!(buffer.read(0, contents.len()) == *contents, "nothing moved");
            let range = buffer.iova()..buffer.iova() + buffer.len() as u64;
            let touched = trace.iter().filter(|(_, event)| match event {
                Event::Read { address, .. } | Event::Write { address, .. } => range.contains(address),
                _ => false,
            });
            assert_eq!(touched.count(), 0, "no DMA was issued for a check that failed");
        }
        assert_eq!(self.rig.world(|world| world.card(0).iommu().faults().len()), 0);
    }
}

fn violations(profile: Profile) {
    let mut desk = desk(profile);
    let fine = |key| Range { key, address: BASE + 16, length: 64 };
    let good = desk.good;
    let cases = [
        ("another key byte", Range { key: good ^ 1, ..fine(good) }),
        ("a region never made", Range { key: 0x0077_7742, ..fine(good) }),
        ("beyond the card's regions", Range { key: 0xffff_ff42, ..fine(good) }),
        ("another domain", fine(desk.foreign)),
        ("deregistered", fine(desk.gone)),
        ("one byte before", Range { address: BASE - 1, ..fine(good) }),
        ("one byte behind", Range { address: BASE + LENGTH - 63, ..fine(good) }),
        ("crossing the end after pages", Range { key: good, address: BASE, length: 3 * 4096 + 1 }),
        ("far away", Range { address: 64, ..fine(good) }),
        ("around the end of addresses", Range { address: u64::MAX - 31, ..fine(good) }),
    ];
    let refused = [Status::LocalProtection, Status::Flushed];
    for (what, range) in cases {
        // The other side is as long, in two good pieces where it is a list.
        let other = Range { key: desk.target, address: BASE, length: range.length - 1 };
        let byte = Range { length: 1, ..other };
        for op in [WorkOp::Gather, WorkOp::Scatter] {
            assert_eq!(desk.attempt(op, range, &[other, byte]), refused, "{what}: the one place of a {op:?}");
            // Behind a good piece; the one place is good as far as it goes.
            let place = Range { key: desk.target, address: BASE, length: 0 };
            let list = if range.length > 64 { vec![range] } else { vec![fine(good), range] };
            assert_eq!(desk.attempt(op, place, &list), refused, "{what}: a piece of a {op:?}");
        }
    }
    // Writing where only reading is allowed.
    let (read_only, good) = (fine(desk.read_only), fine(good));
    assert_eq!(desk.attempt(WorkOp::Gather, read_only, &[good]), refused);
    assert_eq!(desk.attempt(WorkOp::Scatter, good, &[read_only]), refused);
    desk.nothing_moved();
}

#[test]
fn a_violation_gets_its_status_and_moves_nothing() {
    widths!().into_iter().for_each(violations);
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
    widths!().into_iter().for_each(lengths_that_disagree);
}
