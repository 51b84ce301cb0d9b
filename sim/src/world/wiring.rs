//! What connects the stations of a world.

use super::World;
use super::station::{End, Far};
use crate::link::{Faults, Flights, Line, LinkConfig};
use crate::switch::Switch;

impl World {
    /// Connects two stations, both directions alike and without faults.
    ///
    /// # Panics
    /// When one of them is connected already, or both are the same.
    pub fn cable(&mut self, one: usize, other: usize, config: LinkConfig) {
        assert_ne!(one, other, "a cable has two ends");
        self.plug(one, config, Far::Station(other));
        self.plug(other, config, Far::Station(one));
    }

    /// Plugs a loopback module into a station: it hears what it sends.
    ///
    /// # Panics
    /// When it is connected already.
    pub fn loopback(&mut self, station: usize, config: LinkConfig) {
        self.plug(station, config, Far::Station(station));
    }

    /// Connects stations to a switch, the n-th of them to port n, with such lines to the switch and from it.
    ///
    /// # Panics
    /// When one of them is connected already, or there is a switch already.
    pub fn switch(&mut self, stations: &[usize], config: LinkConfig) {
        assert!(self.switch.is_none(), "a world has one switch");
        for (port, station) in stations.iter().enumerate() {
            self.plug(*station, config, Far::Switch(port));
        }
        let switch = Switch::new(config, stations.len(), self.profile.clock_khz());
        self.switch = Some((switch, stations.to_vec()));
    }

    fn plug(&mut self, index: usize, config: LinkConfig, far: Far) {
        let station = &mut self.stations[index];
        assert!(station.end.is_none(), "station {index} is on a wire already");
        let line = Line::new(config, self.profile.clock_khz(), Faults::default());
        station.end = Some(End { line, inbox: Flights::default(), far });
    }

    /// The line that leaves a station, to give it faults or to ask what became of its frames.
    ///
    /// # Panics
    /// When the station is not connected.
    pub fn line(&mut self, station: usize) -> &mut Line {
        let end = self.stations[station].end.as_mut();
        &mut end.unwrap_or_else(|| panic!("station {station} is on no wire")).line
    }

    /// The switch, if there is one.
    pub fn switch_mut(&mut self) -> Option<&mut Switch> {
        self.switch.as_mut().map(|(switch, _)| switch)
    }

    /// Moves what has left one end by cycle `now` to the other; what arrives at the switch by cycle `ahead` goes through it.
    /// Nothing that leaves a station from `now` on arrives there by then.
    pub(super) fn exchange(&mut self, now: u64, ahead: u64) {
        for sender in 0..self.stations.len() {
            let Some(end) = &mut self.stations[sender].end else { continue };
            let far = end.far;
            for departure in end.line.departures(now) {
                match (far, &mut self.switch) {
                    (Far::Switch(port), Some((switch, _))) => switch.arrive(port, departure),
                    (Far::Station(station), _) => self.arrive(station, departure),
                    (Far::Switch(_), None) => unreachable!("ports are of a switch"),
                }
            }
        }
        if let Some((switch, _)) = &mut self.switch {
            switch.advance(ahead);
            let departures = switch.departures(ahead);
            for (port, departure) in departures {
                let station = self.switch.as_ref().map(|(_, stations)| stations[port]);
                self.arrive(station.expect("the switch is still there"), departure);
            }
        }
    }

    fn arrive(&mut self, station: usize, departure: crate::link::Departure) {
        if let Some(end) = &mut self.stations[station].end {
            end.inbox.insert(departure);
        }
    }

    /// Cycles that stations can run without looking at each other: as long as every frame is under way at least.
    pub(super) fn window(&self) -> u64 {
        let delays =
            self.stations.iter().filter_map(|station| Some(station.end.as_ref()?.line.delay_cycles()));
        delays.min().unwrap_or(u64::MAX).max(1)
    }
}
