//! A server against clients of both kinds: those that keep to the rules, and those that do not.

mod alone;
mod budget;
mod fake;
mod faults;
mod hostile;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::time::Instant;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::geteuid;
use rustix::thread::{Uid, set_thread_res_uid};

use super::*;
use crate::Client;
use crate::body::{self, interrupt, region};
use crate::client;
use crate::message::{Command, DATA_MAX, Header};
use crate::version::Capabilities;
use fake::{Fake, served};

#[test]
fn a_client_finds_a_pci_function_with_its_regions_and_interrupts() {
    let (path, _fake) = served();
    let client = Client::connect(&path).unwrap();
    assert_eq!(client.capabilities(), &Capabilities::OURS);
    let info = client.info().unwrap();
    assert_eq!((info.flags, info.regions, info.interrupts), (body::PCI | body::RESETTABLE, 9, 5));
    let sizes: Vec<u64> = (0..region::COUNT).map(|index| client.region(index).unwrap().size).collect();
    assert_eq!(sizes, [0x1000, 0, 0, 0, 0, 0, 0, 0x100, 0]);
    let counts: Vec<u32> =
        (0..interrupt::COUNT).map(|index| client.interrupts(index).unwrap().count).collect();
    assert_eq!(counts, [0, 0, 40, 0, 0]);
}

#[test]
fn accesses_reach_the_function_in_order() {
    let (path, _fake) = served();
    let client = Client::connect(&path).unwrap();
    client.write(region::BAR0, 8, &7_u64.to_ne_bytes()).unwrap();
    // Nobody waits for these, and the read comes behind them.
    for value in 0..1000_u32 {
        client.post(region::BAR0, 0xffc, &value.to_ne_bytes()).unwrap();
    }
    let mut bytes = [0; 4];
    client.read(region::BAR0, 0xffc, &mut bytes).unwrap();
    assert_eq!(u32::from_ne_bytes(bytes), 999);
    let mut bytes = [0; 8];
    client.read(region::BAR0, 8, &mut bytes).unwrap();
    assert_eq!(u64::from_ne_bytes(bytes), 7);
    let refused = client.read(region::BAR0, fake::REFUSED, &mut bytes).unwrap_err();
    assert_eq!(refused.refusal(), Some(Errno::IO), "{refused}");
    client.reset().unwrap();
    client.read(region::BAR0, 8, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 8]);
}

#[test]
fn the_function_reaches_the_memory_it_is_shown_and_no_other() {
    let (path, fake) = served();
    let client = Client::connect(&path).unwrap();
    let memory = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).unwrap());
    memory.set_len(0x4000).unwrap();
    client.map(memory.as_fd(), 0x1000, 0x8_0000, 0x2000).unwrap();
    fake.write(0x8_0ffe, b"over the page");
    assert_eq!(fake.read(0x8_0ffe, 13).as_deref(), Some(&b"over the page"[..]));
    let mut bytes = [0; 13];
    memory.read_exact_at(&mut bytes, 0x1ffe).unwrap();
    assert_eq!(&bytes, b"over the page");
    let taken = client.map(memory.as_fd(), 0, 0x8_1000, 0x1000).unwrap_err();
    assert_eq!(taken.refusal(), Some(Errno::EXIST), "{taken}");
    client.unmap(0x8_0000, 0x2000).unwrap();
    assert_eq!(fake.read(0x8_0000, 1), None);
}

#[test]
fn interrupts_are_told_by_the_descriptors_of_the_client() {
    let (path, fake) = served();
    let client = Client::connect(&path).unwrap();
    let events: Vec<OwnedFd> = (0..40).map(|_| eventfd(0, EventfdFlags::NONBLOCK).unwrap()).collect();
    let borrowed: Vec<_> = events.iter().map(AsFd::as_fd).collect();
    // More than one message can bring.
    client.connect_interrupts(interrupt::MSIX, &borrowed).unwrap();
    fake.fire(35);
    let mut count = [0; 8];
    assert_eq!(rustix::io::read(&events[35], &mut count), Ok(8));
    assert_eq!(rustix::io::read(&events[34], &mut count), Err(Errno::AGAIN));
}

#[test]
fn one_client_follows_the_other_and_finds_nothing_of_it() {
    let (path, fake) = served();
    let memory = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).unwrap());
    memory.set_len(0x1000).unwrap();
    for _ in 0..20 {
        let client = Client::connect(&path).unwrap();
        let mut bytes = [0; 4];
        client.read(region::BAR0, 0, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 4]);
        client.write(region::BAR0, 0, &[1; 4]).unwrap();
        client.map(memory.as_fd(), 0, 0, 0x1000).unwrap();
    }
    fake.ended(20);
    assert_eq!(fake.read(0, 1), None);
}

#[test]
fn a_second_client_is_refused_while_there_is_one() {
    let (path, fake) = served();
    let first = Client::connect(&path).unwrap();
    let started = Instant::now();
    let refused = Client::connect(&path).unwrap_err();
    assert_eq!(refused.refusal(), Some(Errno::BUSY), "{refused}");
    assert!(started.elapsed() >= PATIENCE, "it might have become free");
    first.info().unwrap();
    drop(first);
    Client::connect(&path).unwrap();
    fake.ended(2);
}

#[test]
fn a_client_that_sends_a_byte_now_and_then_keeps_nobody_from_being_refused_or_let_in() {
    let (path, _fake) = served();
    let first = Client::connect(&path).unwrap();
    let mut slow = UnixStream::connect(&path).unwrap();
    let long = Header::request(0, Command::Version, DATA_MAX).to_bytes();
    let dripping = thread::spawn(move || {
        let mut bytes = long.into_iter().chain(std::iter::repeat(0));
        while slow.write_all(&[bytes.next().unwrap()]).is_ok() {
            thread::sleep(PATIENCE / 10);
        }
    });
    let started = Instant::now();
    let refused = Client::connect(&path).unwrap_err();
    assert_eq!(refused.refusal(), Some(Errno::BUSY), "{refused}");
    assert!(started.elapsed() < 3 * PATIENCE, "refused after {:?}", started.elapsed());
    drop(first);
    // The slow one may have its turn before, for as long as a client has to say its version.
    let next = loop {
        match Client::connect(&path) {
            Err(refused) if started.elapsed() < 10 * PATIENCE => {
                assert_eq!(refused.refusal(), Some(Errno::BUSY), "{refused}");
            }
            answer => break answer.unwrap(),
        }
    };
    next.info().unwrap();
    dripping.join().unwrap();
    assert!(started.elapsed() < 10 * PATIENCE, "the slow one is sent away at some time");
}

#[test]
fn a_client_that_does_not_tell_its_version_in_time_leaves_the_function_to_the_next() {
    let (path, fake) = served();
    let mut silent = UnixStream::connect(&path).unwrap();
    silent.write_all(&[0]).unwrap();
    let ending = fake.ended(1).remove(0);
    assert!(ending.starts_with("was sent away: nothing came for"), "{ending}");
    Client::connect(&path).unwrap().info().unwrap();
}

#[test]
fn who_finds_too_many_waiting_is_not_kept_waiting() {
    let (path, _fake) = served();
    let _first = Client::connect(&path).unwrap();
    let _waiting: Vec<UnixStream> = (0..WAITING_MAX).map(|_| UnixStream::connect(&path).unwrap()).collect();
    let started = Instant::now();
    assert_eq!(UnixStream::connect(&path).unwrap().read(&mut [0]).unwrap(), 0);
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
}

#[test]
fn a_function_is_free_and_clean_again_after_its_session_has_panicked() {
    let (path, fake) = served();
    let memory = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).unwrap());
    memory.set_len(0x1000).unwrap();
    for count in 1..=2 {
        let client = Client::connect(&path).unwrap();
        client.map(memory.as_fd(), 0, 0, 0x1000).unwrap();
        client.read(region::BAR0, fake::PANICS, &mut [0; 4]).unwrap_err();
        let ending = fake.ended(count).remove(count - 1);
        assert!(ending.contains("a fault of the function"), "{ending}");
        assert_eq!(fake.read(0, 1), None);
    }
}

#[test]
fn a_server_of_another_user_is_told_nothing() {
    if !geteuid().is_root() {
        eprintln!("left out: only root can be another user");
        return;
    }
    let path = tempfile::tempdir().unwrap().keep().join("card");
    std::fs::set_permissions(path.parent().unwrap(), PermissionsExt::from_mode(0o777)).unwrap();
    let served = path.clone();
    // Whose a server is the system remembers from when it listened.
    let listening = thread::spawn(move || {
        let nobody = Uid::from_raw(65534);
        set_thread_res_uid(nobody, nobody, nobody).unwrap();
        UnixListener::bind(served).unwrap()
    });
    let listener = listening.join().unwrap();
    let refused = Client::connect(&path).unwrap_err();
    assert!(matches!(refused, client::Error::Untrusted { .. }), "{refused}");
    assert!(refused.to_string().contains("user 65534 serves there, and this is user 0"), "{refused}");
    assert_eq!(listener.accept().unwrap().0.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_socket_that_was_left_is_replaced_and_one_that_is_served_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card");
    drop(UnixListener::bind(&path).unwrap());
    let server = Server::bind(&path, Arc::new(Fake::default())).unwrap();
    let mode = std::fs::symlink_metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "its user's alone");
    let taken = Server::bind(&path, Arc::new(Fake::default())).err().expect("it is served");
    assert_eq!(taken.kind(), ErrorKind::AddrInUse);
    drop(server);
    assert!(!path.exists());
    let nobody = Client::connect(&path).unwrap_err();
    assert!(matches!(nobody, client::Error::Connect { .. }), "{nobody}");
    std::fs::write(&path, "precious").unwrap();
    assert!(Server::bind(&path, Arc::new(Fake::default())).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
}
