//! A card as a PCI function that can be served.
//!
//! | region | what |
//! |---|---|
//! | BAR0 | control and state of the card |
//! | BAR2 | its doorbell pages |
//! | BAR4 | MSI-X vectors: kept as they are stored, without effect; clients connect interrupts to descriptors instead |
//! | configuration space | see `config_space.rs` |

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use stroma_abi::regs::map::{BAR0, BAR2_AT, DOORBELL_PAGE, VECTORS};
use stroma_sim::host::bars::Access;
use stroma_vfio_user::body::{interrupt, region};
use stroma_vfio_user::server::{Ending, Range};
use stroma_vfio_user::{Errno, Function};

use crate::Report;
use crate::bell::Bell;
use crate::config_space::{self, ConfigSpace, PENDING_AT};
use crate::order::{Order, Orders};

const BAR2_REGION: usize = region::BAR0 + 2;
const BAR4_REGION: usize = region::BAR0 + 4;
const BAR4_LEN: usize = 0x1000;
/// Bytes of a vector in the table.
const VECTOR_LEN: usize = 16;

/// What a client can store to besides the card.
struct Plain {
    config: ConfigSpace,
    table: [u8; VECTORS * VECTOR_LEN],
}

/// One card.
pub(crate) struct CardFunction {
    name: String,
    orders: Orders,
    bar2_len: usize,
    plain: Mutex<Plain>,
    report: Report,
}

impl CardFunction {
    /// A card with so many doorbell pages.
    pub(crate) fn new(name: String, orders: Orders, doorbell_pages: usize, report: &Report) -> Self {
        let bar2_len = doorbell_pages * DOORBELL_PAGE;
        let vectors = u16::try_from(VECTORS).expect("few vectors");
        let config = ConfigSpace::new([BAR0.len, 0, bar2_len, 0, BAR4_LEN, 0], vectors);
        let plain = Mutex::new(Plain { config, table: [0; VECTORS * VECTOR_LEN] });
        Self { name, orders, bar2_len, plain, report: Arc::clone(report) }
    }

    fn plain(&self) -> std::sync::MutexGuard<'_, Plain> {
        self.plain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self) {
        let mut plain = self.plain();
        plain.config.reset();
        plain.table.fill(0);
    }
}

/// Where an access of 4 or 8 bytes that lies on a multiple of them is at the card's pins.
fn address(region: usize, offset: u64, width: usize) -> Result<u64, Errno> {
    if !matches!(width, 4 | 8) || !offset.is_multiple_of(width as u64) {
        return Err(Errno::INVAL);
    }
    Ok(if region == BAR2_REGION { BAR2_AT as u64 + offset } else { offset })
}

impl Function for CardFunction {
    fn region_len(&self, index: usize) -> u64 {
        let len = match index {
            region::BAR0 => BAR0.len,
            BAR2_REGION => self.bar2_len,
            BAR4_REGION => BAR4_LEN,
            region::CONFIG => config_space::LEN,
            _ => 0,
        };
        len as u64
    }

    fn interrupts(&self, index: usize) -> usize {
        if index == interrupt::MSIX { VECTORS } else { 0 }
    }

    fn attach(&self, process: Option<u32>) {
        let process = process.map_or_else(|| "a process".into(), |process| format!("process {process}"));
        (self.report)(&format!("{}: {process} has come", self.name));
        // It fails when nobody simulates any more, and then so does all that follows.
        let _ = self.orders.give(Order::Attach);
    }

    fn read(&self, region: usize, offset: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        let at = usize::try_from(offset).map_err(|_| Errno::INVAL)?;
        match region {
            region::CONFIG => self.plain().config.read(at, bytes),
            BAR4_REGION => {
                bytes.fill(0);
                let plain = self.plain();
                let table = plain.table.get(at..).unwrap_or_default();
                bytes.iter_mut().zip(table).for_each(|(byte, stored)| *byte = *stored);
            }
            _ => {
                let address = address(region, offset, bytes.len())?;
                let word = self.orders.give(Order::Access(Access::Load { address }))?.to_le_bytes();
                // A word of eight bytes comes back, whichever half was asked for.
                let half = usize::try_from(address % 8).expect("less than 8");
                bytes.copy_from_slice(&word[half..half + bytes.len()]);
            }
        }
        Ok(())
    }

    fn write(&self, region: usize, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let at = usize::try_from(offset).map_err(|_| Errno::INVAL)?;
        match region {
            region::CONFIG => self.plain().config.write(at, bytes),
            BAR4_REGION => {
                let mut plain = self.plain();
                let table = plain.table.get_mut(at..).unwrap_or_default();
                table.iter_mut().zip(bytes).for_each(|(stored, byte)| *stored = *byte);
            }
            _ => {
                let address = address(region, offset, bytes.len())?;
                let half = usize::try_from(address % 8).expect("less than 8");
                let mut word = [0; 8];
                word[half..half + bytes.len()].copy_from_slice(bytes);
                let strobe = if bytes.len() == 8 { 0xff } else { 0x0f << half };
                let (address, data) = (address - address % 8, u64::from_le_bytes(word));
                self.orders.give(Order::Access(Access::Store { address, data, strobe }))?;
            }
        }
        Ok(())
    }

    fn map(&self, range: Range) -> Result<(), Errno> {
        self.orders.give(Order::Map(range)).map(drop)
    }

    fn unmap(&self, first: u64, last: u64) -> Result<(), Errno> {
        self.orders.give(Order::Unmap { first, last }).map(drop)
    }

    fn connect(&self, _index: usize, start: usize, events: Vec<Option<OwnedFd>>) -> Result<(), Errno> {
        let bells = events.into_iter().map(|event| event.map(Bell::new).transpose());
        let bells = bells.collect::<Result<_, _>>()?;
        self.orders.give(Order::Connect { start, bells }).map(drop)
    }

    fn reset(&self) -> Result<(), Errno> {
        self.forget();
        self.orders.give(Order::Reset).map(drop)
    }

    fn detach(&self, ending: &Ending) {
        self.forget();
        let _ = self.orders.give(Order::Detach);
        (self.report)(&format!("{}: the process {ending}", self.name));
    }
}

const _: () =
    assert!(VECTORS * VECTOR_LEN <= PENDING_AT as usize, "the table ends where the pending bits begin");
