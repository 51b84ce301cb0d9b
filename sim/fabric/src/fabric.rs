//! Which cards there are, and what runs them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use stroma_sim::World;
use stroma_sim::link::LinkConfig;
use stroma_top::Profile;
use stroma_verilate::Options;
use stroma_vfio_user::Server;

use crate::Report;
use crate::function::CardFunction;
use crate::order::Orders;
use crate::simulation::Simulation;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Cards that cannot be connected so.
    #[error("{cards} cards on a {wire}: {}", match wire {
        Wire::Cable => "a cable has two ends",
        Wire::Switch => "a switch has at least two ports",
    })]
    Wiring {
        /// How many.
        cards: usize,
        /// On what.
        wire: Wire,
    },
    /// No card was asked for.
    #[error("a fabric of no cards")]
    NoCards,
    /// The model is not what it should be.
    #[error("making {cards} cards of profile {}: {source}", profile.name())]
    Card {
        /// How many.
        cards: usize,
        /// Of what profile.
        profile: Profile,
        /// What the model said.
        source: stroma_verilate::Error,
    },
    /// A card cannot be served there.
    #[error("serving a card at {}: {source}", path.display())]
    Socket {
        /// The socket, or its folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What is between the cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Wire {
    /// One cable between two cards.
    Cable,
    /// A switch with a port for each card.
    Switch,
}

impl std::fmt::Display for Wire {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Cable => "cable",
            Self::Switch => "switch",
        })
    }
}

/// Which cards there are.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What card each of them is.
    pub profile: Profile,
    /// How many.
    pub cards: usize,
    /// What is between them; a card alone needs nothing.
    pub wire: Wire,
    /// Where chance begins.
    pub seed: u64,
    /// The folder of the sockets `card0`, `card1` and so on; it is made if it is missing.
    pub folder: PathBuf,
}

impl Plan {
    /// Where a card is served.
    #[must_use]
    pub fn socket(&self, card: usize) -> PathBuf {
        self.folder.join(format!("card{card}"))
    }

    fn world(&self) -> Result<World, Error> {
        let Self { profile, cards, wire, seed, .. } = *self;
        let options = Options { seed, ..Options::default() };
        let mut world = match cards {
            0 => return Err(Error::NoCards),
            _ => World::new(profile, cards, &options).map_err(|source| Error::Card {
                cards,
                profile,
                source,
            })?,
        };
        let config = LinkConfig::cable(profile);
        match (wire, cards) {
            (_, 1) => {}
            (Wire::Cable, 2) => world.cable(0, 1, config),
            (Wire::Switch, _) => world.switch(&(0..cards).collect::<Vec<_>>(), config),
            (Wire::Cable, _) => return Err(Error::Wiring { cards, wire }),
        }
        Ok(world)
    }
}

/// Cards that are served.
pub struct Fabric {
    threads: Vec<JoinHandle<()>>,
}

impl Fabric {
    /// Makes the cards and serves them, on threads of their own.
    ///
    /// # Errors
    /// When the plan makes no sense, or a socket cannot be made.
    pub fn start(plan: &Plan, report: &Report) -> Result<Self, Error> {
        let world = plan.world()?;
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| Error::Socket { path, source }
        };
        std::fs::create_dir_all(&plan.folder).map_err(failed(&plan.folder))?;
        let (orders, requests) = Orders::new(plan.cards);
        let pages = plan.profile.capacity().doorbell_pages();
        // All sockets are made before anybody is served: who finds one finds all.
        let servers = orders.into_iter().enumerate().map(|(card, orders)| {
            let function = CardFunction::new(format!("card{card}"), orders, pages, report);
            let path = plan.socket(card);
            Server::bind(&path, Arc::new(function)).map_err(failed(&path))
        });
        let servers: Vec<Server> = servers.collect::<Result<_, _>>()?;
        let simulation = Simulation::new(world, plan.cards, requests, report);
        let mut threads = vec![thread::spawn(move || simulation.run())];
        for server in servers {
            let report = Arc::clone(report);
            threads.push(thread::spawn(move || {
                if let Err(error) = server.run() {
                    report(&format!("{}: no more clients are let in: {error}", server.path().display()));
                }
            }));
        }
        Ok(Self { threads })
    }

    /// Waits until one of the threads has ended, which none does by itself; whether it ended well.
    #[must_use]
    pub fn wait(self) -> bool {
        // The first is the simulation. It ends when it fails, or when all servers have.
        self.threads.into_iter().next().is_some_and(|simulation| simulation.join().is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(cards: usize, wire: Wire) -> String {
        let folder = tempfile::tempdir().unwrap();
        let plan =
            Plan { profile: Profile::TenGig, cards, wire, seed: 1, folder: folder.path().join("cards") };
        let report: Report = Arc::new(|_| {});
        Fabric::start(&plan, &report).err().expect("it is refused").to_string()
    }

    #[test]
    fn a_plan_that_makes_no_sense_is_refused() {
        assert_eq!(refused(3, Wire::Cable), "3 cards on a cable: a cable has two ends");
        assert_eq!(refused(0, Wire::Switch), "a fabric of no cards");
    }
}
