//! What the recording's logs and its README tell: who posted what, where memory was, how it ended.

use std::path::{Path as File, PathBuf};

use stroma_abi::desc::Status;
use stroma_abi::wire::{Frame, Ip, Ipv4, Role};
use stroma_abi::{Psn, Qpn};

use crate::model::tests::rig::{ALL, sge};
use crate::model::{Addresses, Memory, Operation, Path, QueuePair, Region, Settings, Work};
use crate::pcap;

pub(super) const CLIENT: u64 = 0x10_0000_0000;
pub(super) const SERVER: u64 = 0x20_0000_0000;
pub(super) const CLIENT_KEY: u32 = 0x22a;
pub(super) const SERVER_KEY: u32 = 0x2bd;
/// Where in its buffer the server received every message. No log says so; with it the hash of the buffer comes out.
pub(super) const RECEIVES_AT: u64 = 0x8000;
const BUFFER: usize = 0x1_0000;
/// Timer code of the server's RNR NAKs.
const RNR_TIMER: u8 = 14;

/// What was done on one queue pair.
pub(super) struct Chapter {
    /// Its number, at both ends.
    pub(super) queue_pair: u32,
    /// The client's first PSN.
    pub(super) first: Psn,
    pub(super) posts: Vec<Work>,
    /// How each of them ended.
    pub(super) status: Status,
    /// Of the buffers afterwards.
    pub(super) client_hash: Option<u32>,
    pub(super) server_hash: Option<u32>,
}

fn vector(name: &str) -> PathBuf {
    File::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors").join(name)
}

/// Lines of a log.
pub(super) fn logged(side: &str) -> Vec<String> {
    let log = std::fs::read_to_string(vector(&format!("golden_rxe61.{side}.log"))).unwrap();
    log.lines().map(str::to_owned).collect()
}

fn hexadecimal(text: &str) -> u32 {
    u32::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// 32-bit FNV-1a.
pub(super) fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

fn hash_of(side: &str) -> Option<u32> {
    logged(side).iter().find_map(|line| line.strip_prefix("BUFHASH ").map(hexadecimal))
}

fn work(operation: Operation, local: u64, remote: u64, length: u32, remote_key: u32) -> Work {
    Work::new(local, operation, &[sge(CLIENT_KEY, CLIENT + local, length)], remote_key, SERVER + remote)
}

/// An operation of the client's log, and how it ended.
fn posted(line: &str) -> (Work, Status) {
    let value = |key: &str| {
        let (_, rest) = line.split_once(&format!("\"{key}\":")).unwrap();
        rest.split([',', '}']).next().unwrap().trim_matches('"').to_owned()
    };
    let number = |key: &str| -> u64 { value(key).parse().unwrap() };
    let small = |key: &str| -> u32 { value(key).parse().unwrap() };
    let operation = match value("op").as_str() {
        "SEND" | "SEND_RNR" | "SEND_TOO_LONG" => Operation::Send,
        "SEND_IMM" => Operation::SendImm(small("imm")),
        "WRITE" | "WRITE_BADKEY" => Operation::Write,
        "WRITE_IMM" => Operation::WriteImm(small("imm")),
        "READ" | "READ_OOB" => Operation::Read,
        "FADD" => Operation::FetchAdd(number("a")),
        "CAS" => Operation::CompareSwap { compare: number("a"), swap: number("b") },
        other => panic!("the log has an unknown operation {other}"),
    };
    let status = match value("status").as_str() {
        "success" => Status::Success,
        "remote access error" => Status::RemoteAccess,
        "remote operation error" => Status::RemoteOperation,
        other => panic!("the log has an unknown status {other}"),
    };
    let work = work(operation, number("loff"), number("roff"), small("len"), small("rkey"));
    // The log does not tell; the frame of this one does.
    (Work { solicited: number("n") == 12, ..work }, status)
}

pub(super) fn chapters() -> Vec<Chapter> {
    let mut chapters: Vec<Chapter> = Vec::new();
    for line in logged("client") {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["QP", "local", "qpn", number, "psn", psn, ..] = words.as_slice() {
            let first = Psn::new(hexadecimal(psn));
            chapters.push(Chapter {
                queue_pair: hexadecimal(number),
                first,
                posts: vec![],
                status: Status::Success,
                client_hash: None,
                server_hash: None,
            });
            continue;
        }
        let chapter = chapters.last_mut().expect("the log begins with a queue pair");
        if words[0] == "OP" {
            let (work, status) = posted(&line);
            chapter.posts.push(work);
            chapter.status = status;
        } else if words[0] == "PIPE" {
            // Four pipelined WRITEs, which the log only counts: the addresses are those of their RETHs.
            let write =
                |index: u64| work(Operation::Write, 0x200 * index, 0x5000 + 0x600 * index, 1500, SERVER_KEY);
            chapter.posts.extend((0..4).map(write));
        } else if words[0] == "BUFHASH" {
            (chapter.client_hash, chapter.server_hash) = (hash_of("client"), hash_of("server"));
        }
    }
    chapters
}

/// Frames of a chapter, both directions, without Linux's identification.
pub(super) fn recorded(chapter: &Chapter) -> Vec<(Role, Vec<u8>)> {
    let frames = pcap::read(&vector("golden_rxe61.pcap")).unwrap();
    let select = |bytes: &Vec<u8>| {
        let frame = Frame::parse(bytes).ok()?;
        let Ip::V4(ip) = frame.ip else { return None };
        let ip = Ip::V4(Ipv4 { identification: 0, ..ip });
        let sealed = Frame { ip, ..frame }.seal().unwrap().to_vec().unwrap();
        let is_of = frame.bth.destination_qp == Qpn::new(chapter.queue_pair);
        is_of.then_some((frame.opcode()?.role, sealed))
    };
    frames.iter().filter_map(|frame| select(&frame.bytes)).collect()
}

/// A queue pair that speaks as the sender of this frame.
pub(super) fn speaker(chapter: &Chapter, frame: &[u8]) -> QueuePair {
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
    let number = Qpn::new(chapter.queue_pair);
    let settings = Settings::new(number, number, path, 1024);
    let first = chapter.first;
    QueuePair::new(Settings { send_psn: first, receive_psn: first, rnr_timer: RNR_TIMER, ..settings })
}

fn buffer(base: u64, byte: impl Fn(usize) -> usize) -> Region {
    let bytes = (0..BUFFER).map(|index| byte(index).to_le_bytes()[0]).collect();
    Region { base, bytes, domain: 0, rights: ALL }
}

/// The server's and the client's buffers before the first operation, as the recording's README gives them.
pub(super) fn buffers() -> (Memory, Memory) {
    let (mut server, mut client) = (Memory::default(), Memory::default());
    server.register(SERVER_KEY, buffer(SERVER, |index| index * 13 + (index >> 8) + 0x80));
    client.register(CLIENT_KEY, buffer(CLIENT, |index| index * 7 + (index >> 8) * 3 + 1));
    (server, client)
}
