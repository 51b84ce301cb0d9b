//! A card as a PCI function that can be served.
//!
//! | region | what |
//! |---|---|
//! | BAR0 | control and state of the card |
//! | BAR2 | its doorbell pages |
//! | BAR4 | MSI-X vectors: kept as they are stored, without effect; clients connect interrupts to descriptors instead |
//! | configuration space | see `config_space.rs` |

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stroma_abi::regs::map::{BAR0, BAR2_AT, DOORBELL_PAGE, VECTORS};
use stroma_sim::host::bars::Access;
use stroma_vfio_user::body::{interrupt, region};
use stroma_vfio_user::server::{Beyond, Ending, Faults, Range};
use stroma_vfio_user::{Errno, Function};

use crate::Report;
use crate::bell::Bell;
use crate::clients::Clients;
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
    number: usize,
    orders: Orders,
    clients: Arc<Clients>,
    bar2_len: usize,
    plain: Mutex<Plain>,
    /// Requests of the client that were beyond its budget.
    refused: AtomicU64,
    report: Report,
}

impl CardFunction {
    /// A card of this number, with so many doorbell pages.
    pub(crate) fn new(
        number: usize,
        orders: Orders,
        clients: &Arc<Clients>,
        doorbell_pages: usize,
        report: &Report,
    ) -> Self {
        let bar2_len = doorbell_pages * DOORBELL_PAGE;
        let vectors = u16::try_from(VECTORS).expect("few vectors");
        let config = ConfigSpace::new([BAR0.len, 0, bar2_len, 0, BAR4_LEN, 0], vectors);
        let plain = Mutex::new(Plain { config, table: [0; VECTORS * VECTOR_LEN] });
        let (clients, refused, report) = (Arc::clone(clients), AtomicU64::new(0), Arc::clone(report));
        Self { number, orders, clients, bar2_len, plain, refused, report }
    }

    fn plain(&self) -> std::sync::MutexGuard<'_, Plain> {
        self.plain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores to the configuration space, and does what that means.
    fn configure(&self, at: usize, bytes: &[u8]) -> Result<(), Errno> {
        let (was_master, is_master, asks_for_reset) = {
            let config = &mut self.plain().config;
            let was_master = config.is_master();
            let asks_for_reset = config.write(at, bytes);
            (was_master, config.is_master(), asks_for_reset)
        };
        if asks_for_reset {
            return self.reset();
        }
        if was_master != is_master {
            self.orders.give(Order::Master(is_master))?;
        }
        Ok(())
    }

    /// An access to the card: where it is at its pins, once the function answers to such accesses at all.
    fn address(&self, region: usize, offset: u64, width: usize) -> Result<u64, Errno> {
        if self.plain().config.answers() { address(region, offset, width) } else { Err(Errno::IO) }
    }

    fn forget(&self) {
        let mut plain = self.plain();
        plain.config.reset();
        plain.table.fill(0);
    }
}

/// Where an access of 4 or 8 bytes that lies on a multiple of them is at the card's pins.
pub(crate) fn address(region: usize, offset: u64, width: usize) -> Result<u64, Errno> {
    if !matches!(width, 4 | 8) || !offset.is_multiple_of(width as u64) {
        return Err(Errno::INVAL);
    }
    Ok(if region == BAR2_REGION { BAR2_AT as u64 + offset } else { offset })
}

/// What was asked for at an address: a word of eight bytes comes back, whichever half it was.
pub(crate) fn part(word: u64, address: u64, bytes: &mut [u8]) {
    let half = usize::try_from(address % 8).expect("less than 8");
    bytes.copy_from_slice(&word.to_le_bytes()[half..half + bytes.len()]);
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

    fn attach(&self, process: Option<u32>, faults: Faults) {
        self.clients.come(self.number, process);
        let process = process.map_or_else(|| "a process".into(), |process| format!("process {process}"));
        (self.report)(&format!("card{}: {process} has come", self.number));
        // It fails when nobody simulates any more, and then so does all that follows.
        let _ = self.orders.give(Order::Attach(faults));
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
                let address = self.address(region, offset, bytes.len())?;
                let word = self.orders.give(Order::Access(Access::Load { address }))?;
                part(word, address, bytes);
            }
        }
        Ok(())
    }

    fn write(&self, region: usize, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let at = usize::try_from(offset).map_err(|_| Errno::INVAL)?;
        match region {
            region::CONFIG => self.configure(at, bytes)?,
            BAR4_REGION => {
                let mut plain = self.plain();
                let table = plain.table.get_mut(at..).unwrap_or_default();
                table.iter_mut().zip(bytes).for_each(|(stored, byte)| *stored = *byte);
            }
            _ => {
                let address = self.address(region, offset, bytes.len())?;
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

    fn refused(&self, beyond: Beyond) {
        if self.refused.fetch_add(1, Ordering::Relaxed) == 0 {
            (self.report)(&format!("card{}: its process may not show it {beyond}", self.number));
        }
    }

    fn delayed(&self, error: &io::Error) {
        (self.report)(&format!("card{}: no client can be let in for a while: {error}", self.number));
    }

    fn detach(&self, ending: &Ending) {
        self.forget();
        let _ = self.orders.give(Order::Detach);
        self.clients.go(self.number);
        let refused = self.refused.swap(0, Ordering::Relaxed);
        if refused > 0 {
            let number = self.number;
            (self.report)(&format!("card{number}: {refused} requests beyond its budget were refused in all"));
        }
        (self.report)(&format!("card{}: the process {ending}", self.number));
    }
}

const _: () =
    assert!(VECTORS * VECTOR_LEN <= PENDING_AT as usize, "the table ends where the pending bits begin");

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;

    use super::*;

    /// A card whose orders are carried out by nobody; what they were.
    fn card() -> (CardFunction, Receiver<&'static str>) {
        let (mut orders, requests) = Orders::new(1);
        let (note, notes) = channel();
        thread::spawn(move || {
            for request in requests {
                let name = match request.order {
                    Order::Access(_) => "access",
                    Order::Master(true) => "may do DMA",
                    Order::Master(false) => "may not",
                    Order::Reset => "reset",
                    _ => "another",
                };
                note.send(name).unwrap();
                let _ = request.answer.send(Ok(0));
            }
        });
        let report: Report = Arc::new(|_| {});
        (CardFunction::new(0, orders.remove(0), &Arc::new(Clients::new(1)), 4, &report), notes)
    }

    #[test]
    fn a_function_answers_with_memory_on_and_does_dma_as_a_bus_master() {
        let (card, orders) = card();
        let accesses = || {
            let read = card.read(region::BAR0, 8, &mut [0; 4]);
            (read, card.write(BAR2_REGION, 0, &[0; 8]))
        };
        assert_eq!(accesses(), (Err(Errno::IO), Err(Errno::IO)), "as at power-up");
        card.write(region::CONFIG, 4, &[2, 0]).unwrap();
        assert_eq!(accesses(), (Ok(()), Ok(())));
        card.write(region::CONFIG, 4, &[4, 0]).unwrap();
        assert_eq!(accesses(), (Err(Errno::IO), Err(Errno::IO)));
        // Once more changes nothing.
        card.write(region::CONFIG, 4, &[6]).unwrap();
        card.write(region::CONFIG, 4, &[2]).unwrap();
        drop(card);
        let told: Vec<&str> = orders.iter().collect();
        assert_eq!(told, ["access", "access", "may do DMA", "may not"]);
    }

    #[test]
    fn requests_beyond_a_budget_are_told_of_once_and_counted_for_each_client() {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let teller = Arc::clone(&told);
        let report: Report = Arc::new(move |line| teller.lock().unwrap().push(line.to_owned()));
        // Nobody simulates: that a client has gone is told all the same.
        let orders = Orders::new(1).0.remove(0);
        let card = CardFunction::new(0, orders, &Arc::new(Clients::new(1)), 4, &report);
        for _ in 0..3 {
            card.refused(Beyond::Files);
        }
        card.detach(&Ending::Left);
        card.detach(&Ending::Left);
        let expected = [
            "card0: its process may not show it memory of more than 64 files",
            "card0: 3 requests beyond its budget were refused in all",
            "card0: the process has left",
            "card0: the process has left",
        ];
        assert_eq!(*told.lock().unwrap(), expected);
    }

    #[test]
    fn a_function_that_is_reset_by_its_capability_is_as_at_power_up() {
        let (card, orders) = card();
        card.write(region::CONFIG, 4, &[6, 0]).unwrap();
        card.write(BAR4_REGION, 0, &[7; 16]).unwrap();
        card.write(region::CONFIG, 0x58, &0x8000_u16.to_le_bytes()).unwrap();
        let (mut command, mut vector) = ([0xff; 2], [0xff; 16]);
        card.read(region::CONFIG, 4, &mut command).unwrap();
        card.read(BAR4_REGION, 0, &mut vector).unwrap();
        assert_eq!((command, vector), ([0; 2], [0; 16]));
        assert_eq!(card.read(region::BAR0, 8, &mut [0; 4]), Err(Errno::IO));
        drop(card);
        assert_eq!(orders.iter().collect::<Vec<_>>(), ["may do DMA", "reset"]);
    }
}
