//! The host as the card sees it over PCIe: memory behind an IOMMU, BAR accesses and interrupts, with latency, bandwidth and
//! limits.
//!
//! [`iommu`] decides which [`memory`] the card may reach, [`timing`] says how long everything takes, [`port`] is the far end of
//! the card's AXI4 manager, [`bars`] the near end of its registers, and [`attach`] connects both to the card's pins.

pub mod attach;
pub mod bars;
pub mod iommu;
pub mod memory;
pub mod port;
pub mod timing;
