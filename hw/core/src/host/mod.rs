//! The PCIe side, one engine per file.

pub mod axi;
