//! The card's tables, one owner each.

pub mod access;
pub mod address_handles;
pub mod command;
pub mod completion_queues;
#[cfg(test)]
mod differential;
pub mod failures;
pub mod heard;
pub mod lookup;
pub mod maintain;
pub mod memory_keys;
pub mod mmu;
pub mod order;
pub mod pages;
pub mod queue_pairs;
pub mod regions;
pub mod shared_queues;
pub mod tables;
pub mod tlb;
pub mod tlb_way;
pub mod walker;
