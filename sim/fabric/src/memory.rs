//! Memory of a client, as the card's IOMMU sees it.

use stroma_sim::host::memory::Memory;
use stroma_vfio_user::server::Range;
use stroma_vfio_user::server::memory::Window;

/// Memory that a client has shown, with what the card may do there.
#[derive(Debug)]
pub(crate) struct ClientMemory {
    window: Window,
    size: u64,
    is_read: bool,
    is_written: bool,
}

impl ClientMemory {
    /// What a range leads to; `None` when it leads nowhere.
    pub(crate) fn of(range: Range) -> Option<Self> {
        let Range { size, is_read, is_written, window, .. } = range;
        window.map(|window| Self { window, size, is_read, is_written })
    }
}

impl Memory for ClientMemory {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> bool {
        self.is_read && self.window.read(offset, bytes).is_ok()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        // A process may end a mapping of memory that it has shown, or end itself, and libraries with a cache of registrations do. A kernel that pins pages
        // would let the write go to them, where nobody sees it; here it goes nowhere, and is as done.
        if self.is_written {
            let _ = self.window.write(offset, bytes);
        }
        self.is_written
    }
}
