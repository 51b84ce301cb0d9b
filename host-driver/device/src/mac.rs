//! MAC addresses for cards that know none of their own.

use std::fs;

/// Where a machine says who it is: for good, or, where nobody has told it, until its next start.
const MACHINES: [&str; 2] = ["/etc/machine-id", "/proc/sys/kernel/random/boot_id"];

/// The first byte of an address that everybody may give, to one station (IEEE 802, local and individual).
const LOCAL: u8 = 0x02;

/// A MAC address for the card at `place` of this machine: the same at every start, and another than those of other cards and machines, but for chance (one in
/// 2^40 for any two of them). A board's own is with its satellite controller, which the card does not talk to.
#[must_use]
pub fn local_mac(place: &str) -> [u8; 6] {
    let machine = MACHINES.iter().find_map(|file| fs::read_to_string(file).ok());
    mac_of(machine.unwrap_or_default().trim(), place)
}

fn mac_of(machine: &str, place: &str) -> [u8; 6] {
    let hash = fnv(format!("{machine} {place}").as_bytes());
    let mut mac = [0; 6];
    mac.copy_from_slice(&(hash ^ hash >> 40).to_le_bytes()[..6]);
    mac[0] = LOCAL;
    mac
}

/// FNV-1a of 64 bits: one that, unlike the standard library's, stays what it is.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_hash_is_that_of_its_authors() {
        // From their table of test vectors.
        assert_eq!(fnv(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn every_card_of_every_machine_has_a_local_address_of_its_own() {
        let machines = ["0d3f", "0d40", ""];
        let places = (0..64).map(|bus| format!("0000:{bus:02x}:00.0"));
        let found: Vec<[u8; 6]> =
            places.flat_map(|place| machines.map(|machine| mac_of(machine, &place))).collect();
        assert!(found.iter().all(|mac| mac[0] & 0b11 == 0b10), "{found:x?}");
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len());
        assert_eq!(local_mac("0000:41:00.0"), local_mac("0000:41:00.0"));
    }
}
