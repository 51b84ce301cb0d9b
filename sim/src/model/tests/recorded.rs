//! Against Linux: for recorded requests the model answers what Soft-RoCE answered, and for the recorded operations it
//! asks what Soft-RoCE asked.
//!
//! Frames are compared byte for byte after one change: the IPv4 identification, a counter of Linux's and zero here, is made
//! zero in the recording, and the header checksum and ICRC that cover it are computed again. Nothing else differs.

use std::path::Path as File;

use stroma_abi::desc::Status;
use stroma_abi::wire::{Frame, Ip, Role};
use stroma_abi::{Psn, Qpn};

use super::rig::ALL;
use crate::model::{Addresses, Memory, Operation, Path, QueuePair, Region, Settings, Work};
use crate::pcap;

const CLIENT: u64 = 0x10_0000_0000;
const SERVER: u64 = 0x20_0000_0000;
const CLIENT_KEY: u32 = 0x22a;
const SERVER_KEY: u32 = 0x2bd;
const BUFFER: usize = 0x1_0000;

/// A stretch of the recording with nothing but WRITE and READ: what the client posted, and the PSNs it took.
struct Stretch {
    name: &'static str,
    queue_pair: u32,
    first: u32,
    end: u32,
    /// Messages the server had completed before.
    msn: u32,
    posts: Vec<Work>,
    status: Status,
}

fn vector(name: &str) -> std::path::PathBuf {
    File::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors").join(name)
}

fn work(operation: Operation, local: u64, remote: u64, length: u32, remote_key: u32) -> Work {
    let (local_address, remote_address) = (CLIENT + local, SERVER + remote);
    Work { id: local, operation, local_key: CLIENT_KEY, local_address, remote_key, remote_address, length }
}

/// Posts of one kind from the client's log.
fn logged(name: &str, operation: Operation) -> Vec<Work> {
    let log = std::fs::read_to_string(vector("golden_rxe61.client.log")).unwrap();
    let number = |line: &str, key: &str| -> u64 {
        let (_, rest) = line.split_once(&format!("\"{key}\":")).unwrap();
        rest.split([',', '}']).next().unwrap().parse().unwrap()
    };
    let small = |line: &str, key: &str| u32::try_from(number(line, key)).unwrap();
    log.lines()
        .filter(|line| line.contains(&format!("\"op\":\"{name}\"")))
        .map(|line| {
            let (local, remote) = (number(line, "loff"), number(line, "roff"));
            work(operation, local, remote, small(line, "len"), small(line, "rkey"))
        })
        .collect()
}

fn stretches() -> Vec<Stretch> {
    use Operation::{Read, Write};
    // Four pipelined WRITEs, which the log only counts: the addresses are those of their RETHs.
    let pipelined = (0..4).map(|index| work(Write, 0x200 * index, 0x5000 + 0x600 * index, 1500, SERVER_KEY));
    let stretch = |name, queue_pair, first, end, msn, posts, status| Stretch {
        name,
        queue_pair,
        first,
        end,
        msn,
        posts,
        status,
    };
    let (good, bad) = (Status::Success, Status::RemoteAccess);
    vec![
        stretch("WRITE", 0x11, 0x0b, 0x1b, 0x0e, logged("WRITE", Write), good),
        stretch("READ", 0x11, 0x1f, 0x2a, 0x18, logged("READ", Read), good),
        stretch("pipelined WRITE", 0x11, 0x2d, 0x35, 0x21, pipelined.collect(), good),
        stretch("wrong key", 0x13, 0x600, 0x601, 0, logged("WRITE_BADKEY", Write), bad),
        stretch("out of bounds", 0x14, 0x800, 0x801, 0, logged("READ_OOB", Read), bad),
    ]
}

/// Frames of a stretch, both directions, without Linux's identification.
fn recorded(stretch: &Stretch, role: Role) -> Vec<Vec<u8>> {
    let frames = pcap::read(&vector("golden_rxe61.pcap")).unwrap();
    let select = |bytes: &Vec<u8>| {
        let frame = Frame::parse(bytes).ok()?;
        let first = Psn::new(stretch.first);
        let inside = frame.bth.psn.in_window(first, stretch.end - stretch.first)
            && frame.bth.destination_qp == Qpn::new(stretch.queue_pair)
            && frame.opcode()?.role == role;
        let Ip::V4(ip) = frame.ip else { return None };
        let ip = Ip::V4(stroma_abi::wire::Ipv4 { identification: 0, ..ip });
        inside.then(|| Frame { ip, ..frame }.seal().unwrap().to_vec().unwrap())
    };
    frames.iter().filter_map(|frame| select(&frame.bytes)).collect()
}

/// A queue pair that speaks as the sender of this frame.
fn speaker(stretch: &Stretch, frame: &[u8]) -> QueuePair {
    let frame = Frame::parse(frame).unwrap();
    let Ip::V4(ip) = frame.ip else { panic!("the recording is IPv4") };
    let path = Path {
        local: frame.ethernet.source,
        remote: frame.ethernet.destination,
        tag: None,
        addresses: Addresses::V4 { local: ip.source, remote: ip.destination },
        source_port: frame.udp.source_port,
        traffic_class: ip.dscp << 2 | ip.ecn,
        hop_limit: ip.ttl,
    };
    let number = Qpn::new(stretch.queue_pair);
    let first = Psn::new(stretch.first);
    let settings = Settings::new(number, number, path, 1024);
    QueuePair::new(Settings { send_psn: first, receive_psn: first, ..settings })
}

fn buffer(base: u64, byte: impl Fn(usize) -> usize) -> Region {
    let bytes = (0..BUFFER).map(|index| byte(index).to_le_bytes()[0]).collect();
    Region { base, bytes, domain: 0, rights: ALL }
}

/// The server's and the client's buffers before the first operation, as the recording's README gives them.
fn buffers() -> (Memory, Memory) {
    let (mut server, mut client) = (Memory::default(), Memory::default());
    server.register(SERVER_KEY, buffer(SERVER, |index| index * 13 + (index >> 8) + 0x80));
    client.register(CLIENT_KEY, buffer(CLIENT, |index| index * 7 + (index >> 8) * 3 + 1));
    (server, client)
}

fn offset(address: u64, base: u64) -> usize {
    usize::try_from(address - base).unwrap()
}

#[test]
fn the_responder_answers_recorded_requests_as_linux_did() {
    let (mut server, client) = buffers();
    let mut expected = server.region(SERVER_KEY).unwrap().bytes.clone();
    for stretch in stretches() {
        let (requests, answers) = (recorded(&stretch, Role::Request), recorded(&stretch, Role::Response));
        let mut pair = speaker(&stretch, &answers[0]);
        pair.responder.msn = Psn::new(stretch.msn);
        let mut found = Vec::new();
        for request in &requests {
            pair.receive(0, &Frame::parse(request).unwrap(), &mut server).unwrap();
            found.extend(std::iter::from_fn(|| pair.transmit(0, &server)));
        }
        assert_eq!(found, answers, "{}", stretch.name);
        assert_eq!(pair.is_failed(), stretch.status != Status::Success, "{}", stretch.name);
        for work in stretch.posts {
            if (work.operation, stretch.status) == (Operation::Write, Status::Success) {
                let (from, to) = (offset(work.local_address, CLIENT), offset(work.remote_address, SERVER));
                let length = work.length as usize;
                let bytes = &client.region(CLIENT_KEY).unwrap().bytes[from..from + length];
                expected[to..to + length].copy_from_slice(bytes);
            }
        }
        assert_eq!(server.region(SERVER_KEY).unwrap().bytes, expected, "{}", stretch.name);
    }
}

#[test]
fn the_requester_asks_and_completes_as_linux_did() {
    let (_, mut client) = buffers();
    for stretch in stretches() {
        let (requests, answers) = (recorded(&stretch, Role::Request), recorded(&stretch, Role::Response));
        let mut pair = speaker(&stretch, &requests[0]);
        let mut found = Vec::new();
        for work in &stretch.posts {
            pair.requester.post(*work);
            found.extend(std::iter::from_fn(|| pair.transmit(0, &client)));
        }
        assert_eq!(found, requests, "{}", stretch.name);
        for answer in &answers {
            pair.receive(0, &Frame::parse(answer).unwrap(), &mut client).unwrap();
        }
        let done: Vec<_> = std::iter::from_fn(|| pair.requester.poll()).collect();
        let expected = stretch.posts.iter().map(|work| (work.id, stretch.status));
        assert!(done.iter().map(|done| (done.id, done.status)).eq(expected), "{}: {done:?}", stretch.name);
    }
    // The longest READ came last: the server's pattern up to its offset 4096, where the recorded WRITEs began.
    let work = *logged("READ", Operation::Read).last().unwrap();
    let (from, to) = (offset(work.remote_address, SERVER), offset(work.local_address, CLIENT));
    let (server, before) = buffers();
    let (server, before) = (server.region(SERVER_KEY).unwrap(), before.region(CLIENT_KEY).unwrap());
    let after = &client.region(CLIENT_KEY).unwrap().bytes;
    assert_eq!(after[to..to + 4096 - from], server.bytes[from..4096]);
    assert_eq!(after[..to], before.bytes[..to]);
    assert_eq!(after[to + work.length as usize..], before.bytes[to + work.length as usize..]);
}
