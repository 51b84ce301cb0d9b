//! A case, from its connection to its last late packet.

use stroma_abi::regs::map::counters;
use stroma_sim::link::Counters;
use stroma_tests::pair::{LIMIT, Pair};
use stroma_top::Profile;
use stroma_verbs::{Status, WorkCompletion};

use crate::case::{Case, Ready};
use crate::connection::Connection;
use crate::counts::Counts;
use crate::operation::{self, Operation, Received};

/// PSN of a connection's first request, if a row does not say.
const PSN: u32 = 0x10_0000;
/// Nanoseconds after which nothing is under way any more: longer than any script holds a packet.
const SETTLE_NS: u64 = 150_000;
/// Cycles between two looks at a counter.
const GLANCE: u64 = 50;

/// Two cards, and a connection between them that goes from case to case: making one takes longer than most cases.
pub(crate) struct Stage {
    pair: Pair,
    connection: Option<Connection>,
}

impl Stage {
    /// Two cards of a profile.
    pub(crate) fn new(profile: Profile) -> Self {
        Self { pair: Pair::new(profile), connection: None }
    }

    /// What is wrong with a case, if it does not end as its row says.
    pub(crate) fn run(&mut self, case: &Case) -> Result<(), String> {
        let pair = &self.pair;
        let serves = |open: &Connection| case.psn.is_none() && open.terms == case.terms;
        let open = self.connection.take().filter(serves);
        let connection = open.unwrap_or_else(|| Connection::new(pair, case.terms, case.psn.unwrap_or(PSN)));
        let result = story(pair, &connection, case);
        if result.is_ok() {
            self.connection = Some(connection).filter(|_| case.carries_on());
        } else {
            // The next case begins as if this one had not been.
            for end in 0..2 {
                script(pair, end, "");
            }
            settle(pair);
            for end in &pair.ends {
                while end.poll().is_some() {}
            }
        }
        result.map_err(|what| format!("- {}: {what}", case.name))
    }
}

fn story(pair: &Pair, connection: &Connection, case: &Case) -> Result<(), String> {
    let before = Counts::of(pair);
    let gone_wrong = [0, 1].map(|end| script(pair, end, case.scripts[end]));
    (0..).zip(case.operations).for_each(|(index, operation)| operation.prepare(pair, index));
    if case.ready == Ready::AtOnce {
        connection.post_receives(pair, case.operations, case.room);
    }
    operation::post(pair, &connection.sender, case.operations);
    if let Ready::AfterRefusals(count) = case.ready {
        await_refusals(pair, before.rnr + count)?;
        connection.post_receives(pair, case.operations, case.room);
    }

    let completed = completions(pair, 0, case.operations.len());
    let completed: Vec<(u64, Status)> = completed.iter().map(|one| (one.wr_id, one.status)).collect();
    let expected: Vec<(u64, Status)> = (0..).zip(case.statuses()).collect();
    if completed != expected {
        return Err(format!("{completed:?} complete, and not {expected:?}"));
    }
    receives_complete(pair, case)?;
    memory_stays_right(pair, case)?;
    for end in &pair.ends {
        if let Some(found) = end.poll() {
            return Err(format!("one more completion: {found:?}"));
        }
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
    if case.carries_on() { carry_on(pair, connection) } else { Ok(()) }
}

/// The far end has refused so many requests, all told, because it had no receive.
fn await_refusals(pair: &Pair, count: u64) -> Result<(), String> {
    let end = pair.now() + LIMIT;
    while pair.ends[1].count(&counters::RNR_NAKS) < count {
        if pair.now() > end {
            return Err(format!("{} refusals for want of a receive, and not {count}", Counts::of(pair).rnr));
        }
        pair.run(GLANCE);
    }
    Ok(())
}

/// Receives complete as the row says, and say what came; one that is left stays where it is.
fn receives_complete(pair: &Pair, case: &Case) -> Result<(), String> {
    let expected = case.receives();
    let found = completions(pair, 1, expected.len());
    let statuses: Vec<_> = found.iter().map(|one| (one.wr_id, one.status, one.is_receive)).collect();
    let wanted: Vec<_> = expected.iter().map(|(index, status)| (*index as u64, *status, true)).collect();
    if statuses != wanted {
        return Err(format!("receives: {statuses:?} complete, and not {wanted:?}"));
    }
    for (found, (index, status)) in found.iter().zip(expected) {
        let wanted = case.operations[index].received(index).filter(|_| status == Status::Success);
        let says = Received { op: found.op, length: found.length as usize, immediate: found.immediate };
        if wanted.is_some_and(|wanted| wanted != says) {
            return Err(format!("receive {index}: {says:?}, and not {wanted:?}"));
        }
    }
    Ok(())
}

/// What succeeded has moved its bytes; then their owner puts others there, and whatever comes late leaves them alone. What was
/// refused has changed nothing where it came from.
fn memory_stays_right(pair: &Pair, case: &Case) -> Result<(), String> {
    let all = || (0..).zip(case.operations).zip(case.statuses());
    let done = || all().filter(|(_, status)| *status == Status::Success).map(|(operation, _)| operation);
    let refused = [Status::RemoteInvalid, Status::RemoteAccess, Status::RemoteOperation];
    let mut refused = all().filter(|(_, status)| refused.contains(status)).map(|(operation, _)| operation);
    if let Some((index, operation)) = refused.find(|(index, operation)| !operation.is_undone(pair, *index)) {
        return Err(format!("operation {index}, {operation:?}: refused, and carried out"));
    }
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

/// Gives a line a script; how many frames have gone wrong on it so far, in each way.
pub(crate) fn script(pair: &Pair, end: usize, text: &str) -> [u64; 5] {
    let mut world = pair.shared.world();
    let line = world.line(end);
    line.set_script(text).unwrap_or_else(|error| panic!("{error}"));
    let Counters { lost, duplicated, held, corrupted, marked, .. } = line.counters();
    [lost, duplicated, held, corrupted, marked]
}

/// The next completions of an end; fewer, if they do not come.
fn completions(pair: &Pair, end: usize, count: usize) -> Vec<WorkCompletion> {
    let limit = pair.now() + LIMIT;
    let mut found = Vec::new();
    while found.len() < count && pair.now() < limit {
        found.extend(pair.ends[end].poll());
    }
    found
}

pub(crate) fn settle(pair: &Pair) {
    let cycles = pair.shared.world().cycles(std::time::Duration::from_nanos(SETTLE_NS));
    pair.run(cycles);
}

/// One more request of each kind, on a wire on which nothing goes wrong any more. The atomic is the last: what follows one is
/// asked for again.
fn carry_on(pair: &Pair, connection: &Connection) -> Result<(), String> {
    const ALL: [Operation; 4] =
        [Operation::Write(300), Operation::Read(300), Operation::Send(300), Operation::Add];
    let operations = if connection.terms.may_apply { &ALL[..] } else { &ALL[..3] };
    let before = Counts::of(pair);
    (0..).zip(operations).for_each(|(index, operation)| operation.prepare(pair, index));
    connection.post_receives(pair, operations, None);
    operation::post(pair, &connection.sender, operations);
    let found = completions(pair, 0, operations.len());
    let received = completions(pair, 1, 1);
    let is_done = (0..).zip(operations).all(|(index, operation)| operation.is_done(pair, index));
    let is_success = found.iter().chain(&received).all(|one| one.status == Status::Success);
    if (found.len(), received.len()) != (operations.len(), 1) || !is_success || !is_done {
        return Err(format!(
            "afterwards {operations:?} complete as {found:?}, received as {received:?}, their bytes are there: {is_done}"
        ));
    }
    let counts = Counts::of(pair) - before;
    if counts == Counts::NONE { Ok(()) } else { Err(format!("afterwards {counts:?}")) }
}
