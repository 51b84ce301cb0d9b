//! Keys, domains, rights and bounds: who is refused, what both ends see, and that nothing moves.

use stroma_abi::desc::Status;
use stroma_abi::desc::region::rights;
use stroma_abi::wire::{Frame, Syndrome};

use super::rig::{Pair, list, number, region, sge, work};
use crate::model::{Access, Denied, Memory, Operation, Region, Work};

/// Posts `work` and one more behind it; both fail, the first as expected, and nothing moved at either end.
fn is_refused(name: &str, mut pair: Pair, work: &Work, status: Status, syndrome: Option<u8>) {
    let content =
        |pair: &Pair| [1, 2].map(|key| [0, 1].map(|end: usize| pair.ends[end].memory.region(key).cloned()));
    let before = content(&pair);
    pair.ends[0].post(number(0, 0), *work);
    pair.post(99, Operation::Write, 8);
    pair.run();
    let done: Vec<_> = std::iter::from_fn(|| pair.ends[0].poll(number(0, 0))).collect();
    let found: Vec<_> = done.iter().map(|done| (done.id, done.status, done.bytes)).collect();
    assert_eq!(found, [(work.id, status, 0), (99, Status::Flushed, 0)], "{name}");
    assert_eq!(content(&pair), before, "{name}");
    let answers: Vec<_> = pair.sent[1].iter().map(|bytes| Frame::parse(bytes).unwrap()).collect();
    let syndromes: Vec<_> = answers.iter().map(|answer| answer.extended.aeth.unwrap().syndrome).collect();
    assert_eq!(syndromes, syndrome.into_iter().collect::<Vec<_>>(), "{name}");
    assert!(pair.ends[0].queue_pair(number(0, 0)).unwrap().is_failed(), "{name}");
    let peer = pair.ends[1].queue_pair(number(1, 0)).unwrap();
    assert_eq!(peer.is_failed(), syndrome.is_some(), "{name}");
    pair.post(100, Operation::Read, 1);
    let late = pair.ends[0].poll(number(0, 0)).unwrap();
    assert_eq!((late.id, late.status), (100, Status::Flushed), "{name}");
}

fn change(pair: &mut Pair, end: usize, how: impl Fn(&mut Region)) {
    let key = u32::try_from(end).unwrap() + 1;
    how(pair.ends[end].memory.region_mut(key).unwrap());
}

#[test]
fn a_request_the_peers_region_does_not_allow_is_a_remote_access_error() {
    for operation in [Operation::Write, Operation::Read] {
        let good = work(7, operation, 700);
        let refused = |name: &str, pair: Pair, work: Work| {
            let name = format!("{operation:?}, {name}");
            is_refused(&name, pair, &work, Status::RemoteAccess, Some(0x62));
        };
        refused("wrong key", Pair::simple(), Work { remote_key: 3, ..good });
        refused("before the region", Pair::simple(), Work { remote_address: 0x1fff, ..good });
        refused("beyond the region", Pair::simple(), Work { remote_address: 0x1_2000 - 699, ..good });
        refused("around the end of memory", Pair::simple(), Work { remote_address: u64::MAX - 9, ..good });
        let mut pair = Pair::simple();
        change(&mut pair, 1, |region| region.domain = 1);
        refused("another protection domain", pair, good);
        let mut pair = Pair::simple();
        let wanted = if operation == Operation::Write { rights::REMOTE_WRITE } else { rights::REMOTE_READ };
        change(&mut pair, 1, |region| region.rights &= !wanted);
        refused("a right the region lacks", pair, good);
        let mut pair = Pair::simple();
        pair.ends[1].memory.deregister(2);
        refused("a region that is gone", pair, good);
    }
}

#[test]
fn a_request_the_queue_pair_does_not_allow_is_an_invalid_request() {
    for (operation, right) in
        [(Operation::Write, rights::REMOTE_WRITE), (Operation::Read, rights::REMOTE_READ)]
    {
        let pair = Pair::simple_with(|settings| settings.rights &= !right);
        is_refused("no such right", pair, &work(7, operation, 8), Status::RemoteInvalid, Some(0x61));
    }
}

#[test]
fn a_local_region_that_does_not_allow_it_sends_nothing() {
    let good = |operation| work(7, operation, 700);
    for (name, work) in [
        ("wrong key", Work { pieces: list(&[sge(5, 0x1000, 700)]), ..good(Operation::Write) }),
        ("READ, wrong key", Work { pieces: list(&[sge(5, 0x1000, 700)]), ..good(Operation::Read) }),
        ("beyond the region", Work { pieces: list(&[sge(1, 0x1_1000 - 699, 700)]), ..good(Operation::Read) }),
    ] {
        is_refused(name, Pair::simple(), &work, Status::LocalProtection, None);
    }
    let mut pair = Pair::simple();
    change(&mut pair, 0, |region| region.rights = 0);
    is_refused(
        "READ into what may not be written",
        pair,
        &good(Operation::Read),
        Status::LocalProtection,
        None,
    );
    let mut pair = Pair::simple();
    change(&mut pair, 0, |region| region.domain = 4);
    is_refused("another domain", pair, &good(Operation::Write), Status::LocalProtection, None);
}

#[test]
fn an_operation_of_no_bytes_looks_at_no_key() {
    let mut pair = Pair::simple();
    for operation in [Operation::Write, Operation::Read] {
        let none = Work { pieces: list(&[sge(77, 0x1000, 0)]), remote_key: 78, ..work(1, operation, 0) };
        pair.ends[0].post(number(0, 0), none);
        pair.run();
        assert_eq!(pair.ends[0].poll(number(0, 0)).unwrap().status, Status::Success);
    }
}

#[test]
fn a_region_that_goes_in_mid_message_stops_it_there() {
    let mut pair = Pair::simple();
    pair.post(1, Operation::Write, 0x1000);
    while pair.sent[0].len() < 10 {
        pair.step();
    }
    pair.ends[1].memory.deregister(2);
    pair.run();
    assert_eq!(pair.ends[0].poll(number(0, 0)).unwrap().status, Status::RemoteAccess);
    let last = Frame::parse(pair.sent[1].last().unwrap()).unwrap();
    assert_eq!(Syndrome::decode(last.extended.aeth.unwrap().syndrome).encode(), 0x62);
}

#[test]
fn an_operation_that_fails_here_waits_for_those_before_it() {
    let mut pair = Pair::simple();
    pair.post(1, Operation::Write, 5000);
    pair.ends[0]
        .post(number(0, 0), Work { pieces: list(&[sge(5, 0x1000, 1)]), ..work(2, Operation::Write, 1) });
    pair.run();
    let done: Vec<_> = std::iter::from_fn(|| pair.ends[0].poll(number(0, 0))).collect();
    let found: Vec<_> = done.iter().map(|done| (done.id, done.status)).collect();
    assert_eq!(found, [(1, Status::Success), (2, Status::LocalProtection)]);
}

#[test]
fn memory_names_the_first_reason_against_an_access() {
    let mut memory = Memory::default();
    memory.register(4, Region { domain: 2, rights: rights::REMOTE_READ, ..region(0x100, 16, 0) });
    let good = Access { key: 4, domain: 2, rights: rights::REMOTE_READ, address: 0x100, queue_pair: None };
    assert_eq!(memory.check(&good, 16), Ok(()));
    assert_eq!(memory.check(&Access { key: 5, domain: 3, ..good }, 17), Err(Denied::Key { key: 5 }));
    let domain = Access { domain: 3, rights: rights::REMOTE_WRITE, ..good };
    assert_eq!(memory.check(&domain, 17), Err(Denied::Domain { found: 2, wanted: 3 }));
    let writing = Access { rights: rights::REMOTE_WRITE, ..good };
    let lacks = Denied::Rights { found: rights::REMOTE_READ, wanted: rights::REMOTE_WRITE };
    assert_eq!(memory.write(&writing, &[0; 17]), Err(lacks));
    let beyond = Denied::Bounds { address: 0x100, length: 17 };
    assert_eq!(memory.read(&good, 17), Err(beyond));
    assert_eq!(memory.check(&good, u64::MAX), Err(Denied::Bounds { address: 0x100, length: u64::MAX }));
    assert_eq!(memory.check(&Access { key: 5, ..good }, 0), Ok(()));
}
