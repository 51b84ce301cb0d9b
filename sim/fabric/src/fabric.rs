//! What runs the cards of a plan.

use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use stroma_control::Lock;
use stroma_sim::link::script::ScriptError;
use stroma_sim::pcap;
use stroma_top::Profile;
use stroma_vfio_user::Server;

use crate::clients::Clients;
use crate::control::{Control, Desk};
use crate::function::CardFunction;
use crate::order::{Order, Orders};
use crate::simulation::Simulation;
use crate::{Plan, Report, Wire};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Cards and ends that cannot be connected so.
    #[error(
        "{stations} stations, cards and ends, on a {wire}: a cable has two ends, a loopback one; a switch has as many ports as it needs"
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
    /// The folder of the sockets cannot be had, or another fabric has it.
    #[error(transparent)]
    Folder(#[from] stroma_control::Error),
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
    /// Nothing can be told.
    #[error("starting the log: {0}")]
    Log(#[source] io::Error),
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
    simulation: JoinHandle<()>,
    /// What is left when it has ended.
    sockets: Vec<PathBuf>,
    lock: Arc<Lock>,
}

impl Fabric {
    /// Makes the cards and serves them, on threads of their own.
    ///
    /// # Errors
    /// When the plan makes no sense, another fabric has its folder, or a socket cannot be made.
    pub fn start(plan: &Plan, report: &Report) -> Result<Self, Error> {
        plan.check()?;
        let folder = std::path::absolute(&plan.sockets)
            .map_err(|source| Error::Socket { path: plan.sockets.clone(), source })?;
        stroma_control::make(&folder)?;
        // Before cards are made, which takes a while: whoever looks sees that somebody is about to serve.
        let lock = Arc::new(Lock::take(&folder)?);
        let (mut world, watched) = plan.world()?;
        let waves = (0..plan.cards).map(|card| std::path::absolute(world.card(card).waves()?).ok()).collect();
        let (orders, requests) = Orders::new(plan.cards);
        // Whoever speaks for no card gives orders the way of the first, which there is.
        let anybody = orders[0].clone();
        let clients = Arc::new(Clients::new(plan.cards));
        let mut sockets: Vec<PathBuf> = (0..plan.cards).map(|card| plan.socket(card)).collect();
        clear(&folder, &sockets);
        let pages = plan.profile.capacity().doorbell_pages();
        // All sockets are made before anybody is served: who finds one finds all.
        let servers = orders.iter().cloned().zip(&sockets).enumerate().map(|(card, (orders, path))| {
            let function = CardFunction::new(card, orders, &clients, pages, report);
            Server::bind(path, Arc::new(function))
                .map_err(|source| Error::Socket { path: path.clone(), source })
        });
        let servers: Vec<Server> = servers.collect::<Result<_, _>>()?;
        let path = stroma_control::control(&folder);
        let desk = Desk::new(plan, &folder, &clients, orders).with_waves(waves);
        let control =
            Control::bind(&path, desk).map_err(|source| Error::Socket { path: path.clone(), source })?;
        let simulation = Simulation::new(world, plan.cards, requests, report);
        let held = Arc::clone(&lock);
        let simulation = thread::spawn(move || {
            simulation.run();
            drop(held);
        });
        for server in servers {
            thread::spawn(move || server.run());
        }
        let told = Arc::clone(report);
        thread::spawn(move || control.run(&told));
        for end in watched {
            let orders = anybody.clone();
            thread::spawn(move || end.run(&orders));
        }
        if let Some(seconds) = plan.linger {
            let report = Arc::clone(report);
            thread::spawn(move || {
                clients.wait_for_nobody(Duration::from_secs(seconds));
                report(&format!("no client for {seconds} s: the fabric ends"));
                // It fails when the simulation has ended by itself.
                let _ = anybody.give(Order::End);
            });
        }
        sockets.push(path);
        Ok(Self { simulation, sockets, lock })
    }

    /// Waits until the simulation has ended, which it does only when it fails, or when nobody has come for as long as the plan says;
    /// whether it ended well.
    #[must_use]
    pub fn wait(self) -> bool {
        let ended_well = self.simulation.join().is_ok();
        for path in &self.sockets {
            // One that stays is replaced by the next fabric.
            let _ = std::fs::remove_file(path);
        }
        drop(self.lock);
        ended_well
    }
}

/// Removes sockets of cards that a fabric has left and this one does not have, with what their programs left beside them; that it has gone
/// the lock tells.
fn clear(folder: &Path, ours: &[PathBuf]) {
    let Ok(found) = std::fs::read_dir(folder) else { return };
    for entry in found.filter_map(Result::ok) {
        let is_socket = entry.file_type().is_ok_and(|kind| kind.is_socket());
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("card")?.parse::<usize>().ok());
        if is_socket && number.is_some_and(|number| number >= ours.len()) {
            // Who connects there is refused either way.
            let _ = std::fs::remove_file(entry.path());
            let _ = std::fs::remove_file(stroma_control::inspection(&entry.path()));
        }
    }
}

/// Makes a folder, if it is missing.
pub(crate) fn make_folder(path: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(path).map_err(|source| Error::Socket { path: path.to_path_buf(), source })
}
