//! The golden endpoint against itself over a bad wire, against recordings, and against the rules one by one.

mod channel;
mod malformed;
mod port;
mod protection;
mod random;
mod recorded;
mod requests;
mod responses;
mod rig;
