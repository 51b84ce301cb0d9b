//! What fuzz targets reach of the inside.

use std::net::IpAddr;

use crate::neighbours::station::{Heard, Station};

/// What a station of this address answers to a frame.
#[must_use]
pub fn answer(mac: [u8; 6], addresses: &[IpAddr], frame: &[u8]) -> Option<Vec<u8>> {
    match (Station { mac, addresses: addresses.to_vec() }).hear(frame)? {
        Heard::Neighbour { answer, .. } => answer,
        Heard::Question { answer } => Some(answer),
        Heard::Echo { .. } => None,
    }
}
