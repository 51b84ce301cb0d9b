use std::fs::File;
use std::io::{Read, Write};

use super::*;
use crate::message::Command;

fn pair() -> (Socket, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    (Socket::with_patience(near, Duration::from_secs(20)), far)
}

#[test]
fn a_message_arrives_with_its_descriptors() {
    let (near, far) = pair();
    let far = Socket::of_server(far);
    let files = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
    (&files[1]).write_all(b"second").unwrap();
    let header = Header::request(3, Command::DmaMap, 5);
    near.send(&header, &[b"one", b"tw"], &files.each_ref().map(AsFd::as_fd)).unwrap();
    let message = far.receive().unwrap();
    assert_eq!((message.header, &message.body[..]), (header, &b"onetw"[..]));
    let [_, second] = <[OwnedFd; 2]>::try_from(message.descriptors).unwrap();
    let mut text = String::new();
    let mut second = File::from(second);
    std::io::Seek::rewind(&mut second).unwrap();
    second.read_to_string(&mut text).unwrap();
    assert_eq!(text, "second");
    assert_eq!(far.peer(), Some(std::process::id()));
}

#[test]
fn a_message_in_single_bytes_is_put_together() {
    let (near, mut far) = pair();
    let header = Header::request(3, Command::DmaMap, 5);
    let bytes = [&header.to_bytes()[..], b"bytes"].concat();
    let sender = std::thread::spawn(move || bytes.chunks(1).for_each(|byte| far.write_all(byte).unwrap()));
    assert_eq!(near.receive().unwrap().body, b"bytes");
    sender.join().unwrap();
    assert!(matches!(near.receive(), Err(Error::Closed)));
}

#[test]
fn a_message_larger_than_the_socket_holds_is_sent_whole() {
    let (near, far) = pair();
    let body = vec![7; MESSAGE_MAX - Header::LEN];
    let sender = std::thread::spawn(move || {
        let header = Header::request(1, Command::RegionWrite, body.len());
        (0..20).for_each(|_| near.send(&header, &[&body], &[]).unwrap());
    });
    let far = Socket::of_server(far);
    for _ in 0..20 {
        assert!(far.receive().unwrap().body.iter().all(|byte| *byte == 7));
    }
    sender.join().unwrap();
}

#[test]
fn what_is_no_message_is_told_apart() {
    let broken = |bytes: &[u8]| {
        let (near, mut far) = pair();
        far.write_all(bytes).unwrap();
        drop(far);
        near.receive().unwrap_err()
    };
    assert!(matches!(broken(&[]), Error::Closed));
    assert!(matches!(broken(&[0; 7]), Error::Half { missing: 9 }));
    let header = |size| Header { size, ..Header::default() }.to_bytes();
    assert!(matches!(broken(&header(15)), Error::Size { size: 15 }));
    assert!(matches!(broken(&header(u32::MAX)), Error::Size { size: u32::MAX }));
    assert!(matches!(broken(&header(20)), Error::Half { missing: 4 }));
}

#[test]
fn too_many_descriptors_are_refused_and_closed() {
    let (near, far) = pair();
    let file = tempfile::tempfile().unwrap();
    let many = vec![file.as_fd(); DESCRIPTORS_MAX + 1];
    let header = Header::request(1, Command::DmaMap, 0).to_bytes();
    assert!(matches!(near.send(&Header::default(), &[], &many), Err(Error::Descriptors)));
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(64))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&many)));
    sendmsg(&far, &[IoSlice::new(&header)], &mut ancillary, SendFlags::empty()).unwrap();
    assert!(matches!(near.receive(), Err(Error::Descriptors)));
}

#[test]
fn patience_ends() {
    let (near, _far) = UnixStream::pair().unwrap();
    let near = Socket::with_patience(near, Duration::from_millis(20));
    assert!(matches!(near.receive(), Err(Error::Silent { waited }) if waited >= Duration::from_millis(20)));
}

#[test]
fn a_message_in_time_is_whole_in_time() {
    let (near, mut far) = pair();
    let bytes = Header::request(3, Command::DmaMap, 5).to_bytes();
    let started = Instant::now();
    let sender = std::thread::spawn(move || {
        for byte in bytes.chunks(1) {
            // Nobody may listen any more.
            let _ = far.write_all(byte);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let late = near.receive_by(Instant::now() + Duration::from_millis(100));
    assert!(matches!(late, Err(Error::Silent { .. })), "{late:?}");
    assert!(started.elapsed() >= Duration::from_millis(100));
    sender.join().unwrap();
}
