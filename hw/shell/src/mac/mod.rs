//! Towards the network: the hard MAC, on its own clock.

pub mod link;
pub mod receive;
pub mod transmit;
