//! What runs the cards of a plan.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use stroma_sim::link::script::ScriptError;
use stroma_sim::pcap;
use stroma_top::Profile;
use stroma_vfio_user::Server;

use crate::function::CardFunction;
use crate::order::Orders;
use crate::simulation::Simulation;
use crate::{Plan, Report, Wire};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Cards and ends that cannot be connected so.
    #[error(
        "{stations} stations, cards and ends, on a {wire}: a cable has two ends; a switch has as many ports as it needs"
    )]
    Wiring {
        /// How many.
        stations: usize,
        /// On what.
        wire: Wire,
    },
    /// A value of the plan that cannot be.
    #[error("{name} = {value}: it has to be {limits}")]
    Value {
        /// Which.
        name: &'static str,
        /// What was asked for.
        value: f64,
        /// What can be.
        limits: String,
    },
    /// A rule that is none.
    #[error("the rules of faults: {0}")]
    Rule(#[source] ScriptError),
    /// The file of the plan cannot be read.
    #[error("reading the plan {}: {source}", path.display())]
    File {
        /// Where it should be.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no plan.
    #[error("the plan {}: {source}", path.display())]
    Plan {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        source: Box<toml::de::Error>,
    },
    /// Neither flags nor a file say where cards are served.
    #[error("no folder for the sockets: say --sockets FOLDER, or `sockets = \"FOLDER\"` in the plan")]
    NoSockets,
    /// An end of the wire cannot be had.
    #[error("opening the {end}: {source}{}", match source.kind() {
        ErrorKind::PermissionDenied => "; an interface is made by root, with `ip tuntap add NAME mode tap user USER`",
        ErrorKind::ResourceBusy => "; another process has it",
        _ => "",
    })]
    End {
        /// Which.
        end: String,
        /// What the system said.
        source: io::Error,
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
    /// Frames cannot be recorded there.
    #[error(transparent)]
    Capture(#[from] pcap::Error),
    /// A card cannot be served there.
    #[error("serving a card at {}: {source}", path.display())]
    Socket {
        /// The socket, or its folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
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
        let (world, watched) = plan.world()?;
        make_folder(&plan.sockets)?;
        let (orders, requests) = Orders::new(plan.cards);
        // Whoever watches an end gives orders the way of the first card, which there is; they are for none of them.
        let lookouts: Vec<_> = watched.into_iter().map(|end| (end, orders[0].clone())).collect();
        let pages = plan.profile.capacity().doorbell_pages();
        // All sockets are made before anybody is served: who finds one finds all.
        let servers = orders.into_iter().enumerate().map(|(card, orders)| {
            let function = CardFunction::new(format!("card{card}"), orders, pages, report);
            let path = plan.socket(card);
            Server::bind(&path, Arc::new(function)).map_err(|source| Error::Socket { path, source })
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
        for (end, orders) in lookouts {
            threads.push(thread::spawn(move || end.run(&orders)));
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

/// Makes a folder, if it is missing.
pub(crate) fn make_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(|source| Error::Socket { path: path.to_path_buf(), source })
}
