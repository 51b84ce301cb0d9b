//! The Verilated card and what stands around it: its host, its wire, and the files that record it.
//!
//! [`Card`] is the card of one profile with drivers on its pins and its host behind them ([`host`]); a [`World`] keeps
//! several on one clock, with [peers](peer) that are no cards, on cables ([`link`]) or a [`Switch`](switch::Switch);
//! [`SimBackend`] lets the driver run them; [`pcap`] reads and writes captures. [`Fronts`] are a card's front ends alone, to
//! look at single packets. The card's behaviour is RTL alone: nothing here knows a protocol or checks an access, but for
//! the golden endpoint in [`model`], its peer in tests.
//!
//! Cards are files, built when a program first asks for one: see [`Kind`].
//!
//! `STROMA_WAVES=/absolute/folder` makes every card write its waves there; see [`stroma_verilate`].

#![deny(unsafe_code)]

mod backend;
mod capture;
mod card;
mod fronts;
pub mod host;
pub mod link;
mod mac;
pub mod model;
mod models;
pub mod pcap;
pub mod peer;
pub mod switch;
mod world;

pub use backend::{Shared, SimBackend};
pub use capture::Listener;
pub use card::Card;
pub use fronts::{Fronts, Packet};
pub use mac::{Sent, Streams};
pub use models::Kind;
pub use world::World;
