//! One request at a time.

use std::time::Instant;

use serde::Serialize;

use super::pair::{Pair, Patience};
use super::stats::Summary;
use super::verb::Verb;

/// The one that does nothing, in front of each request at the same doorbell: it is done when the card begins with the request.
const BEGIN: u64 = 0;
const REQUEST: u64 = 1;

/// What was measured of one size.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) bytes: usize,
    pub(crate) iterations: usize,
    #[serde(flatten)]
    pub(crate) summary: Summary,
    pub(crate) wall_s: f64,
}

impl Latency {
    /// Measures one size, and compares what was moved. The first request, which fills tables, does not count.
    pub(crate) fn measure(
        pair: &Pair,
        verb: Verb,
        size: usize,
        iterations: usize,
        tick: &dyn Fn(usize),
    ) -> anyhow::Result<Self> {
        let started = Instant::now();
        verb.prepare(pair, size)?;
        let mut nanoseconds = Vec::with_capacity(iterations);
        for message in 0..=iterations as u64 {
            let cycles = one(pair, verb, size, message)?;
            if message > 0 {
                nanoseconds.push(pair.nanoseconds(cycles));
                tick(1);
            }
        }
        verb.check(pair, size, iterations as u64 + 1)?;
        let wall_s = started.elapsed().as_secs_f64();
        Ok(Self { bytes: size, iterations, summary: Summary::of(&nanoseconds), wall_s })
    }
}

/// One request, from when the card begins with it to its completion, in cycles.
fn one(pair: &Pair, verb: Verb, size: usize, message: u64) -> anyhow::Result<u64> {
    let (near, far) = (&pair.near, &pair.far);
    if verb.receives() {
        let piece = far.memory.piece(far.offset(0, message), size)?;
        far.queue_pairs[0].receives()?.receive(message, &[piece]).post()?;
        far.settle()?;
    }
    let batch = near.queue_pairs[0].start().wr_id(BEGIN).signaled().nop().wr_id(REQUEST).signaled();
    verb.put(batch, pair, 0, message, size)?.post()?;
    let (mut times, mut received) = ([None; 2], !verb.receives());
    let mut patience = Patience::new();
    loop {
        let mut happened = near.poll(|_, completion| {
            times[usize::from(completion.wr_id == REQUEST)] = Some(completion.timestamp);
        })?;
        happened |= far.poll(|_, _| received = true)?;
        if let ([Some(begin), Some(end)], true) = (times, received) {
            return Ok(end.saturating_sub(begin));
        }
        patience.wait(happened)?;
    }
}
