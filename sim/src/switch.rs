//! A store-and-forward switch: learns who is where, and queues at its outputs.

use std::collections::HashMap;

use stroma_abi::wire::{Ethernet, Mac};

use crate::link::pause::PauseFrame;
use crate::link::{Departure, Faults, Flights, Line, LinkConfig};

/// Addresses from 01:80:c2:00:00:00 to 0f are between neighbours: no switch forwards them.
const NEIGHBOURS: [u8; 5] = [0x01, 0x80, 0xc2, 0x00, 0x00];

/// What a switch did not forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Wrong FCS, or too short for a header.
    pub bad: u64,
    /// Their receiver is where they came from.
    pub local: u64,
    /// Meant for a neighbour; pause frames among them.
    pub neighbour: u64,
}

struct Port {
    /// What comes in.
    inbox: Flights,
    /// What goes out.
    line: Line,
}

/// A switch. Ports are numbered from 0; each has its own output queue, which is a [`Line`]. Loops between switches are not
/// broken: there must be none.
pub struct Switch {
    ports: Vec<Port>,
    places: HashMap<Mac, usize>,
    refused: Refused,
}

impl Switch {
    /// A switch that knows nobody; cycles are those of a clock of so many kHz.
    #[must_use]
    pub fn new(config: LinkConfig, ports: usize, clock_khz: u32) -> Self {
        let line = || Line::new(config, clock_khz, Faults::default());
        let ports = (0..ports).map(|_| Port { inbox: Flights::default(), line: line() }).collect();
        Self { ports, places: HashMap::new(), refused: Refused::default() }
    }

    /// The output of a port.
    ///
    /// # Panics
    /// When there is no such port.
    pub fn line(&mut self, port: usize) -> &mut Line {
        &mut self.ports[port].line
    }

    /// What was not forwarded so far.
    #[must_use]
    pub fn refused(&self) -> Refused {
        self.refused
    }

    /// A frame is on its way into a port.
    ///
    /// # Panics
    /// When there is no such port.
    pub fn arrive(&mut self, port: usize, departure: Departure) {
        self.ports[port].inbox.insert(departure);
    }

    /// Forwards what has arrived by cycle `now`, in the order of arrival, and by port within a cycle.
    pub fn advance(&mut self, now: u64) {
        let due = |(number, port): (usize, &Port)| Some((port.inbox.next_due()?, number));
        while let Some((due, number)) = self.ports.iter().enumerate().filter_map(due).min() {
            if due > now {
                return;
            }
            if let Some((bytes, bad)) = self.ports[number].inbox.pop(due) {
                self.forward(due, number, bytes, bad);
            }
        }
    }

    /// What began to leave by cycle `now` since the last call, with its port.
    pub fn departures(&mut self, now: u64) -> Vec<(usize, Departure)> {
        let of_port = |(number, port): (usize, &mut Port)| {
            port.line.departures(now).into_iter().map(move |departure| (number, departure))
        };
        self.ports.iter_mut().enumerate().flat_map(of_port).collect()
    }

    /// The first cycle in which a frame arrives here, or can leave here and arrive elsewhere.
    #[must_use]
    pub fn next_due(&self) -> Option<u64> {
        self.ports.iter().flat_map(|port| [port.inbox.next_due(), port.line.next_due()]).flatten().min()
    }

    fn forward(&mut self, now: u64, from: usize, bytes: Vec<u8>, bad: bool) {
        let Some(Ethernet { destination, source, .. }) = Ethernet::parse(&bytes).filter(|_| !bad) else {
            self.refused.bad += 1;
            return;
        };
        if !source.is_group() {
            self.places.insert(source, from);
        }
        if destination.0[..5] == NEIGHBOURS && destination.0[5] < 0x10 {
            self.refused.neighbour += 1;
            let line = &mut self.ports[from].line;
            if let Some(pause) = PauseFrame::parse(&bytes).filter(|_| line.config().honours_pause) {
                line.pause(now, &pause);
            }
            return;
        }
        match self.places.get(&destination).filter(|_| !destination.is_group()) {
            Some(place) if *place == from => self.refused.local += 1,
            Some(place) => self.ports[*place].line.push(now, now, bytes, false),
            None => {
                for (_, port) in self.ports.iter_mut().enumerate().filter(|(number, _)| *number != from) {
                    port.line.push(now, now, bytes.clone(), false);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
