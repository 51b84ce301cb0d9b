//! The host as the card sees it over PCIe: memory behind an IOMMU, with latency, bandwidth and limits.
//!
//! [`memory`] holds the bytes, [`iommu`] decides which of them the card may reach, [`timing`] says how long everything
//! takes, and [`port`] joins them into the far end of the card's AXI4 manager.

pub mod attach;
pub mod iommu;
pub mod memory;
pub mod port;
pub mod timing;
