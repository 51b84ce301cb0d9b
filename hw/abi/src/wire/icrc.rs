//! Invariant CRC (IBTA Annex A17): what no switch changes, guarded from end to end.
//!
//! It is Ethernet's CRC-32 over eight bytes of ones, which stand for the link header RoCE does not have, and
//! the IP packet up to the ICRC, in which every field that may change on the way reads as ones.
//! The result is sent least significant byte first.

use super::{Bth, Ipv4, Ipv6, Udp};
use crate::Field;

/// Length in bytes.
pub const LEN: usize = 4;
/// CRC-32 of Ethernet, bits reversed.
pub const POLYNOMIAL: u32 = 0xedb8_8320;
/// Remainder before the first byte.
pub const INITIAL: u32 = u32::MAX;
/// Inverts the last remainder.
pub const FINAL: u32 = u32::MAX;
/// Bytes of ones before the IP packet.
pub const PREFIX_LEN: usize = 8;
/// Remainder behind the prefix: where the RTL begins with the IP packet's first byte.
pub const SEED: u32 = {
    let mut state = INITIAL;
    let mut byte = 0;
    while byte < PREFIX_LEN {
        state = step(state, 0xff);
        byte += 1;
    }
    state
};
/// Remainder (not inverted) behind a packet *and* its right ICRC, whatever the packet.
pub const RESIDUE: u32 = 0xdebb_20e3;

/// Fields of IPv4 that read as ones.
pub const MASKED_IPV4: &[Field] = &[Ipv4::DSCP, Ipv4::ECN, Ipv4::TTL, Ipv4::CHECKSUM];
/// Fields of IPv6 that read as ones.
pub const MASKED_IPV6: &[Field] = &[Ipv6::TRAFFIC_CLASS, Ipv6::FLOW_LABEL, Ipv6::HOP_LIMIT];
/// Fields of UDP that read as ones.
pub const MASKED_UDP: &[Field] = &[Udp::CHECKSUM];
/// Fields of the BTH that read as ones.
pub const MASKED_BTH: &[Field] = &[Bth::FECN, Bth::BECN, Bth::RESERVED6];

/// Bytes to OR over IPv4, UDP and BTH.
pub const MASK_IPV4: [u8; Ipv4::LEN + Udp::LEN + Bth::LEN] = mask(MASKED_IPV4, Ipv4::LEN);
/// Bytes to OR over IPv6, UDP and BTH.
pub const MASK_IPV6: [u8; Ipv6::LEN + Udp::LEN + Bth::LEN] = mask(MASKED_IPV6, Ipv6::LEN);

const fn mask<const N: usize>(ip: &[Field], ip_len: usize) -> [u8; N] {
    let mut ones = [0; N];
    cover(&mut ones, ip, 0);
    cover(&mut ones, MASKED_UDP, ip_len);
    cover(&mut ones, MASKED_BTH, ip_len + Udp::LEN);
    ones
}

const fn cover(ones: &mut [u8], fields: &[Field], at: usize) {
    let mut index = 0;
    while index < fields.len() {
        fields[index].at(at).write(ones, fields[index].max());
        index += 1;
    }
}

/// The remainder after one more byte.
#[must_use]
pub const fn step(state: u32, byte: u8) -> u32 {
    TABLE[((state ^ byte as u32) & 0xff) as usize] ^ (state >> 8)
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte: u32 = 0;
    while byte < 256 {
        let mut state = byte;
        let mut bit = 0;
        while bit < 8 {
            state = if state & 1 == 0 { state >> 1 } else { (state >> 1) ^ POLYNOMIAL };
            bit += 1;
        }
        table[byte as usize] = state;
        byte += 1;
    }
    table
};

/// The ICRC an IP packet should carry. `packet` runs from the IP header to the end of the ICRC; those last
/// four bytes are not looked at.
#[must_use]
pub fn compute(packet: &[u8]) -> u32 {
    let covered = &packet[..packet.len().saturating_sub(LEN)];
    compute_over(covered.iter().copied())
}

/// The same over bytes that are not in one piece: the IP packet without its ICRC.
pub fn compute_over(covered: impl IntoIterator<Item = u8>) -> u32 {
    let mut covered = covered.into_iter().peekable();
    let mask: &[u8] = match covered.peek() {
        Some(first) if first >> 4 == 6 => &MASK_IPV6,
        _ => &MASK_IPV4,
    };
    let mask = mask.iter().copied().chain(core::iter::repeat(0));
    FINAL ^ covered.zip(mask).fold(SEED, |state, (byte, ones)| step(state, byte | ones))
}

/// The ICRC an IP packet does carry, in its last four bytes; shorter packets read as if zeros came before.
#[must_use]
pub fn carried(packet: &[u8]) -> u32 {
    packet.iter().rev().take(LEN).fold(0, |icrc, byte| icrc << 8 | u32::from(*byte))
}

/// Does the packet carry the ICRC it should?
#[must_use]
pub fn is_right(packet: &[u8]) -> bool {
    packet.len() >= LEN && carried(packet) == compute(packet)
}

/// Writes the ICRC over the last four bytes of an IP packet.
///
/// # Panics
/// When `packet` is shorter than the ICRC.
pub fn seal(packet: &mut [u8]) {
    let icrc = compute(packet);
    let at = packet.len() - LEN;
    packet[at..].copy_from_slice(&icrc.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_has_its_published_check_value() {
        // CRC-32/ISO-HDLC of "123456789" in every CRC catalogue.
        assert_eq!(FINAL ^ b"123456789".iter().fold(INITIAL, |state, byte| step(state, *byte)), 0xcbf4_3926);
    }

    #[test]
    fn a_crc_behind_its_message_leaves_the_residue() {
        let state = b"123456789".iter().fold(INITIAL, |state, byte| step(state, *byte));
        let icrc = (state ^ FINAL).to_le_bytes();
        assert_eq!(icrc.iter().fold(state, |state, byte| step(state, *byte)), RESIDUE);
    }

    #[test]
    fn masks_cover_the_bytes_annex_a17_names() {
        let masked = |mask: &[u8]| -> std::vec::Vec<(usize, u8)> {
            mask.iter().copied().enumerate().filter(|(_, ones)| *ones != 0).collect()
        };
        // TOS, TTL, header checksum; UDP checksum; BTH byte 4.
        let ipv4 = [(1, 0xff), (8, 0xff), (10, 0xff), (11, 0xff), (26, 0xff), (27, 0xff), (32, 0xff)];
        assert_eq!(masked(&MASK_IPV4), ipv4);
        // Traffic class and flow label, hop limit; UDP checksum; BTH byte 4.
        let ipv6 =
            [(0, 0x0f), (1, 0xff), (2, 0xff), (3, 0xff), (7, 0xff), (46, 0xff), (47, 0xff), (52, 0xff)];
        assert_eq!(masked(&MASK_IPV6), ipv6);
    }

    #[test]
    fn packets_too_short_for_an_icrc_have_none() {
        for len in 0..LEN {
            assert!(!is_right(&[0; LEN][..len]));
        }
    }
}
