//! Groups: which entries of the card name which queue pairs.

use std::{net::IpAddr, sync::Arc};

use stroma_abi::regs::{
    Reg,
    map::groups::{BLOCK, HIGH, LOW, MEMBER},
};
use stroma_device::{Backend, BarId};
use stroma_verbs::{Device, Error, Membership, QueuePair};

use crate::Fake;
use crate::datagrams::{open, ready};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn read(fake: &Fake, reg: &Reg, place: usize) -> u64 {
    fake.read64(BarId::Bar0, BLOCK.offset + reg.element(place)).unwrap()
}

/// Entries that count, and the queue pairs they name.
fn members(fake: &Fake) -> Vec<(usize, u64)> {
    let entry = |place| (place, read(fake, &MEMBER, place));
    let counts = |(_, word): &(usize, u64)| word >> 31 == 1;
    (0..16).map(entry).filter(counts).map(|(place, word)| (place, word & 0x7fff_ffff)).collect()
}

fn stage() -> (Arc<Fake>, Arc<Device>, [QueuePair; 2]) {
    let fake = Fake::eager();
    let device = open(&fake);
    let domain = device.protection_domain().unwrap();
    let pairs = [(); 2].map(|()| ready(&domain).1);
    (fake, device, pairs)
}

#[test]
fn a_group_is_an_entry_until_it_is_left() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Membership>();
    let (fake, device, [one, other]) = stage();
    let port = device.port();
    let four = port.join(&one, ip("239.1.2.3")).unwrap();
    let six = port.join(&other, ip("ff0e::1234")).unwrap();
    assert_eq!((four.group(), six.group()), (ip("239.1.2.3"), ip("ff0e::1234")));
    assert_eq!(members(&fake), [(0, one.number().into()), (1, other.number().into())]);
    assert_eq!(read(&fake, &LOW, 0), 0);
    assert_eq!(read(&fake, &HIGH, 0).to_le_bytes(), [0, 0, 0xff, 0xff, 239, 1, 2, 3]);
    assert_eq!(read(&fake, &LOW, 1).to_le_bytes(), [0xff, 0x0e, 0, 0, 0, 0, 0, 0]);
    assert_eq!(read(&fake, &HIGH, 1).to_le_bytes(), [0, 0, 0, 0, 0, 0, 0x12, 0x34]);
    drop(four);
    assert_eq!(members(&fake), [(1, other.number().into())]);
    six.leave().unwrap();
    assert_eq!(members(&fake), []);
}

#[test]
fn an_entry_counts_only_when_its_address_is_whole() {
    let (fake, device, [one, _]) = stage();
    let before = fake.mock().stores().len();
    let _member = device.port().join(&one, ip("ff02::9")).unwrap();
    let places: Vec<usize> = fake.mock().stores()[before..].iter().map(|store| store.offset).collect();
    assert_eq!(places, [&LOW, &HIGH, &MEMBER].map(|reg| BLOCK.address(reg)));
}

#[test]
fn a_queue_pair_that_ends_leaves_its_groups() {
    let (fake, device, [one, other]) = stage();
    let port = device.port();
    let old = port.join(&one, ip("239.0.0.1")).unwrap();
    let _kept = port.join(&other, ip("239.0.0.2")).unwrap();
    drop(one);
    assert_eq!(members(&fake), [(1, other.number().into())]);
    // The entry is the next one's, and what is left of the old membership does not end that.
    let _next = port.join(&other, ip("239.0.0.1")).unwrap();
    drop(old);
    assert_eq!(members(&fake), [(0, other.number().into()), (1, other.number().into())]);
}

#[test]
fn what_an_earlier_driver_joined_is_left() {
    let fake = Fake::eager();
    fake.mock().poke32(BarId::Bar0, BLOCK.offset + MEMBER.element(7), 0x8000_0002);
    assert_eq!(members(&fake), [(7, 2)]);
    let _device = open(&fake);
    assert_eq!(members(&fake), []);
}

#[test]
fn groups_that_cannot_be_joined_are_refused() {
    let (fake, device, [one, other]) = stage();
    let port = device.port();
    let told = |pair, group| port.join(pair, ip(group)).unwrap_err().to_string();
    assert_eq!(told(&one, "10.0.0.1"), "10.0.0.1 is not the address of a group");
    assert_eq!(told(&one, "fe80::1"), "fe80::1 is not the address of a group");
    let local = one.domain().queue_pair(one.send_cq()).build().unwrap();
    assert_eq!(told(&local, "239.0.0.1"), format!("join of a group: queue pair {} is Local", local.number()));
    let held: Vec<_> = (1..=16).map(|last| port.join(&one, [239, 0, 0, last].into()).unwrap()).collect();
    // The same group, written in both ways.
    for same in ["239.0.0.3", "::ffff:239.0.0.3"] {
        let refused = port.join(&other, ip(same)).unwrap_err();
        let expected = format!("group 239.0.0.3: queue pair {} belongs to it", one.number());
        assert_eq!(refused.to_string(), format!("{expected}, and there is one member a card"));
    }
    assert_eq!(told(&other, "239.0.0.17"), "all 16 groups of the port are in use");
    drop(held);
    assert_eq!(members(&fake), []);
    let elsewhere = open(&Fake::eager());
    let refused = elsewhere.port().join(&one, ip("239.0.0.1")).unwrap_err();
    assert!(matches!(refused, Error::OtherDevice { what: "queue pair" }), "{refused}");
}
