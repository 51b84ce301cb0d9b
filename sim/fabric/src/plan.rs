//! Which cards there are, what is between them, and how long everything takes: from a file, from flags, or from a program.

mod faults;
mod link;
mod timing;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stroma_sim::peer::{Datagram, Tap};
use stroma_sim::{World, pcap};
use stroma_top::Profile;
use stroma_verilate::Options;

pub use faults::FaultPlan;
pub use link::LinkPlan;
pub use timing::TimingPlan;

use crate::Error;
use crate::watch::{Watched, watched};

/// What is between the stations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Wire {
    /// One cable between two stations.
    #[default]
    Cable,
    /// A switch with a port for each station.
    Switch,
    /// A plug in the port of one card, which hears what it sends.
    Loopback,
}

impl std::fmt::Display for Wire {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Cable => "cable",
            Self::Switch => "switch",
            Self::Loopback => "loopback",
        })
    }
}

/// Somebody outside, at an end of the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum EndPlan {
    /// A Unix datagram socket, one raw Ethernet frame a datagram: what QEMU's `-netdev dgram` speaks.
    Datagram {
        /// The fabric's socket, which it makes.
        near: PathBuf,
        /// The other's.
        far: PathBuf,
    },
    /// A TAP interface of this machine.
    Tap(String),
}

impl std::fmt::Display for EndPlan {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Datagram { near, .. } => write!(out, "socket {}", near.display()),
            Self::Tap(name) => write!(out, "TAP interface {name}"),
        }
    }
}

/// Which cards there are. What a file leaves out is as [`Plan::new`] has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    /// What card each of them is.
    #[serde(default = "ten_gig", deserialize_with = "profile", serialize_with = "name")]
    pub profile: Profile,
    /// How many.
    #[serde(default = "two")]
    pub cards: usize,
    /// What is between them and the ends; a card alone needs nothing.
    #[serde(default)]
    pub wire: Wire,
    /// Where chance begins.
    #[serde(default = "one")]
    pub seed: u64,
    /// The folder of the sockets `card0`, `card1` and so on; it is made if it is missing. Where nobody says, [`stroma_control::folder`].
    #[serde(default)]
    pub sockets: PathBuf,
    /// Somebody outside, behind the cards on the wire.
    #[serde(default, rename = "end")]
    pub ends: Vec<EndPlan>,
    /// How lines carry frames.
    #[serde(default)]
    pub link: LinkPlan,
    /// What goes wrong on the line that leaves each station.
    #[serde(default)]
    pub faults: FaultPlan,
    /// How long hosts take.
    #[serde(default)]
    pub timing: TimingPlan,
    /// A folder where the frames of each card's port are recorded, as `card0.pcapng` and so on.
    #[serde(default)]
    pub capture: Option<PathBuf>,
    /// After so many seconds in which no client has had a card the fabric ends; never, if nobody says.
    #[serde(default)]
    pub linger: Option<u64>,
}

fn ten_gig() -> Profile {
    Profile::TenGig
}

fn two() -> usize {
    2
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "how serde calls it")]
fn name<S: serde::Serializer>(profile: &Profile, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(profile.name())
}

fn profile<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Profile, D::Error> {
    let name = String::deserialize(from)?;
    clap::ValueEnum::from_str(&name, false).map_err(|_| {
        let names = Profile::ALL.map(Profile::name).join(" or ");
        serde::de::Error::custom(format!("profile {name:?}: it is {names}"))
    })
}

impl Plan {
    /// Two cards of the small profile on a cable that loses nothing, served in a folder.
    #[must_use]
    pub fn new(sockets: &Path) -> Self {
        Self {
            profile: ten_gig(),
            cards: two(),
            wire: Wire::default(),
            seed: one(),
            sockets: sockets.to_path_buf(),
            ends: Vec::new(),
            link: LinkPlan::default(),
            faults: FaultPlan::default(),
            timing: TimingPlan::default(),
            capture: None,
            linger: None,
        }
    }

    /// Where a card is served.
    #[must_use]
    pub fn socket(&self, card: usize) -> PathBuf {
        stroma_control::card(&self.sockets, card)
    }

    /// Refuses what makes no sense, before a card is made.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Self { cards, wire, .. } = *self;
        let stations = cards + self.ends.len();
        match (cards, wire, stations) {
            (0, ..) => Err(Error::NoCards),
            (_, Wire::Cable, 3..) | (_, Wire::Loopback, 2..) => Err(Error::Wiring { stations, wire }),
            _ if self.linger == Some(0) => {
                Err(Error::Value { name: "linger", value: 0.0, limits: "1 or more".to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// The cards, and what is to be watched for those outside.
    pub(crate) fn world(&self) -> Result<(World, Vec<Watched>), Error> {
        self.check()?;
        let config = self.link.config(self.profile)?;
        let timing = self.timing.timing()?;
        let stations: Vec<usize> = (0..self.cards + self.ends.len()).collect();
        let faults = stations.iter().map(|station| self.faults.faults(self.seed, *station));
        let faults = faults.collect::<Result<Vec<_>, _>>()?;
        // Before anything is made: who has no right to an interface need not wait for cards.
        let ends = self.ends.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let Self { profile, cards, wire, seed, .. } = *self;
        let options = Options { seed, ..Options::default() };
        let made = World::new(profile, cards, &options);
        let mut world = made.map_err(|source| Error::Card { cards, profile, source })?;
        for card in 0..cards {
            world.card(card).set_timing(timing);
        }
        let mut watched = Vec::new();
        for (end, watch) in ends {
            world.add_peer(end);
            watched.push(watch);
        }
        match (wire, stations.len()) {
            (Wire::Loopback, _) => world.loopback(0, config),
            (_, 1) => {}
            (Wire::Cable, _) => world.cable(0, 1, config),
            (Wire::Switch, _) => world.switch(&stations, config),
        }
        if stations.len() > 1 || wire == Wire::Loopback {
            for (station, faults) in stations.into_iter().zip(faults) {
                world.line(station).set_faults(faults);
            }
        }
        self.record(&mut world)?;
        Ok((world, watched))
    }

    fn record(&self, world: &mut World) -> Result<(), Error> {
        let Some(folder) = &self.capture else { return Ok(()) };
        crate::fabric::make_folder(folder)?;
        for card in 0..self.cards {
            let path = folder.join(format!("card{card}.pcapng"));
            world.start_capture(card, pcap::Writer::create(&path)?);
        }
        Ok(())
    }
}

/// An end as a station, and what is watched for it.
fn open(end: &EndPlan) -> Result<(Box<dyn stroma_sim::peer::Peer>, Watched), Error> {
    let failed = |source| Error::End { end: end.to_string(), source };
    match end {
        EndPlan::Datagram { near, far } => watched(Datagram::bind(near, far).map_err(failed)?),
        EndPlan::Tap(name) => watched(Tap::open(name).map_err(failed)?),
    }
    .map_err(failed)
}

#[cfg(test)]
mod tests;
