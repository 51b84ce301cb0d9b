//! What a client may say that makes no sense, row by row: an error or the end of the connection, and the next client finds the
//! function as it was.

use proptest::prelude::*;

use super::*;
use crate::body::{
    ACTION_TRIGGER, DATA_DESCRIPTORS, DATA_NONE, DeviceInfo, DmaMap, DmaUnmap, InterruptInfo, READ,
    RegionAccess, RegionInfo, SetInterrupts, WRITE,
};
use crate::message::{Command, DATA_MAX, Header};
use crate::version;

/// Descriptors that a row sends along.
#[derive(Clone, Copy)]
enum With {
    Nothing,
    /// Shared memory of a page.
    Page,
    /// The same twice.
    Pages,
    /// A pipe, which could make a reader wait.
    Pipe,
}

/// A connection that has settled its version.
pub(super) fn settled(path: &Path) -> Socket {
    let socket = Socket::with_patience(UnixStream::connect(path).unwrap(), Duration::from_secs(20));
    let body = version::ours();
    socket.send(&Header::request(0, Command::Version, body.len()), &[&body], &[]).unwrap();
    assert_eq!(socket.receive().unwrap().header.told(), None);
    socket
}

/// The error by which a request is answered.
fn told(socket: &Socket, command: u16, body: &[u8], with: With) -> Option<Errno> {
    let header = Header { command, ..Header::request(9, Command::Version, body.len()) };
    let page = || {
        let memory = File::from(memfd_create("page", MemfdFlags::CLOEXEC).unwrap());
        memory.set_len(0x1000).unwrap();
        OwnedFd::from(memory)
    };
    let descriptors = match with {
        With::Nothing => vec![],
        With::Page => vec![page()],
        With::Pages => vec![page(), page()],
        With::Pipe => vec![OwnedFd::from(std::io::pipe().unwrap().0)],
    };
    let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    socket.send(&header, &[body], &borrowed).unwrap();
    let answer = socket.receive().unwrap();
    assert!(answer.header.answers(&header), "{:?}", answer.header);
    answer.header.told().map(|error| Errno::from_raw_os_error(i32::try_from(error).unwrap()))
}

fn access(region: u32, offset: u64, count: u32) -> Vec<u8> {
    RegionAccess { offset, region, count }.to_bytes()
}

fn map(flags: u32, offset: u64, address: u64, size: u64) -> Vec<u8> {
    DmaMap { argsz: 32, flags, offset, address, size }.to_bytes()
}

fn interrupts(flags: u32, index: u32, start: u32, count: u32) -> Vec<u8> {
    SetInterrupts { argsz: 20, flags, index, start, count }.to_bytes()
}

#[test]
fn requests_without_sense_are_answered_with_an_error_and_change_nothing() {
    use Command::{DmaUnmap as Unmap, RegionRead, RegionWrite, SetInterrupts as Set};
    let (path, fake) = served();
    let socket = settled(&path);
    let (invalid, denied) = (Errno::INVAL, Errno::PERM);
    let data_max = u32::try_from(DATA_MAX).unwrap();
    let region_of = |index| RegionInfo { argsz: 32, index, ..RegionInfo::default() }.to_bytes();
    let interrupts_of = |index| InterruptInfo { argsz: 16, index, ..InterruptInfo::default() }.to_bytes();
    let unmap = |flags, address, size| DmaUnmap { argsz: 24, flags, address, size }.to_bytes();
    let trigger = DATA_DESCRIPTORS | ACTION_TRIGGER;
    let longer = [access(0, 0, 8), vec![0; 9]].concat();
    let rows: Vec<(&str, u16, Vec<u8>, With, Errno)> = vec![
        ("no command", 0, vec![], With::Nothing, Errno::OPNOTSUPP),
        ("a command we do not know", 6, vec![0; 32], With::Nothing, Errno::OPNOTSUPP),
        ("another", u16::MAX, vec![], With::Nothing, Errno::OPNOTSUPP),
        ("what devices ask", Command::DmaRead as u16, vec![0; 16], With::Nothing, Errno::OPNOTSUPP),
        ("a second version", Command::Version as u16, version::ours(), With::Nothing, invalid),
        ("a body that is missing", RegionRead as u16, vec![], With::Nothing, invalid),
        ("half a body", RegionRead as u16, vec![0; 15], With::Nothing, invalid),
        ("half a map", Command::DmaMap as u16, vec![0; 31], With::Page, invalid),
        ("half a set", Set as u16, vec![0; 19], With::Nothing, invalid),
        ("half an info", Command::DeviceInfo as u16, vec![0; DeviceInfo::LEN - 1], With::Nothing, invalid),
        ("a region that is not there", Command::RegionInfo as u16, region_of(9), With::Nothing, invalid),
        (
            "interrupts that are not there",
            Command::InterruptInfo as u16,
            interrupts_of(5),
            With::Nothing,
            invalid,
        ),
        ("a read behind the region", RegionRead as u16, access(0, 0xffc, 8), With::Nothing, invalid),
        ("a read that wraps", RegionRead as u16, access(0, u64::MAX, 8), With::Nothing, invalid),
        ("a read of no region", RegionRead as u16, access(u32::MAX, 0, 4), With::Nothing, invalid),
        ("a read of an empty region", RegionRead as u16, access(1, 0, 4), With::Nothing, invalid),
        ("a read of too much", RegionRead as u16, access(0, 0, u32::MAX), With::Nothing, invalid),
        (
            "a read of a little too much",
            RegionRead as u16,
            access(0, 0, data_max + 1),
            With::Nothing,
            invalid,
        ),
        ("a write without its bytes", RegionWrite as u16, access(0, 0, 8), With::Nothing, invalid),
        ("a write with more", RegionWrite as u16, longer, With::Nothing, invalid),
        ("a map of nothing", Command::DmaMap as u16, map(READ, 0, 0, 0), With::Page, invalid),
        ("a map that wraps", Command::DmaMap as u16, map(READ, 0, u64::MAX - 1, 0x1000), With::Page, invalid),
        ("a map of more than there is", Command::DmaMap as u16, map(READ, 0, 0, 0x1001), With::Page, invalid),
        ("a map beyond its file", Command::DmaMap as u16, map(READ, 0x1000, 0, 0x1000), With::Page, invalid),
        (
            "a map from far beyond",
            Command::DmaMap as u16,
            map(READ, u64::MAX, 0, 0x1000),
            With::Page,
            invalid,
        ),
        (
            "a map with strange flags",
            Command::DmaMap as u16,
            map(0x10 | WRITE, 0, 0, 0x1000),
            With::Page,
            invalid,
        ),
        ("a map of two files", Command::DmaMap as u16, map(READ, 0, 0, 0x1000), With::Pages, invalid),
        ("a map of a pipe", Command::DmaMap as u16, map(READ, 0, 0, 0x1000), With::Pipe, denied),
        ("an unmap with strange flags", Unmap as u16, unmap(0x100, 0, 0x1000), With::Nothing, invalid),
        ("interrupts beyond the last", Set as u16, interrupts(trigger, 2, 40, 1), With::Page, invalid),
        ("interrupts that wrap", Set as u16, interrupts(trigger, 2, u32::MAX, u32::MAX), With::Page, invalid),
        ("more than descriptors", Set as u16, interrupts(trigger, 2, 0, 2), With::Page, invalid),
        ("fewer than descriptors", Set as u16, interrupts(trigger, 2, 0, 1), With::Pages, invalid),
        ("a kind that is not there", Set as u16, interrupts(trigger, 7, 0, 1), With::Page, invalid),
        ("a kind without any", Set as u16, interrupts(trigger, 0, 0, 1), With::Page, invalid),
        ("no action", Set as u16, interrupts(DATA_DESCRIPTORS, 2, 0, 1), With::Page, invalid),
        ("two kinds of data", Set as u16, interrupts(trigger | DATA_NONE, 2, 0, 1), With::Page, invalid),
    ];
    for (what, command, body, with, expected) in rows {
        assert_eq!(told(&socket, command, &body, with), Some(expected), "{what}");
    }
    // What virtual machines do say, though it looks odd.
    for (what, command, body) in [
        ("an unmap of nothing", Unmap as u16, unmap(0, 0x5000, 0)),
        ("an unmap of what was never there", Unmap as u16, unmap(0, 0, u64::MAX)),
        ("an unmap beyond the addresses", Unmap as u16, unmap(0, 0x1000, u64::MAX)),
        ("an unmap of all", Unmap as u16, unmap(4, 0, 0)),
        ("a map without a descriptor", Command::DmaMap as u16, map(READ | WRITE, 0, 0x10_0000, 0x1000)),
        ("no interrupts any more", Set as u16, interrupts(DATA_NONE | ACTION_TRIGGER, 2, 0, 0)),
    ] {
        assert_eq!(told(&socket, command, &body, With::Nothing), None, "{what}");
    }
    assert_eq!(fake.read(0x10_0000, 1), None, "what has no descriptor is not reached");
    assert_eq!(told(&socket, RegionRead as u16, &access(0, 0, 4), With::Nothing), None, "it goes on");
    drop(socket);
    assert_eq!(fake.ended(1), ["has left"]);
}

#[test]
fn what_is_no_message_ends_the_connection_and_not_the_server() {
    let (path, fake) = served();
    let header = |size: u32| Header { command: 9, size, ..Header::default() }.to_bytes().to_vec();
    let rows = [
        ("half a header", vec![0; 9]),
        ("a message shorter than its header", header(15)),
        ("a message of 4 GiB", header(u32::MAX)),
        ("half a message", [header(32), vec![0; 7]].concat()),
        ("text", b"GET / HTTP/1.1\r\nHost: card\r\n\r\n".to_vec()),
    ];
    let mut count = 0;
    let mut next_ending = || {
        count += 1;
        fake.ended(count).remove(count - 1)
    };
    for (what, bytes) in rows {
        // Before the version is settled, and after it.
        for is_settled in [false, true] {
            let stream = || UnixStream::connect(&path).unwrap();
            let mut stream = if is_settled { settled(&path).into_stream() } else { stream() };
            stream.write_all(&bytes).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let ending = next_ending();
            assert!(ending.starts_with("was sent away: "), "{what}: {ending}");
        }
        Client::connect(&path).unwrap().info().unwrap();
        assert_eq!(next_ending(), "has left");
    }
}

#[test]
fn who_does_not_begin_with_a_version_is_sent_away() {
    let (path, fake) = served();
    let versions = [
        (Command::RegionRead, access(0, 0, 4)),
        (Command::Version, vec![]),
        (Command::Version, [vec![0; 4], b"{".to_vec()].concat()),
        (Command::Version, [9_u16.to_ne_bytes(), [0; 2]].concat()),
    ];
    for (count, (command, body)) in (1..).zip(versions) {
        let socket = Socket::with_patience(UnixStream::connect(&path).unwrap(), Duration::from_secs(20));
        socket.send(&Header::request(1, command, body.len()), &[&body], &[]).unwrap();
        assert!(socket.receive().unwrap().header.told().is_some());
        assert!(matches!(socket.receive(), Err(socket::Error::Closed)));
        assert!(fake.ended(count)[count - 1].contains("version"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_said_the_next_client_is_served(
        messages in proptest::collection::vec((0..16_u16, 0..64_u32, proptest::collection::vec(any::<u8>(), 0..48)), 1..12),
    ) {
        let (path, fake) = served();
        let socket = settled(&path);
        for (command, flags, body) in messages {
            let header = Header { command, flags, ..Header::request(1, Command::Version, body.len()) };
            socket.send(&header, &[&body], &[]).unwrap();
        }
        drop(socket);
        fake.ended(1);
        Client::connect(&path).unwrap().info().unwrap();
    }
}
