//! Messages to a service that nobody should send.

use std::sync::Arc;

use stroma_abi::wire::{RpcStatus, RpcTarget, ServiceAnswer, ServiceRequest};
use stroma_rpc::{Call, Counts, Service, Shape};
use stroma_tests::pair::LIMIT;
use stroma_verbs::{Access, QueuePair};

use crate::stage::{Stage, Sum};

/// Where messages are, and where answers come.
const OUT_AT: usize = 0;
const IN_AT: usize = 0x1_0000;

/// A peer that says what it likes.
struct Peer<'a> {
    stage: &'a Stage,
    way: QueuePair,
    service: Service,
    sent: u64,
}

impl Peer<'_> {
    /// Sends a message; how it was answered, if it was. The answer's number is that of the message.
    fn say(&mut self, message: &[u8], is_answered: bool) -> Option<u32> {
        let near = &self.stage.pair.ends[0];
        self.sent += 1;
        near.put(OUT_AT, message);
        let room = near.piece(IN_AT, 4096);
        if self.sent == 1 {
            // More than there will be answers, so that one that should not come has a place.
            (0..4).for_each(|_| self.way.receives().unwrap().receive(1, &[room]).post().unwrap());
        }
        self.way.start().wr_id(2).signaled().send(&[near.piece(OUT_AT, message.len())]).post().unwrap();
        let end = self.stage.pair.now() + LIMIT;
        let (mut is_sent, mut heard, mut served) = (false, None, 0);
        while !is_sent || served == 0 || (is_answered && heard.is_none()) {
            served += self.service.poll().expect("whatever is said, the service goes on");
            if let Some(found) = poll(&self.way) {
                is_sent |= !found.0;
                heard = heard.or(found.0.then(|| near.bytes(IN_AT, found.1)));
            }
            assert!(self.stage.pair.now() < end, "no end in {LIMIT} cycles");
        }
        let answer = ServiceAnswer::parse(&heard?).expect("an answer");
        self.way.receives().unwrap().receive(1, &[room]).post().unwrap();
        assert_eq!(answer.id, self.sent);
        Some(answer.status)
    }

    /// Sends a request with these bytes behind its head, of which it says that they are `length`.
    fn ask(&mut self, target: RpcTarget, key: u32, length: usize, behind: &[u8]) -> u32 {
        let length = u32::try_from(length).unwrap();
        let head = ServiceRequest { id: self.sent + 1, target: target.to_address(), key, length };
        self.say(&[&head.to_bytes()[..], behind].concat(), true).expect("an answer")
    }

    fn sum(&mut self, call: &Sum, key: u32) -> u32 {
        self.ask(call.target(), key, 12, call.parameters().as_bytes())
    }
}

/// Is it a receive, and of how many bytes?
fn poll(queue_pair: &QueuePair) -> Option<(bool, usize)> {
    let mut found = [stroma_verbs::WorkCompletion::default()];
    let count = queue_pair.send_cq().poll(&mut found).unwrap();
    assert_eq!(found[0].status, stroma_verbs::Status::Success);
    (count > 0).then_some((found[0].is_receive, found[0].length as usize))
}

#[test]
fn what_is_no_request_is_refused_and_counted_and_the_service_goes_on() {
    let stage = Stage::new();
    let far = &stage.pair.ends[1];
    let allocate = |rights| Arc::new(far.domain.allocate(4096, rights).unwrap());
    let closed = allocate(Access::LOCAL_WRITE | Access::REMOTE_READ | Access::REMOTE_WRITE);
    let other = far.device.protection_domain().unwrap();
    let open = Access::LOCAL_WRITE | Access::REMOTE_READ | Access::RPC;
    let foreign = Arc::new(other.allocate(4096, open).unwrap());
    let (absent, unread) =
        (allocate(open), allocate(Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::RPC));

    let (way, service) = stage.service(Shape { places: 2, request_bytes: 256, answer_bytes: 1024 });
    let service = service.with_region(Arc::clone(&closed)).with_region(Arc::clone(&foreign));
    let service = service.with_region(Arc::clone(&unread));
    let mut peer = Peer { stage: &stage, way, service, sent: 0 };
    let [ok, unknown, access, aborted, long] = [
        RpcStatus::Ok,
        RpcStatus::UnknownOperation,
        RpcStatus::Access,
        RpcStatus::Aborted,
        RpcStatus::TooLong,
    ]
    .map(|status| status as u32);
    let good = Sum { address: stage.at(0), length: 100 };
    assert_eq!(peer.sum(&good, stage.key()), ok);

    // Too short to say who asks.
    assert_eq!((peer.say(&[], false), peer.say(&[7; 23], false)), (None, None));

    let (target, parameters) = (good.target(), good.parameters());
    let words = |parameter_words| RpcTarget { parameter_words, ..target };
    assert_eq!(peer.ask(target, stage.key(), 13, parameters.as_bytes()), aborted);
    assert_eq!(peer.ask(target, stage.key(), 11, parameters.as_bytes()), aborted);
    assert_eq!(peer.ask(target, stage.key(), u32::MAX as usize, parameters.as_bytes()), aborted);
    assert_eq!(peer.ask(words(4), stage.key(), 12, parameters.as_bytes()), aborted);
    assert_eq!(peer.ask(words(17), stage.key(), 68, &[0; 68]), aborted);
    assert_eq!(peer.service.counts(), Counts { answered: 1, malformed: 7 });

    assert_eq!(peer.ask(RpcTarget { operation: 0x78, ..target }, stage.key(), 12, &[0; 12]), unknown);
    assert_eq!(peer.ask(RpcTarget { response_max: 1025, ..target }, stage.key(), 12, &[0; 12]), long);
    assert_eq!(peer.ask(RpcTarget { response_max: u32::MAX, ..target }, stage.key(), 12, &[0; 12]), long);
    assert_eq!(
        peer.ask(RpcTarget { response_max: 7, ..target }, stage.key(), 12, parameters.as_bytes()),
        RpcStatus::Limit as u32
    );

    let at = |region: &stroma_verbs::MemoryRegion| Sum { address: region.address(0).unwrap(), length: 1 };
    assert_eq!(peer.sum(&good, stage.key() ^ 1), access);
    assert_eq!(peer.sum(&good, closed.rkey()), access);
    let shut = [&closed, &foreign, &absent, &unread];
    assert_eq!(shut.map(|region| peer.sum(&at(region), region.rkey())), [access; 4]);
    assert_eq!(peer.sum(&Sum { address: stage.at(1 << 18), length: 1 }, stage.key()), access);
    assert_eq!(peer.sum(&Sum { address: u64::MAX, length: u32::MAX }, stage.key()), access);
    assert_eq!(peer.sum(&good, stage.key()), ok);
    assert_eq!(peer.service.counts(), Counts { answered: 14, malformed: 7 });
}
