//! As many requests as the queues hold, until all are done.

use std::time::Instant;

use serde::Serialize;

use super::pair::{Pair, Patience};
use super::verb::Verb;

/// The number of the one that tells when the first begins. It does nothing, and stands in front of the first at the same doorbell.
const BEGIN: u64 = u64::MAX;
/// The peak is the best of so many parts of a run.
const PARTS: usize = 10;

/// What was measured of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Bandwidth {
    pub(crate) bytes: usize,
    /// On all queue pairs together.
    pub(crate) iterations: u64,
    /// Over the best tenth of the run.
    pub(crate) peak_gbps: f64,
    pub(crate) average_gbps: f64,
    pub(crate) mpps: f64,
    /// From the first to the last, by the card's clock.
    pub(crate) card_us: f64,
    pub(crate) wall_s: f64,
}

/// A queue pair on its way.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    posted: u64,
    done: u64,
    /// Receives that the other end has posted, and those that are filled.
    ready: u64,
    received: u64,
}

/// A completion: when, and how many requests are done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    time: u64,
    requests: u64,
}

struct Run<'a> {
    pair: &'a Pair,
    verb: Verb,
    size: usize,
    iterations: u64,
    flows: Vec<Flow>,
    begin: Option<u64>,
    marks: Vec<Mark>,
}

/// Measures one size, and compares what was moved.
pub(crate) fn measure(
    pair: &Pair,
    verb: Verb,
    size: usize,
    iterations: usize,
    tick: &dyn Fn(usize),
) -> anyhow::Result<Bandwidth> {
    let started = Instant::now();
    verb.prepare(pair, size)?;
    let flows = vec![Flow::default(); pair.near.queue_pairs.len()];
    let mut run =
        Run { pair, verb, size, iterations: iterations as u64, flows, begin: None, marks: Vec::new() };
    let mut patience = Patience::new();
    let mut told = 0;
    while !run.is_done() {
        run.post()?;
        patience.wait(run.poll()?)?;
        let done: u64 = run.flows.iter().map(|flow| flow.done).sum();
        tick(usize::try_from(done - told)?);
        told = done;
    }
    verb.check(pair, size, run.iterations)?;
    Ok(run.result(started.elapsed().as_secs_f64()))
}

impl Run<'_> {
    fn is_done(&self) -> bool {
        let all = self.iterations;
        self.flows.iter().all(|flow| flow.done == all && (!self.verb.receives() || flow.received == all))
    }

    /// Posts what there is room for.
    fn post(&mut self) -> anyhow::Result<()> {
        for place in 0..self.flows.len() {
            if self.verb.receives() {
                self.receive(place)?;
            }
            while self.post_one(place)? {}
        }
        Ok(())
    }

    /// One doorbell, if there is room for it.
    fn post_one(&mut self, place: usize) -> anyhow::Result<bool> {
        let flow = self.flows[place];
        let count = self.pair.batch.min(self.iterations - flow.posted);
        let has_room = flow.posted + count <= flow.done + self.pair.shape_depth;
        // A message without a receive would have to be sent again.
        let is_awaited = !self.verb.receives() || flow.posted + count <= flow.ready;
        if count == 0 || !has_room || !is_awaited {
            return Ok(false);
        }
        let mut batch = self.pair.near.queue_pairs[place].start();
        if flow.posted == 0 {
            batch = batch.wr_id(BEGIN).signaled().nop();
        }
        for message in flow.posted..flow.posted + count {
            let is_last = message + 1 == flow.posted + count;
            batch = batch.wr_id(message + 1);
            batch = if is_last { batch.signaled() } else { batch };
            batch = self.verb.put(batch, self.pair, place, message, self.size)?;
        }
        batch.post()?;
        self.flows[place].posted += count;
        Ok(true)
    }

    /// Receives for messages that come.
    fn receive(&mut self, place: usize) -> anyhow::Result<()> {
        let (flow, far) = (&mut self.flows[place], &self.pair.far);
        let room = (flow.received + self.pair.shape_depth).min(self.iterations) - flow.ready;
        // Few doorbells, but none that is waited for.
        if room == 0 || room < self.pair.batch && flow.ready < self.iterations && flow.ready > flow.posted {
            return Ok(());
        }
        let mut batch = far.queue_pairs[place].receives()?;
        for message in flow.ready..flow.ready + room {
            let piece = far.memory.piece(far.offset(place, message), self.size)?;
            batch = batch.receive(message, &[piece]);
        }
        batch.post()?;
        far.settle()?;
        flow.ready += room;
        Ok(())
    }

    /// Takes completions of both ends; whether there were any.
    fn poll(&mut self) -> anyhow::Result<bool> {
        let Self { flows, begin, marks, .. } = self;
        let near = self.pair.near.poll(|place, completion| {
            let time = completion.timestamp;
            if completion.wr_id == BEGIN {
                *begin = Some(begin.map_or(time, |begin| begin.min(time)));
                return;
            }
            // Those before it are done as well: a connection keeps its order.
            marks.push(Mark { time, requests: completion.wr_id - flows[place].done });
            flows[place].done = completion.wr_id;
        })?;
        let far = self.pair.far.poll(|place, _| flows[place].received += 1)?;
        Ok(near || far)
    }

    #[expect(clippy::cast_precision_loss, reason = "a run moves fewer than 2^53 bits")]
    fn result(mut self, wall_s: f64) -> Bandwidth {
        self.marks.sort_unstable();
        let begin = self.begin.unwrap_or(0);
        let requests: u64 = self.marks.iter().map(|mark| mark.requests).sum();
        let end = self.marks.last().map_or(begin, |mark| mark.time);
        let nanoseconds = |cycles: u64| self.pair.nanoseconds(cycles.max(1));
        let gbps =
            |requests: u64, cycles: u64| (requests * self.size as u64 * 8) as f64 / nanoseconds(cycles);
        let average_gbps = gbps(requests, end - begin);
        let part = self.marks.len().div_ceil(PARTS);
        // From one completion to the last of a part behind it; of a short run, all of it.
        let parts = self.marks.windows(part + 1).map(|marks| {
            let requests = marks[1..].iter().map(|mark| mark.requests).sum();
            gbps(requests, marks[part].time - marks[0].time)
        });
        Bandwidth {
            bytes: self.size,
            iterations: requests,
            peak_gbps: parts.fold(average_gbps, f64::max),
            average_gbps,
            mpps: requests as f64 * 1e3 / nanoseconds(end - begin),
            card_us: nanoseconds(end - begin) / 1e3,
            wall_s,
        }
    }
}
