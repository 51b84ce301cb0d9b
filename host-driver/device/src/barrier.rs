//! Order between memory and the card, named by purpose.
//!
//! Memory shared with the card is written and read through atomics without order of their own ([`DmaMemory`]), and
//! registers through volatile accesses. These fences put the two in order. On x86-64 they keep the compiler from
//! moving accesses and cost no instruction: stores leave the core in order, and BARs are not cached. Other processors
//! order memory against devices in ways Rust's fences do not promise, so kernel VFIO is built for x86-64 alone;
//! simulated cards are threads, for which the fences are exact everywhere.
//!
//! [`DmaMemory`]: crate::DmaMemory

use crate::sync::{Ordering, fence};

/// Between filling ring entries and the doorbell that announces them: the card must find the entries when it sees
/// the doorbell.
#[inline]
pub fn to_device() {
    fence(Ordering::Release);
}

/// Between seeing an entry's phase bit, or a register that announces data, and reading what it announces: nothing
/// read after this is older than the announcement.
#[inline]
pub fn from_device() {
    fence(Ordering::Acquire);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::{
        sync::atomic::{AtomicU64, Ordering::Relaxed},
        thread,
    };

    use super::*;

    #[test]
    fn what_was_written_before_the_announcement_is_read_after_it() {
        const LAPS: u64 = 20_000;
        let (entry, doorbell) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                for lap in 1..=LAPS {
                    entry.store(lap, Relaxed);
                    to_device();
                    doorbell.store(lap, Relaxed);
                }
            });
            let mut seen = 0;
            while seen < LAPS {
                seen = doorbell.load(Relaxed);
                from_device();
                let found = entry.load(Relaxed);
                assert!(found >= seen, "doorbell {seen} came before its entry, which is still {found}");
                thread::yield_now();
            }
        });
    }
}
