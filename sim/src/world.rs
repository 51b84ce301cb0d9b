//! Cards and their peers on one clock, and the wires between them: all of them make a cycle, then the next. Same start, same
//! seeds, same cycles.

mod pace;
mod station;
#[cfg(test)]
mod tests;
mod wiring;

use std::any::Any;
use std::time::Duration;

use stroma_top::Profile;
use stroma_verilate::{Error, Options};

use crate::Card;
use crate::capture::Listener;
use crate::models::Kind;
use crate::pcap;
use crate::peer::Peer;
use crate::switch::Switch;
use pace::Pace;
use station::{Body, Guest, Station};

/// A busy world looks outside once in so many cycles.
const LISTEN_CYCLES: u64 = 64;

/// Stations that share a clock: cards of one profile, and [peers](crate::peer).
///
/// Stations are alone at first; [`cable`](Self::cable), [`loopback`](Self::loopback) and [`switch`](Self::switch) connect them. A frame leaves a card as
/// its MAC takes the beats, and a peer when its line has room; it is handed to the next station whole, when its last bit is
/// there.
///
/// A station that is quiet, and whose host only waits, is left behind and jumps to the cycle in which somebody wants it; when
/// none is wanted, time goes on at once to the next that is. Cycles count as if each had been evaluated, and everything happens
/// in the same cycle as it would have. With a peer that [speaks for somebody outside](Peer::is_outside) simulated time is
/// never faster than the wall clock, and runs are no longer alike.
pub struct World {
    profile: Profile,
    now: u64,
    /// None of them is ahead of `now`, and whoever is behind has nothing to do until then.
    stations: Vec<Station>,
    /// With the stations on its ports.
    switch: Option<(Switch, Vec<usize>)>,
    is_skipping: bool,
    is_threaded: bool,
    skipped: u64,
    /// While somebody outside is attached.
    pace: Option<Pace>,
}

impl World {
    /// `count` cards, out of reset; they are the first stations. With none of them, [peers](Self::add_peer) keep the clock
    /// that cards of this profile would have.
    ///
    /// # Errors
    /// As [`Card::new`].
    pub fn new(kind: impl Into<Kind>, count: usize, options: &Options) -> Result<Self, Error> {
        let kind = kind.into();
        let profile = kind.profile;
        let station = |_| Ok(Station::new(Body::Card(Box::new(Card::of_kind(&kind, options)?))));
        let stations: Vec<Station> = (0..count).map(station).collect::<Result<_, _>>()?;
        Ok(Self {
            profile,
            now: stations.first().map_or(0, Station::now),
            stations,
            switch: None,
            is_skipping: true,
            is_threaded: false,
            skipped: 0,
            pace: None,
        })
    }

    /// Adds a peer; the number of its station.
    pub fn add_peer(&mut self, peer: Box<dyn Peer>) -> usize {
        if peer.is_outside() {
            self.pace = Some(Pace::new(self.profile.clock_khz()));
        }
        let guest = Guest::new(peer, self.now, self.profile.clock_khz());
        self.stations.push(Station::new(Body::Guest(Box::new(guest))));
        self.stations.len() - 1
    }

    /// Chooses whether simulated time keeps behind the wall clock, because somebody outside is attached; while a
    /// [peer](Peer::is_outside) is, it does in any case.
    pub fn keep_pace(&mut self, keep: bool) {
        let outside =
            |station: &Station| matches!(&station.body, Body::Guest(guest) if guest.peer.is_outside());
        if !keep && !self.stations.iter().any(outside) {
            self.pace = None;
        } else if self.pace.is_none() {
            self.pace = Some(Pace::new(self.profile.clock_khz()));
        }
    }

    /// Does simulated time keep behind the wall clock?
    #[must_use]
    pub fn keeps_pace(&self) -> bool {
        self.pace.is_some()
    }

    /// How long nothing will happen, unless somebody outside does something; `None` when something does in the next cycle.
    #[must_use]
    pub fn quiet_time(&self) -> Option<Duration> {
        let Some(due) = self.next_due() else { return Some(Duration::MAX) };
        let cycles = due.saturating_sub(self.now);
        let nanoseconds = cycles.saturating_mul(1_000_000) / u64::from(self.profile.clock_khz());
        (self.is_skipping && cycles > 1).then_some(Duration::from_nanos(nanoseconds))
    }

    /// Lets quiet time pass, as much as has passed on the wall clock, while somebody outside is attached.
    pub fn catch_up(&mut self) {
        let due = self.next_due();
        let Some(pace) = &mut self.pace else { return };
        let passed = pace.passed(self.now, due.unwrap_or(u64::MAX).max(self.now));
        self.skipped += passed - self.now;
        self.now = passed;
    }

    /// Chooses whether quiet time is jumped over; it is at first.
    pub fn skip_quiet_time(&mut self, skip: bool) {
        self.is_skipping = skip;
    }

    /// Chooses whether [`run`](Self::run) gives each station a thread of its own; it does not at first. The results are the
    /// same: the threads meet before a frame that leaves one station can arrive at another.
    pub fn threads(&mut self, threads: bool) {
        self.is_threaded = threads;
    }

    /// Cycles since the cards were made, or the world where there is no card.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Cycles in which no station was wanted.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Simulated time since then.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let nanoseconds = u128::from(self.now()) * 1_000_000 / u128::from(self.profile.clock_khz());
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// A duration in cycles.
    #[must_use]
    pub fn cycles(&self, duration: Duration) -> u64 {
        let khz = u128::from(self.profile.clock_khz());
        u64::try_from(duration.as_nanos() * khz / 1_000_000).unwrap_or(u64::MAX)
    }

    /// One of the cards.
    ///
    /// # Panics
    /// When there is no card at this station.
    pub fn card(&mut self, index: usize) -> &mut Card {
        match &mut self.present(index).body {
            Body::Card(card) => card,
            Body::Guest(_) => panic!("station {index} is no card"),
        }
    }

    /// The same, as it was when something happened to it last: it is not brought up to the world's time, which would cost a
    /// cycle of the model. What has come to its host is here already.
    ///
    /// # Panics
    /// When there is no card at this station.
    pub fn card_at_rest(&mut self, index: usize) -> &mut Card {
        match &mut self.stations[index].body {
            Body::Card(card) => card,
            Body::Guest(_) => panic!("station {index} is no card"),
        }
    }

    /// One of the peers.
    ///
    /// # Panics
    /// When there is no such peer at this station.
    pub fn peer_mut<P: Peer>(&mut self, index: usize) -> &mut P {
        let peer: Option<&mut dyn Any> = match &mut self.present(index).body {
            Body::Card(_) => None,
            Body::Guest(guest) => Some(&mut *guest.peer),
        };
        let found = peer.and_then(|peer| peer.downcast_mut());
        found.unwrap_or_else(|| panic!("station {index} is no {}", std::any::type_name::<P>()))
    }

    /// A station, at the world's time.
    fn present(&mut self, index: usize) -> &mut Station {
        let station = &mut self.stations[index];
        station.catch_up(self.now);
        station
    }

    /// Records frames of a station's port from now on, both ways: one out with its last beat, or as a peer gives it; one in
    /// as it is handed over.
    ///
    /// # Panics
    /// When there is no such station.
    pub fn start_capture(&mut self, station: usize, writer: pcap::Writer) {
        self.stations[station].start_capture(writer);
    }

    /// Somebody hears of frames of a station's port from now on, besides the one who records them.
    ///
    /// # Panics
    /// When there is no such station.
    pub fn add_listener(&mut self, station: usize, listener: Box<dyn Listener>) {
        self.stations[station].add_listener(listener);
    }

    /// Ends the recording and closes the file.
    ///
    /// # Errors
    /// When a frame could not be written; those after it are not in the file.
    ///
    /// # Panics
    /// When there is no such station.
    pub fn finish_capture(&mut self, station: usize) -> Result<(), pcap::Error> {
        self.stations[station].finish_capture()
    }

    /// Resets one of the cards, as at power-up; for the others the time passes that this takes. What is on its wire stays there.
    ///
    /// # Panics
    /// When there is no card at this station.
    pub fn reset(&mut self, index: usize) {
        self.exchange(self.now, self.now);
        for index in 0..self.stations.len() {
            self.present(index);
        }
        let card = self.card(index);
        card.reset();
        self.now = card.cycle();
        self.stations.iter_mut().for_each(|station| station.run(self.now, false));
    }

    /// Will anything happen without somebody outside?
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.next_due().is_none() && self.pace.is_none()
    }

    fn next_due(&self) -> Option<u64> {
        let switch = self.switch.as_ref().and_then(|(switch, _)| switch.next_due());
        self.stations.iter().filter_map(Station::next_due).chain(switch).min()
    }

    /// Goes on to the next cycle, or over quiet time, but not beyond `limit`.
    pub fn step(&mut self, limit: u64) {
        let now = self.now;
        self.listen(now);
        self.exchange(now, now);
        let is_skipping = self.is_skipping;
        let wanted = |station: &&mut Station| !is_skipping || station.wanted().is_some_and(|due| due <= now);
        let mut is_quiet = true;
        for station in self.stations.iter_mut().filter(wanted) {
            is_quiet = false;
            station.catch_up(now);
            station.deliver();
            station.step();
            station.collect();
        }
        let due = if is_quiet { self.next_due().unwrap_or(limit).min(limit).max(now + 1) } else { now + 1 };
        self.now = self.pace.as_mut().map_or(due, |pace| pace.admit(now, due));
        if is_quiet {
            self.skipped += self.now - now;
        }
    }

    /// While the world is busy peers do not look outside in every cycle, for a look costs as much as a cycle does.
    fn listen(&mut self, now: u64) {
        if self.pace.is_some() && (now.is_multiple_of(LISTEN_CYCLES) || self.is_quiet()) {
            self.look_outside();
        }
    }

    /// Has peers take what has come from outside; the world does so by itself while it runs.
    pub fn look_outside(&mut self) {
        for station in &mut self.stations {
            if let Body::Guest(guest) = &mut station.body {
                guest.peer.listen();
            }
        }
    }

    /// Runs for some cycles.
    pub fn run(&mut self, cycles: u64) {
        let end = self.now + cycles;
        while self.now < end {
            if self.is_threaded && self.pace.is_none() && !self.is_quiet() {
                self.step_together(end);
            } else {
                self.step(end);
            }
        }
    }

    /// Does nothing happen in the next cycle?
    fn is_quiet(&self) -> bool {
        self.is_skipping && self.next_due().is_none_or(|due| due > self.now + 1)
    }

    /// Goes on for as long as no station can know what another does meanwhile, each on its own thread.
    fn step_together(&mut self, limit: u64) {
        let (now, is_skipping) = (self.now, self.is_skipping);
        let end = now.saturating_add(self.window()).min(limit);
        self.exchange(now, end - 1);
        std::thread::scope(|scope| {
            for station in &mut self.stations {
                scope.spawn(|| station.run(end, is_skipping));
            }
        });
        self.now = end;
    }

    /// Runs until `done`, for at most `cycles`; whether it came to that.
    pub fn run_until(&mut self, cycles: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now.saturating_add(cycles);
        loop {
            if done(self) {
                return true;
            }
            if self.now >= end {
                return false;
            }
            self.step(end);
        }
    }
}
