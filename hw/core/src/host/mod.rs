//! The PCIe side, one engine per file.

pub mod axi;
pub mod dma_read;
pub mod dma_write;
pub mod work;

#[cfg(test)]
mod memory;
#[cfg(test)]
mod read_memory;
