//! Rings in memory that the IOMMU does not map: who they belong to is told, and the card goes on.

use stroma_abi::desc::{Body, Event, QueuePairState, Sge, SgeList, Status, WorkOp, WqeHead};
use stroma_abi::regs::map::{counters, doorbells};
use stroma_device::compose;
use stroma_tests::rig::{Completions, Rig, head, status};
use stroma_tests::widths;
use stroma_top::Profile;

use super::hairpin::{self, Port};
use super::memory::Memory;
use super::wqes::encode;

const EVENT_LOG: u8 = 6;
const SRQ: u32 = 3;
/// Bytes of a message: two packets.
const LENGTH: u32 = 400;

struct Desk {
    rig: Rig,
    memory: Memory,
    completions: Completions,
    number: u32,
}

impl Desk {
    fn new(profile: Profile) -> Self {
        let mut rig = hairpin::rig(profile);
        rig.enable_events(EVENT_LOG);
        let memory = Memory::new(&mut rig, 6);
        let completions = rig.completions(0, 6, 0);
        Self { rig, memory, completions, number: 10 }
    }

    /// A connection.
    fn pair(&mut self, srq: Option<u32>) -> [Port; 2] {
        let numbers = [self.number, self.number + 1];
        self.number += 2;
        let mut near = hairpin::make(&mut self.rig, numbers[0], &self.completions, None);
        let mut far = hairpin::make(&mut self.rig, numbers[1], &self.completions, srq);
        hairpin::connect(&self.rig, &mut near, numbers[1]);
        hairpin::connect(&self.rig, &mut far, numbers[0]);
        [near, far]
    }

    fn inbox(&self) -> Vec<u8> {
        let piece = Sge { address: Memory::BASE, local_key: self.memory.open_key, length: LENGTH };
        hairpin::entry(&[piece])
    }

    /// Puts a request with so many pieces of the open memory.
    fn put(&self, port: &mut Port, op: WorkOp, pieces: u32) {
        let length = LENGTH / pieces;
        let piece = |at: u32| Sge {
            address: Memory::BASE + 4096 + u64::from(2 * at * length),
            local_key: self.memory.open_key,
            length,
        };
        let list: Vec<Sge> = (0..pieces).map(piece).collect();
        let head =
            WqeHead { index: port.producer, remote: Memory::BASE, key: self.memory.open_key, ..head(op) };
        port.put(&encode(head, &Body::Gather(SgeList::new(&list).expect("few"))));
    }

    /// The next completion of a queue pair; of the side that receives or requests.
    fn expect(&mut self, port: &Port, receive: bool, expected: Status, name: &str) {
        let cqe = self.rig.completion(&mut self.completions);
        self.rig.arm(&self.completions, 0);
        let found = (cqe.queue_pair.value(), cqe.receive, status(&cqe));
        assert_eq!(found, (port.number, receive, expected), "{name}: {cqe:?}");
    }

    fn hide(&self, place: u64) {
        self.rig.world(|world| world.card(0).iommu().hide(place));
    }

    fn show(&self, place: u64) {
        self.rig.world(|world| world.card(0).iommu().show(place));
    }

    /// A new connection carries a WRITE and a message.
    fn works(&mut self, name: &str) {
        let [mut near, mut far] = self.pair(None);
        far.put_receive(&self.inbox());
        far.ring_receive(&self.rig);
        self.put(&mut near, WorkOp::Write, 1);
        near.ring(&self.rig);
        self.expect(&near, false, Status::Success, name);
        self.put(&mut near, WorkOp::Send, 2);
        near.ring(&self.rig);
        self.expect(&far, true, Status::Success, name);
        self.expect(&near, false, Status::Success, name);
        self.memory.check(name);
    }

    fn is_failed(&self, port: &Port) -> bool {
        self.rig.state_of(port.number) == QueuePairState::Error
    }
}

fn receive_queues(profile: Profile) {
    let mut desk = Desk::new(profile);
    let ring = hairpin::shared(&mut desk.rig, SRQ, 0);
    for srq in [None, Some(SRQ)] {
        let name = format!("{profile:?}, {srq:?}");
        let errors = desk.rig.count(&counters::DMA_ERRORS);
        let naks = desk.rig.count(&counters::NAKS);
        let [mut near, mut far] = desk.pair(srq);
        let place = if srq.is_some() {
            ring.write(0, &desk.inbox());
            let value = compose(&doorbells::SHARED_RECEIVE, [("queue", SRQ.into()), ("producer", 1)]);
            desk.rig.ring(0, &doorbells::SHARED_RECEIVE, value);
            ring.iova()
        } else {
            far.put_receive(&desk.inbox());
            far.ring_receive(&desk.rig);
            far.receive.iova()
        };
        desk.rig.settle();
        desk.hide(place);
        desk.put(&mut near, WorkOp::Send, 1);
        near.ring(&desk.rig);
        desk.expect(&far, true, Status::General, &name);
        desk.expect(&near, false, Status::RemoteOperation, &name);
        assert!(desk.is_failed(&near) && desk.is_failed(&far), "{name}");
        assert!(desk.rig.count(&counters::DMA_ERRORS) > errors, "{name}");
        assert_eq!(desk.rig.count(&counters::NAKS), naks + 1, "{name}");
        desk.works(&name);
        desk.show(place);
    }
}

#[test]
fn a_receive_queue_that_faults_fails_its_message_at_both_ends() {
    widths!().into_iter().for_each(receive_queues);
}

fn send_queues(profile: Profile) {
    let mut desk = Desk::new(profile);
    // Before it is fetched.
    let [mut near, far] = desk.pair(None);
    desk.put(&mut near, WorkOp::Write, 1);
    desk.hide(near.send.iova());
    near.ring(&desk.rig);
    desk.expect(&near, false, Status::General, "a WRITE");
    assert!(desk.is_failed(&near) && !desk.is_failed(&far));
    assert_eq!(desk.rig.count(&counters::DMA_ERRORS), 1);
    desk.works("without a send queue");

    // When the answer to a READ is to be scattered, and its list is gone.
    let [mut near, far] = desk.pair(None);
    let before = desk.memory.open.read(4096, 2 * LENGTH as usize);
    desk.put(&mut near, WorkOp::Read, 4);
    let come = desk.rig.world(|world| world.card(0).judged());
    near.ring(&desk.rig);
    let is_there = desk.rig.world(|world| world.run_until(100_000, |world| world.card(0).judged() > come));
    assert!(is_there, "the READ leaves");
    desk.hide(near.send.iova());
    desk.expect(&near, false, Status::General, "a READ");
    assert!(desk.is_failed(&near) && !desk.is_failed(&far));
    assert!(desk.rig.count(&counters::DMA_ERRORS) > 1);
    assert!(desk.memory.open.read(4096, before.len()) == before, "nothing is placed without a list");
    desk.works("without a list");
}

#[test]
fn a_send_queue_that_faults_fails_its_requests_before_and_after_they_were_sent() {
    widths!().into_iter().for_each(send_queues);
}

fn completion_queues(profile: Profile) {
    let mut desk = Desk::new(profile);
    let lost = desk.rig.completions(1, 6, 0);
    let numbers = [80, 81];
    let mut near = hairpin::make(&mut desk.rig, numbers[0], &desk.completions, None);
    let mut far = hairpin::make(&mut desk.rig, numbers[1], &lost, None);
    hairpin::connect(&desk.rig, &mut near, numbers[1]);
    hairpin::connect(&desk.rig, &mut far, numbers[0]);
    far.put_receive(&desk.inbox());
    far.put_receive(&desk.inbox());
    far.ring_receive(&desk.rig);
    desk.hide(lost.base());
    desk.put(&mut near, WorkOp::Send, 1);
    near.ring(&desk.rig);
    desk.expect(&near, false, Status::Success, "the sender does not notice");
    desk.rig.settle();
    let events: Vec<_> = std::iter::from_fn(|| desk.rig.event(EVENT_LOG)).collect();
    let is_told = |event: &&_| {
        let event: &stroma_abi::desc::Eqe = event;
        (event.kind, event.data) == (Event::CardError as u8, lost.base())
    };
    assert_eq!(events.iter().filter(is_told).count(), 1, "{events:?}");
    assert_eq!(desk.rig.count(&counters::DMA_ERRORS), 1);
    assert!(!desk.is_failed(&near) && !desk.is_failed(&far), "only the entry is lost");
    desk.works("without a completion queue");
}

#[test]
fn a_completion_queue_that_faults_loses_its_entry_and_an_event_tells() {
    widths!().into_iter().for_each(completion_queues);
}

fn event_queue(profile: Profile) {
    let mut desk = Desk::new(profile);
    let [mut near, _far] = desk.pair(None);
    let place = desk.rig.get(&stroma_abi::regs::map::events::BLOCK, &stroma_abi::regs::map::events::BASE);
    desk.hide(place);
    // A refusal gives an event at the far end, which is lost.
    let wqe = WqeHead { remote: 0, key: 0, length: 4, units: 1, inline: true, ..head(WorkOp::Write) };
    let mut bytes = [0; 64];
    wqe.emit(&mut bytes);
    near.put(&bytes);
    near.ring(&desk.rig);
    desk.expect(&near, false, Status::RemoteAccess, "a WRITE to nowhere");
    desk.rig.settle();
    assert_eq!(desk.rig.event(EVENT_LOG), None);
    assert_eq!(desk.rig.count(&counters::DMA_ERRORS), 1);
    desk.works("without an event queue");
    desk.show(place);
    desk.works("with it again");
}

#[test]
fn an_event_queue_that_faults_loses_events_alone() {
    widths!().into_iter().for_each(event_queue);
}
