//! Accesses that led nowhere, told to clients.

use super::hostile::settled;
use super::*;
use crate::body::DmaAccess;
use crate::message::{Command, Message};

fn is_about(asked: &Message, address: u64) -> bool {
    let is_request = asked.header.is_request() && asked.header.command == Command::DmaRead as u16;
    is_request && DmaAccess::parse(&asked.body) == Some((DmaAccess { address, count: 1 }, &[][..]))
}

#[test]
fn a_client_is_asked_for_what_it_has_not_mapped_one_address_at_a_time() {
    let (path, fake) = served();
    let socket = settled(&path);
    assert!(fake.fault(0x1_2000));
    let first = socket.receive().unwrap();
    assert!(is_about(&first, 0x1_2000), "{first:?}");
    // It has not answered: one more is kept, and others are not.
    assert!(fake.fault(0x3000));
    assert!(!fake.fault(0x4000));
    socket.send(&first.header.failure(14), &[], &[]).unwrap();
    let second = socket.receive().unwrap();
    assert!(is_about(&second, 0x3000), "{second:?}");
    assert_ne!(first.header.id, second.header.id);
    // It may as well have the memory; that is no longer of interest.
    socket.send(&second.header.reply(17), &[&second.body, &[7]], &[]).unwrap();
    while !fake.fault(0x5000) {
        thread::yield_now();
    }
    assert!(is_about(&socket.receive().unwrap(), 0x5000));
}

#[test]
fn our_client_refuses_such_reads_and_hears_its_own_answers() {
    let (path, fake) = served();
    let client = Client::connect(&path).unwrap();
    for value in 0..100_u32 {
        while !fake.fault(0x1000) {
            client.info().unwrap();
        }
        client.write(region::BAR0, 8, &value.to_ne_bytes()).unwrap();
        let mut bytes = [0; 4];
        client.read(region::BAR0, 8, &mut bytes).unwrap();
        assert_eq!(u32::from_ne_bytes(bytes), value);
    }
}

#[test]
fn a_client_that_does_not_listen_keeps_nobody_from_telling_and_the_next_one_is_let_in() {
    let (path, fake) = served();
    let mut deaf = settled(&path).into_stream();
    let told = (0..10_000).filter(|_| fake.fault(0x1000)).count();
    assert!(told <= 2, "{told}: one that it was told, and one that is kept");
    deaf.write_all(&[0xff; 64]).unwrap();
    fake.ended(1);
    assert!(Client::connect(&path).unwrap().info().is_ok());
}
