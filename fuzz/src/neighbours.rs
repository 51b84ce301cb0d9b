//! Frames on the raw queue: ARP, neighbour discovery, echoes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use stroma_verbs::fuzz::answer;

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1))];
/// Bytes of the longest frame.
const FRAME_MAX: usize = 4096;
/// An advertisement has an option that the question may lack, and a short frame is padded.
const LONGER: usize = 60;

/// What is answered is a frame of ours, and nobody is sent much more than he has said.
pub fn neighbours(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(FRAME_MAX)];
    if let Some(answer) = answer(MAC, &ADDRESSES, bytes) {
        assert_eq!(answer[6..12], MAC, "whose frame it is");
        assert!(answer.len() <= bytes.len() + LONGER, "{} bytes for {}", answer.len(), bytes.len());
    }
}
