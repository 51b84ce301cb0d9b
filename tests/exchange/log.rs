//! What the two programs wrote down: every operation with its result, every receive, and what was in the buffers at the end.

use serde::Deserialize;
use stroma_abi::Psn;
use stroma_tests::vectors;
use stroma_verbs::{Status, WorkOp};

/// Where the server's buffer lay.
pub(crate) const SERVER_BASE: u64 = 0x20_0000_0000;
/// The key of the server's buffer.
pub(crate) const SERVER_KEY: u32 = 0x2bd;

/// What was asked for, by the client's name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Operation {
    #[serde(rename = "SEND")]
    Send,
    #[serde(rename = "SEND_IMM")]
    SendImm,
    #[serde(rename = "WRITE")]
    Write,
    #[serde(rename = "WRITE_IMM")]
    WriteImm,
    #[serde(rename = "READ")]
    Read,
    #[serde(rename = "FADD")]
    FetchAdd,
    #[serde(rename = "CAS")]
    CompareSwap,
    /// The server posts its receive late.
    #[serde(rename = "SEND_RNR")]
    SendNotReady,
    #[serde(rename = "WRITE_BADKEY")]
    WriteWrongKey,
    #[serde(rename = "READ_OOB")]
    ReadOutOfBounds,
    /// The server's receive is too short.
    #[serde(rename = "SEND_TOO_LONG")]
    SendTooLong,
}

/// One operation of the client. Offsets are from the starts of the buffers.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Post {
    #[serde(rename = "n")]
    pub(crate) number: u64,
    #[serde(rename = "op")]
    pub(crate) operation: Operation,
    #[serde(rename = "loff")]
    pub(crate) local: usize,
    #[serde(rename = "roff")]
    pub(crate) remote: u64,
    #[serde(rename = "len")]
    pub(crate) length: usize,
    #[serde(rename = "imm")]
    pub(crate) immediate: u32,
    /// What is added, or expected.
    #[serde(rename = "a")]
    pub(crate) first_operand: u64,
    /// What is put in its place.
    #[serde(rename = "b")]
    pub(crate) second_operand: u64,
    #[serde(rename = "rkey")]
    pub(crate) remote_key: u32,
    status: String,
}

impl Post {
    /// How it ended for the recorded client.
    pub(crate) fn status(&self) -> Status {
        match self.status.as_str() {
            "success" => Status::Success,
            "remote access error" => Status::RemoteAccess,
            "remote operation error" => Status::RemoteOperation,
            other => panic!("operation {}: status {other} is not in this recording", self.number),
        }
    }
}

/// What the client did on one queue pair.
pub(crate) struct Chapter {
    /// First PSNs: the client's, the server's.
    pub(crate) psns: [Psn; 2],
    /// Operations, each waited for; several that were posted together are one entry.
    pub(crate) posts: Vec<Vec<Post>>,
}

/// A message that the server received.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) operation: WorkOp,
    pub(crate) length: usize,
    pub(crate) immediate: Option<u32>,
}

fn lines(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(vectors().join(name)).expect("the log is beside the capture");
    text.lines().map(str::to_owned).collect()
}

/// The word behind `name` in a line, in hexadecimal.
fn hexadecimal(line: &str, name: &str) -> u32 {
    let mut words = line.split_whitespace().skip_while(|word| *word != name);
    let digits = words.nth(1).and_then(|word| word.strip_prefix("0x"));
    let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    value.unwrap_or_else(|| panic!("no {name} in {line}"))
}

/// The four WRITEs that the log only counts. Where they came from and went to is read off their frames.
fn pipelined() -> Vec<Post> {
    let one = |index: usize| Post {
        number: 100 + index as u64,
        operation: Operation::Write,
        local: 0x200 * index,
        remote: 0x5000 + 0x600 * index as u64,
        length: 1500,
        immediate: 0,
        first_operand: 0,
        second_operand: 0,
        remote_key: SERVER_KEY,
        status: "success".to_owned(),
    };
    (0..4).map(one).collect()
}

/// The client's log.
pub(crate) fn chapters() -> Vec<Chapter> {
    let mut chapters: Vec<Chapter> = Vec::new();
    for line in lines("golden_rxe61.client.log") {
        if let Some((local, remote)) = line.strip_prefix("QP ").and_then(|line| line.split_once('|')) {
            let psns = [local, remote].map(|end| Psn::new(hexadecimal(end, "psn")));
            chapters.push(Chapter { psns, posts: Vec::new() });
            continue;
        }
        let posts = match line.strip_prefix("OP ") {
            Some(post) => vec![serde_json::from_str(post).expect("an operation as README.md has it")],
            None if line.starts_with("PIPE") => pipelined(),
            None => continue,
        };
        chapters.last_mut().expect("a queue pair comes before its operations").posts.push(posts);
    }
    chapters
}

/// What the server received in the first chapter.
pub(crate) fn received() -> Vec<Received> {
    let lines = lines("golden_rxe61.server.log");
    let receives = lines.iter().filter_map(|line| line.strip_prefix("RECV success op "));
    let understand = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [code, "len", length, "imm", _, "flags", flags] = words[..] else { panic!("{line}") };
        // libibverbs' IBV_WC_WITH_IMM.
        let has_immediate = flags.parse::<u32>().expect("a number") & 2 != 0;
        // libibverbs' IBV_WC_RECV and IBV_WC_RECV_RDMA_WITH_IMM.
        let operation = match (code, has_immediate) {
            ("128", false) => WorkOp::Send,
            ("128", true) => WorkOp::SendImm,
            ("129", true) => WorkOp::WriteImm,
            _ => panic!("{line}"),
        };
        let immediate = has_immediate.then(|| hexadecimal(line, "imm"));
        Received { operation, length: length.parse().expect("a number"), immediate }
    };
    receives.map(understand).collect()
}

/// Hashes of both buffers at the end of the first chapter: the client's, the server's.
pub(crate) fn hashes() -> [u32; 2] {
    ["golden_rxe61.client.log", "golden_rxe61.server.log"].map(|name| {
        let lines = lines(name);
        let line = lines.iter().find(|line| line.starts_with("BUFHASH")).expect("one line");
        hexadecimal(line, "BUFHASH")
    })
}
