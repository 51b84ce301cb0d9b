//! What others have published, beside our figures and never among them.
//!
//! Theirs are of hardware, or of simulations that count less than ours; each says how it was measured.

use crate::document::over_payload::{READ_MANY, WRITE_MANY, WRITE_ONE};

/// A published figure that one of ours can be seen beside.
pub(crate) struct Anchor {
    /// The name of ours.
    pub(crate) figure: &'static str,
    /// As it was published.
    pub(crate) value: &'static str,
    /// Who, and where.
    pub(crate) source: &'static str,
    pub(crate) measured: &'static str,
    /// Where goodput over payload is drawn, if it was published with its payload.
    pub(crate) place: Option<Place>,
}

/// A point in a plot, beside a curve of ours.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) curve: &'static str,
    /// Bytes of a message, Gb/s.
    pub(crate) point: [f64; 2],
}

const BALBOA: &str = "BALBOA (ETH Zurich, OSDI 2026)";
const BALBOA_STREAM: &str = "two U55C behind a switch, host memory; batches of 64, one thread";
const BALBOA_DERIVED: &str =
    "two U55C behind a switch; derived from the published throughput of 64 B messages";
/// Gb/s of a million messages of 64 bytes a second.
const OF_64_BYTES: f64 = 0.512;

/// All of them.
pub(crate) const ANCHORS: [Anchor; 18] = [
    anchor("write.goodput.64KiB.qp1", "12,039 MB/s (96.3 Gb/s)", BALBOA, BALBOA_STREAM)
        .at(WRITE_ONE, [65_536.0, 96.3]),
    anchor("write.goodput.64KiB.qp1", "97 Gb/s", "SRNIC (NSDI 2023)", "FPGA"),
    anchor("read.goodput.64KiB.qp1", "12,172 MB/s (97.4 Gb/s), 256 KB", BALBOA, BALBOA_STREAM)
        .at(READ_MANY, [262_144.0, 97.4]),
    anchor("read.goodput.8KiB.qp32", "8,342 MB/s (66.7 Gb/s)", BALBOA, BALBOA_STREAM)
        .at(READ_MANY, [8192.0, 66.7]),
    anchor("write.rate.64B.qp1", "about 2.04 M msg/s", BALBOA, BALBOA_DERIVED)
        .at(WRITE_ONE, [64.0, 2.04 * OF_64_BYTES]),
    anchor("write.rate.64B-gather.qp1", "2.64 M msg/s", "Mellanox, one QP, no inline", "perftest"),
    anchor("write.rate.64B.qp32", "149.5 M msg/s", "ConnectX-4 EDR", "vendor, InfiniBand"),
    anchor("write.rate.64B.qp32", "215 M msg/s", "ConnectX-6", "vendor"),
    anchor("read.rate.64B.qp32", "about 1.25 M msg/s", BALBOA, BALBOA_DERIVED)
        .at(READ_MANY, [64.0, 1.25 * OF_64_BYTES]),
    anchor(
        "write.latency.64B.qp1",
        "5.50 us",
        BALBOA,
        "two U55C behind a switch, host memory; ping-pong / 2, mean",
    ),
    anchor("write.latency.64B.qp1", "3.3 us", "SRNIC (NSDI 2023)", "FPGA"),
    anchor("write.latency.64B.qp1", "0.61 us", "ConnectX-4 EDR", "vendor, InfiniBand"),
    anchor("write.latency.64B.qp1", "below 0.6 us", "ConnectX-6", "vendor"),
    anchor("write.latency.64B.qp1", "1.74 us, SEND", "ConnectX-5", "perftest"),
    anchor("read.latency.64B.qp1", "7.68 us", BALBOA, "two U55C behind a switch, host memory; mean"),
    anchor("read.latency.64B.qp1", "2.5 us median, 3.2 us p99", "Clio (ASPLOS 2022)", "FPGA memory node"),
    anchor(
        "write.wall.2MiB",
        "not finished in 1 h",
        "open-rdma (2025)",
        "two simulated NICs, cocotb and Verilator",
    ),
    anchor("write.goodput.64KiB.qp32", "95.9 Gb/s, 4 KB", "ConnectX-5", "perftest")
        .at(WRITE_MANY, [4096.0, 95.9]),
];

const fn anchor(
    figure: &'static str,
    value: &'static str,
    source: &'static str,
    measured: &'static str,
) -> Anchor {
    Anchor { figure, value, source, measured, place: None }
}

impl Anchor {
    const fn at(self, curve: &'static str, point: [f64; 2]) -> Self {
        Self { place: Some(Place { curve, point }), ..self }
    }

    /// Who, without the place of publication.
    pub(crate) fn who(&self) -> &'static str {
        self.source.split(" (").next().unwrap_or_default()
    }
}

/// Those beside a figure.
pub(crate) fn beside(figure: &str) -> impl Iterator<Item = &'static Anchor> {
    ANCHORS.iter().filter(move |anchor| anchor.figure == figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_point_is_drawn_where_its_text_says() {
        let mut placed = 0;
        for anchor in &ANCHORS {
            let Some(Place { point: [bytes, gigabits], .. }) = anchor.place else { continue };
            let texts =
                [format!("{gigabits:.1} Gb/s"), format!("{:.2} M msg/s", gigabits * 1000.0 / bytes / 8.0)];
            assert!(texts.iter().any(|text| anchor.value.contains(text)), "{texts:?}: {}", anchor.value);
            placed += 1;
        }
        assert_eq!(placed, 6);
        assert_eq!(ANCHORS[0].who(), "BALBOA");
    }
}
