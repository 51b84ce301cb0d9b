//! What others have published, beside our figures and never among them.
//!
//! Theirs are of hardware, or of simulations that count less than ours; each says how it was measured.

/// A published figure that one of ours can be seen beside.
pub(crate) struct Anchor {
    /// The name of ours.
    pub(crate) figure: &'static str,
    /// As it was published.
    pub(crate) value: &'static str,
    /// Who, and where.
    pub(crate) source: &'static str,
    pub(crate) measured: &'static str,
}

const BALBOA: &str = "BALBOA (ETH Zurich, OSDI 2026)";
const BALBOA_STREAM: &str = "two U55C behind a switch, host memory; batches of 64, one thread";
const BALBOA_DERIVED: &str =
    "two U55C behind a switch; derived from the published throughput of 64 B messages";

/// All of them.
pub(crate) const ANCHORS: [Anchor; 18] = [
    anchor("write.goodput.64KiB.qp1", "12,039 MB/s (96.3 Gb/s)", BALBOA, BALBOA_STREAM),
    anchor("write.goodput.64KiB.qp1", "97 Gb/s", "SRNIC (NSDI 2023)", "FPGA"),
    anchor("read.goodput.64KiB.qp1", "12,172 MB/s (97.4 Gb/s), 256 KB", BALBOA, BALBOA_STREAM),
    anchor("read.goodput.8KiB.qp32", "8,342 MB/s (66.7 Gb/s)", BALBOA, BALBOA_STREAM),
    anchor("write.rate.64B.qp1", "about 2.04 M msg/s", BALBOA, BALBOA_DERIVED),
    anchor("write.rate.64B-gather.qp1", "2.64 M msg/s", "Mellanox, one QP, no inline", "perftest"),
    anchor("write.rate.64B.qp32", "149.5 M msg/s", "ConnectX-4 EDR", "vendor, InfiniBand"),
    anchor("write.rate.64B.qp32", "215 M msg/s", "ConnectX-6", "vendor"),
    anchor("read.rate.64B.qp32", "about 1.25 M msg/s", BALBOA, BALBOA_DERIVED),
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
    anchor("write.goodput.64KiB.qp32", "95.9 Gb/s, 4 KB", "ConnectX-5", "perftest"),
];

const fn anchor(
    figure: &'static str,
    value: &'static str,
    source: &'static str,
    measured: &'static str,
) -> Anchor {
    Anchor { figure, value, source, measured }
}

/// Those beside a figure.
pub(crate) fn beside(figure: &str) -> impl Iterator<Item = &'static Anchor> {
    ANCHORS.iter().filter(move |anchor| anchor.figure == figure)
}
