//! What connects the cards of a world.

use super::World;
use super::station::{End, Peer};
use crate::link::{Faults, Flights, Line, LinkConfig};
use crate::switch::Switch;

impl World {
    /// Connects two cards, both directions alike and without faults.
    ///
    /// # Panics
    /// When one of them is connected already, or both are the same.
    pub fn cable(&mut self, one: usize, other: usize, config: LinkConfig) {
        assert_ne!(one, other, "a cable has two ends");
        self.plug(one, config, Peer::Card(other));
        self.plug(other, config, Peer::Card(one));
    }

    /// Connects cards to a switch, the n-th of them to port n, with such lines to the switch and from it.
    ///
    /// # Panics
    /// When one of them is connected already, or there is a switch already.
    pub fn switch(&mut self, cards: &[usize], config: LinkConfig) {
        assert!(self.switch.is_none(), "a world has one switch");
        for (port, card) in cards.iter().enumerate() {
            self.plug(*card, config, Peer::Switch(port));
        }
        let clock_khz = self.stations[0].card.profile().clock_khz();
        self.switch = Some((Switch::new(config, cards.len(), clock_khz), cards.to_vec()));
    }

    fn plug(&mut self, card: usize, config: LinkConfig, peer: Peer) {
        let station = &mut self.stations[card];
        assert!(station.end.is_none(), "card {card} is on a wire already");
        let line = Line::new(config, station.card.profile().clock_khz(), Faults::default());
        station.end = Some(End { line, inbox: Flights::default(), peer });
    }

    /// The line that leaves a card, to give it faults or to ask what became of its frames.
    ///
    /// # Panics
    /// When the card is not connected.
    pub fn line(&mut self, card: usize) -> &mut Line {
        &mut self.stations[card].end.as_mut().unwrap_or_else(|| panic!("card {card} is on no wire")).line
    }

    /// The switch, if there is one.
    pub fn switch_mut(&mut self) -> Option<&mut Switch> {
        self.switch.as_mut().map(|(switch, _)| switch)
    }

    /// Moves what has left one end by cycle `now` to the other; what arrives at the switch by cycle `ahead` goes through it.
    /// Nothing that leaves a card from `now` on arrives there by then.
    pub(super) fn exchange(&mut self, now: u64, ahead: u64) {
        for sender in 0..self.stations.len() {
            let Some(end) = &mut self.stations[sender].end else { continue };
            let peer = end.peer;
            for departure in end.line.departures(now) {
                match (peer, &mut self.switch) {
                    (Peer::Switch(port), Some((switch, _))) => switch.arrive(port, departure),
                    (Peer::Card(card), _) => self.arrive(card, departure),
                    (Peer::Switch(_), None) => unreachable!("ports are of a switch"),
                }
            }
        }
        if let Some((switch, _)) = &mut self.switch {
            switch.advance(ahead);
            let departures = switch.departures(ahead);
            for (port, departure) in departures {
                let card = self.switch.as_ref().map(|(_, cards)| cards[port]);
                self.arrive(card.expect("the switch is still there"), departure);
            }
        }
    }

    fn arrive(&mut self, card: usize, departure: crate::link::Departure) {
        if let Some(end) = &mut self.stations[card].end {
            end.inbox.insert(departure);
        }
    }

    /// Cycles that cards can run without looking at each other: as long as every frame is under way at least.
    pub(super) fn window(&self) -> u64 {
        let delays =
            self.stations.iter().filter_map(|station| Some(station.end.as_ref()?.line.delay_cycles()));
        delays.min().unwrap_or(u64::MAX).max(1)
    }
}
