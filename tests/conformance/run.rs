//! A case, from its connection to its last late packet.

use stroma_abi::Psn;
use stroma_sim::link::Counters;
use stroma_tests::pair::{LIMIT, Pair};
use stroma_top::Profile;
use stroma_verbs::{QueuePair, Status};

use crate::case::Case;
use crate::counts::Counts;
use crate::operation::{self, Operation};

/// 256 bytes a packet, so that short messages have a First, a Middle and a Last.
const PATH_MTU: u8 = 1;
/// An answer is overdue after 4.096 us << 3: 33 us.
const TIMEOUT: u8 = 3;
/// PSN of a connection's first request, if a row does not say.
const PSN: u32 = 0x10_0000;
/// Requests are repeated so often without any progress.
const RETRY: u8 = 3;
/// Nanoseconds after which nothing is under way any more: longer than any script holds a packet.
const SETTLE_NS: u64 = 150_000;

/// Two cards, and a connection between them that goes from case to case: making one takes longer than most cases.
pub(crate) struct Stage {
    pair: Pair,
    connection: Option<[QueuePair; 2]>,
}

impl Stage {
    /// Two cards of a profile.
    pub(crate) fn new(profile: Profile) -> Self {
        Self { pair: Pair::new(profile), connection: None }
    }

    /// What is wrong with a case, if it does not end as its row says.
    pub(crate) fn run(&mut self, case: &Case) -> Result<(), String> {
        let pair = &self.pair;
        let open = self.connection.take().filter(|_| case.psn.is_none());
        let connection = open.unwrap_or_else(|| connect(pair, case.psn.unwrap_or(PSN)));
        let result = story(pair, &connection[0], case);
        if result.is_ok() {
            self.connection = Some(connection).filter(|_| case.carries_on());
        } else {
            // The next case begins as if this one had not been.
            for end in 0..2 {
                script(pair, end, "");
            }
            settle(pair);
            while pair.ends[0].poll().is_some() {}
        }
        result.map_err(|what| format!("- {}: {what}", case.name))
    }
}

fn story(pair: &Pair, sender: &QueuePair, case: &Case) -> Result<(), String> {
    let before = Counts::of(pair);
    let gone_wrong = [0, 1].map(|end| script(pair, end, case.scripts[end]));
    operation::post(pair, sender, case.operations);

    let completed = completions(pair, case.operations.len());
    let expected: Vec<(u64, Status)> = (0..).zip(case.statuses()).collect();
    if completed != expected {
        return Err(format!("{completed:?} complete, and not {expected:?}"));
    }
    memory_stays_right(pair, case)?;
    if let Some(found) = pair.ends[0].poll() {
        return Err(format!("one more completion: {found:?}"));
    }
    let counts = Counts::of(pair) - before;
    if counts != case.counts {
        return Err(format!("{counts:?}\n  and not {:?}", case.counts));
    }
    for (end, before) in gone_wrong.into_iter().enumerate() {
        let text = case.scripts[end];
        if script(pair, end, "") == before && !text.is_empty() {
            return Err(format!("the script {text:?} strikes nothing"));
        }
    }
    if case.carries_on() { carry_on(pair, sender) } else { Ok(()) }
}

/// What succeeded has moved its bytes; then their owner puts others there, and whatever comes late leaves them alone.
fn memory_stays_right(pair: &Pair, case: &Case) -> Result<(), String> {
    let done = || {
        let all = case.operations.iter().enumerate().zip(case.statuses());
        all.filter(|(_, status)| *status == Status::Success).map(|(operation, _)| operation)
    };
    for (index, operation) in done() {
        if !operation.is_done(pair, index) {
            return Err(format!("operation {index}, {operation:?}: other bytes than sent"));
        }
        operation.overwrite(pair, index);
    }
    settle(pair);
    match done().find(|(index, operation)| !operation.is_left_alone(pair, *index)) {
        Some((index, operation)) => Err(format!("operation {index}, {operation:?}: touched when it is over")),
        None => Ok(()),
    }
}

fn connect(pair: &Pair, psn: u32) -> [QueuePair; 2] {
    pair.connect_with(64, |end, connection| {
        (connection.path_mtu, connection.timeout, connection.retry) = (PATH_MTU, TIMEOUT, RETRY);
        let first = if end == 0 { &mut connection.send_psn } else { &mut connection.receive_psn };
        *first = Psn::new(psn);
    })
}

/// Gives a line a script; how many frames have gone wrong on it so far, in each way.
fn script(pair: &Pair, end: usize, text: &str) -> [u64; 5] {
    let mut world = pair.shared.world();
    let line = world.line(end);
    line.set_script(text).unwrap_or_else(|error| panic!("{error}"));
    let Counters { lost, duplicated, held, corrupted, marked, .. } = line.counters();
    [lost, duplicated, held, corrupted, marked]
}

/// The next completions of the near end; fewer, if they do not come.
fn completions(pair: &Pair, count: usize) -> Vec<(u64, Status)> {
    let end = pair.now() + LIMIT;
    let mut found = Vec::new();
    while found.len() < count && pair.now() < end {
        found.extend(pair.ends[0].poll().map(|completion| (completion.wr_id, completion.status)));
    }
    found
}

fn settle(pair: &Pair) {
    let cycles = pair.shared.world().cycles(std::time::Duration::from_nanos(SETTLE_NS));
    pair.run(cycles);
}

/// One more request of each kind, on a wire on which nothing goes wrong any more.
fn carry_on(pair: &Pair, sender: &QueuePair) -> Result<(), String> {
    let operations = [Operation::Write(300), Operation::Read(300)];
    let before = Counts::of(pair);
    operation::post(pair, sender, &operations);
    let found = completions(pair, operations.len());
    let is_done = (0..).zip(operations).all(|(index, operation)| operation.is_done(pair, index));
    if found != [(0, Status::Success), (1, Status::Success)] || !is_done {
        return Err(format!(
            "afterwards {operations:?} complete as {found:?}, their bytes are there: {is_done}"
        ));
    }
    let counts = Counts::of(pair) - before;
    if counts == Counts::NONE { Ok(()) } else { Err(format!("afterwards {counts:?}")) }
}
