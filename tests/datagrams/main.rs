//! Datagrams: the card, a golden endpoint and another card send them to each other, and only what is for a queue pair reaches it.

mod cards;
mod golden;
mod groups;
mod refused;
mod stage;
mod unwanted;
mod wire;
