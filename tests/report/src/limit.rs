//! What the wire leaves for payload once every packet has its headers: no card can do better.

use stroma_abi::wire::{Bth, Ethernet, Ipv4, Reth, Udp, icrc};

/// Gb/s of the wire.
const WIRE: f64 = 100.0;
/// Bytes of payload in a packet, at most.
const PATH_MTU: f64 = 4096.0;
/// Preamble, FCS and gap.
const AROUND: usize = 8 + 4 + 12;
/// What every packet has besides payload.
const EACH: usize = AROUND + Ethernet::LEN + Ipv4::LEN + Udp::LEN + Bth::LEN + icrc::LEN;

/// Gb/s of payload in WRITEs of so many bytes, back to back on 100 GbE.
#[expect(clippy::cast_precision_loss, reason = "headers have a few bytes")]
pub(crate) fn write(bytes: f64) -> f64 {
    let padded = (bytes / 4.0).ceil() * 4.0;
    let packets = (bytes / PATH_MTU).ceil();
    WIRE * bytes / (padded + packets * EACH as f64 + Reth::LEN as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_that_of_the_bytes_on_the_wire() {
        let close = |value: f64, wanted: f64| assert!((value - wanted).abs() < 1e-9, "{value}, not {wanted}");
        // 14 + 20 + 8 + 12 + 16 + 4 + 4 + 20 are 98 bytes around the payload of a small WRITE.
        close(write(64.0), 6400.0 / 162.0);
        close(write(8.0), 800.0 / 106.0);
        close(write(1.0), 100.0 / 102.0);
        // Of 16 packets the first alone has an RETH.
        close(write(65_536.0), 6_553_600.0 / (65_536.0 + 16.0 * 82.0 + 16.0));
    }
}
