//! Sockets and files of this machine that no other user has a hand in.
//!
//! A driver lends its memory to whoever serves a card, and a fabric writes to files in a folder that others may know. So both ask the
//! same questions here: who may change what a path leads to ([`trust_path`], [`trust_folder`]), who is at the other end of a socket
//! ([`trust_peer`]), who may connect to one of ours ([`listen`], [`datagram`]), and is a file the one it seems to be ([`open`],
//! [`create`]).
//!
//! A user trusts himself and root; nobody else, group or not.
//!
//! Three more keep long-running threads going: [`accept`], [`tell`] and [`Log`].

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod accept;
mod file;
mod log;
mod path;
mod peer;
mod socket;
mod tell;

pub use accept::accept;
pub use file::{create, open};
pub use log::Log;
pub use path::{PathError, trust_folder, trust_path};
pub use peer::{PeerError, process, trust_peer};
pub use socket::{datagram, listen, remove_socket};
pub use tell::tell;

/// The user whose rights this process has.
fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Has a user no need to be trusted, being this one or the one who may do everything anyway?
fn is_trusted(other: u32, user: u32) -> bool {
    other == user || other == 0
}
