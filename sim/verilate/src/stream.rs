//! Drivers and monitors for valid/ready streams, with the stream law asserted in every cycle.
//!
//! 1. A beat moves in a cycle in which valid and ready are both high.
//! 2. A beat once offered stays offered, unchanged, until it moves.
//! 3. Valid never waits for ready: it is the same whatever ready is in this cycle.
//! 4. Ready may come and go.
//!
//! A stream named `x` has the ports `x$valid`, `x$ready` and `x$payload`. A [`Source`] feeds a stream the
//! module takes, a [`Sink`] drains one the module gives; a [`Bench`](crate::Bench) runs them.

use crate::pause::Pause;
use crate::rng::SplitMix64;
use crate::{Error, Model, PortId};
use std::collections::VecDeque;

/// The ports of one stream.
#[derive(Debug, Clone)]
pub struct StreamPorts {
    /// Name in messages.
    pub name: String,
    /// A beat is offered.
    pub valid: PortId,
    /// A beat would be taken.
    pub ready: PortId,
    /// What a beat carries; the words of all ports follow each other in a payload.
    pub payload: Vec<PortId>,
}

impl StreamPorts {
    /// The ports of a stream that follows the naming rule.
    ///
    /// # Errors
    /// [`Error::UnknownPort`] when one of the three is missing.
    pub fn named(model: &Model, name: &str) -> Result<Self, Error> {
        let port = |role| model.port(&format!("{name}${role}"));
        let (valid, ready, payload) = (port("valid")?, port("ready")?, vec![port("payload")?]);
        Ok(Self { name: name.to_owned(), valid, ready, payload })
    }

    fn word_count(&self, model: &Model) -> usize {
        self.payload.iter().map(|port| model.word_count(*port)).sum()
    }

    fn read(&self, model: &Model, mut words: &mut [u32]) {
        for port in &self.payload {
            let (mine, rest) = words.split_at_mut(model.word_count(*port));
            model.read_words(*port, mine);
            words = rest;
        }
    }

    fn write(&self, model: &mut Model, mut words: &[u32]) {
        for port in &self.payload {
            let (mine, rest) = words.split_at(model.word_count(*port));
            model.set_wide(*port, mine);
            words = rest;
        }
    }
}

/// Feeds a queue of beats into a stream the module takes. Between beats the payload is noise, so a
/// module that looks at it without valid is found out.
#[derive(Debug)]
pub struct Source {
    ports: StreamPorts,
    word_count: usize,
    queue: VecDeque<Vec<u32>>,
    pause: Pause,
    noise: SplitMix64,
    is_steady: bool,
    is_resting: bool,
    is_offering: bool,
    sent: u64,
}

impl Source {
    pub(crate) fn new(model: &Model, ports: StreamPorts) -> Self {
        let word_count = ports.word_count(model);
        let noise = SplitMix64::new(0x5eed);
        Self {
            ports,
            word_count,
            queue: VecDeque::new(),
            pause: Pause::None,
            noise,
            is_steady: false,
            is_resting: false,
            is_offering: false,
            sent: 0,
        }
    }

    /// Queues one beat, lowest word first.
    ///
    /// # Panics
    /// When the number of words is not that of the payload ports.
    pub fn send(&mut self, payload: impl Into<Vec<u32>>) {
        let payload = payload.into();
        let (name, want, got) = (&self.ports.name, self.word_count, payload.len());
        assert!(want == got, "stream `{name}` takes payloads of {want} words, not {got}");
        self.queue.push_back(payload);
    }

    /// Chooses when no new beat is offered. A beat already offered stays, whatever the pattern says.
    pub fn pause(&mut self, pause: Pause) {
        self.pause = pause;
    }

    /// Noise between beats costs time in every cycle; with `steady` it changes once a pause only, which long runs of a
    /// module already proved may choose.
    pub fn steady(&mut self, steady: bool) {
        self.is_steady = steady;
    }

    /// Beats taken by the module so far.
    #[must_use]
    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Has every queued beat been taken?
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Forgets what is queued; only before a reset, for a beat may be on offer.
    pub(crate) fn clear(&mut self) {
        self.queue.clear();
    }

    /// Withdraws the offer, which only a reset may do; the beat stays in the queue.
    pub(crate) fn rest(&mut self, model: &mut Model) {
        (self.is_offering, self.is_resting) = (false, true);
        model.set(self.ports.valid, 0);
        for port in &self.ports.payload {
            model.set_wide(*port, &self.noise.bits(model.width(*port)));
        }
    }

    pub(crate) fn drive(&mut self, model: &mut Model, cycle: u64) {
        if self.is_offering {
            return;
        }
        match self.queue.front() {
            Some(beat) if !self.pause.at(cycle) => {
                (self.is_offering, self.is_resting) = (true, false);
                self.ports.write(model, beat);
                model.set(self.ports.valid, 1);
            }
            _ if self.is_steady && self.is_resting => {}
            _ => self.rest(model),
        }
    }

    pub(crate) fn observe(&mut self, model: &Model) {
        if self.is_offering && model.get(self.ports.ready) == 1 {
            self.queue.pop_front();
            self.is_offering = false;
            self.sent += 1;
        }
    }

    pub(crate) fn state(&self, model: &Model) -> String {
        let (name, sent, queued) = (&self.ports.name, self.sent, self.queue.len());
        let (valid, ready) = (model.get(self.ports.valid), model.get(self.ports.ready));
        format!("  into `{name}`: valid={valid} ready={ready}, {sent} taken, {queued} waiting")
    }
}

/// Takes beats from a stream the module gives, and holds it to the law.
#[derive(Debug)]
pub struct Sink {
    ports: StreamPorts,
    received: Vec<Vec<u32>>,
    /// Buffers of beats that were fetched by [`each`](Self::each).
    spare: Vec<Vec<u32>>,
    pause: Pause,
    is_ready: bool,
    /// How the port was left; unknown before the first cycle.
    driven: Option<bool>,
    /// The last cycle ended with an offer that was not taken, of the payload in `before`.
    is_held: bool,
    before: Vec<u32>,
    now: Vec<u32>,
    is_checking_independence: bool,
}

impl Sink {
    pub(crate) fn new(model: &Model, ports: StreamPorts) -> Self {
        let blank = vec![0; ports.word_count(model)];
        let (before, now) = (blank.clone(), blank);
        Self {
            ports,
            received: Vec::new(),
            spare: Vec::new(),
            pause: Pause::None,
            is_ready: false,
            driven: None,
            is_held: false,
            before,
            now,
            is_checking_independence: true,
        }
    }

    /// Chooses when ready is low: back-pressure.
    #[inline]
    pub fn pause(&mut self, pause: Pause) {
        self.pause = pause;
    }

    /// Rule 3 costs two more evaluations a cycle; long runs of a module already proved may skip it.
    pub fn check_independence(&mut self, check: bool) {
        self.is_checking_independence = check;
    }

    /// All beats taken and not yet fetched, in order.
    #[must_use]
    #[inline]
    pub fn received(&self) -> &[Vec<u32>] {
        &self.received
    }

    /// Fetches all beats taken so far.
    #[inline]
    pub fn take(&mut self) -> Vec<Vec<u32>> {
        std::mem::take(&mut self.received)
    }

    /// Fetches all beats taken so far, one after the other, and allocates nothing for it.
    #[inline]
    pub fn each(&mut self, mut fetch: impl FnMut(&[u32])) {
        if self.received.is_empty() {
            return;
        }
        for beat in self.received.drain(..) {
            fetch(&beat);
            self.spare.push(beat);
        }
    }

    pub(crate) fn checks_independence(&self) -> bool {
        self.is_checking_independence
    }

    /// Takes nothing and forgets what was offered: for reset.
    pub(crate) fn rest(&mut self, model: &mut Model) {
        self.is_held = false;
        self.ready(model, false);
    }

    pub(crate) fn drive(&mut self, model: &mut Model, cycle: u64) {
        self.ready(model, !self.pause.at(cycle));
    }

    fn ready(&mut self, model: &mut Model, is_ready: bool) {
        self.is_ready = is_ready;
        if self.driven != Some(is_ready) {
            self.driven = Some(is_ready);
            model.set(self.ports.ready, is_ready.into());
        }
    }

    /// Rule 3: turns ready over and back, and looks whether the offer follows.
    pub(crate) fn probe(&mut self, model: &mut Model, cycle: u64) {
        let (ready, valid) = (u64::from(self.is_ready), model.get(self.ports.valid));
        self.ports.read(model, &mut self.now);
        model.set(self.ports.ready, 1 - ready);
        model.eval();
        let name = &self.ports.name;
        let other = model.get(self.ports.valid);
        assert!(
            valid == other,
            "stream `{name}`, cycle {cycle}: valid waits for ready (valid={valid} with ready={ready}, valid={other} with ready={})",
            1 - ready
        );
        if valid == 1 {
            let mut payload = vec![0; self.now.len()];
            self.ports.read(model, &mut payload);
            assert!(
                payload == self.now,
                "stream `{name}`, cycle {cycle}: payload follows ready ({:x?} with ready={ready}, {payload:x?} with ready={})",
                self.now,
                1 - ready
            );
        }
        model.set(self.ports.ready, ready);
    }

    /// Rule 2, and takes the beat when it moves.
    pub(crate) fn observe(&mut self, model: &Model, cycle: u64) {
        let (name, before) = (&self.ports.name, &self.before);
        if model.get(self.ports.valid) == 0 {
            assert!(
                !self.is_held,
                "stream `{name}`, cycle {cycle}: beat {before:x?} was offered and withdrawn"
            );
            return;
        }
        self.ports.read(model, &mut self.now);
        assert!(
            !self.is_held || self.now == *before,
            "stream `{name}`, cycle {cycle}: offered beat {before:x?} changed to {:x?}",
            self.now
        );
        if self.is_ready {
            let mut beat = self.spare.pop().unwrap_or_default();
            beat.clone_from(&self.now);
            self.received.push(beat);
        }
        self.is_held = !self.is_ready;
        std::mem::swap(&mut self.before, &mut self.now);
    }

    pub(crate) fn state(&self, model: &Model) -> String {
        let (name, count) = (&self.ports.name, self.received.len());
        let (valid, ready) = (model.get(self.ports.valid), model.get(self.ports.ready));
        format!("  from `{name}`: valid={valid} ready={ready}, {count} received")
    }
}
