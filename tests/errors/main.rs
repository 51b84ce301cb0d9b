//! What goes wrong with a connection, one cause at a time: the rows of `docs/errors.md` that no other story tells.
//!
//! One card stands on a cable whose far end says what it is told to, so that a peer can break every rule a card never would.
//! Each story is a table of causes. Of each cause the whole outcome is looked at: what is on the wire, how requests and receives
//! complete, which event is told, in which state the queue pair is, and whether anything moved.

mod access;
mod answers;
mod invalid;
mod local;
mod operational;
mod packets;
mod payload;
mod silent;
mod stage;
