//! The golden endpoint against itself over a bad wire, against recordings, and against the rules one by one.

mod again;
mod atomics;
mod calls;
mod channel;
mod datagrams;
mod lists;
mod malformed;
mod not_ready;
mod port;
mod protection;
mod random;
mod receives;
mod recorded;
mod requests;
mod responses;
mod rig;
mod traffic;
mod unreliable;
mod windows;
