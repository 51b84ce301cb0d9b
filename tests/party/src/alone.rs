//! What a program does with its own card: registers, rings, copies within its memory, memory that was taken away, a reset.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use stroma_abi::regs::map::{identity, port};
use stroma_device::{Backend, BarId, Card, Iova};
use stroma_verbs::{Access, AsyncEvent, Device, MemoryRegion, ProtectionDomain, QueuePair, Sge, Status};

use crate::client::next;
use crate::{PATIENCE, pattern};

/// Units of a send queue that is to run over often, and entries of its completion queue.
const SMALL_RING: usize = 16;
/// Bytes of a page.
const PAGE: usize = 4096;
/// A copy's bytes, where they come from, where they go to: neither begins nor ends with a page. And the memory that has both.
const COPIED: usize = 5 * PAGE + 77;
const SOURCE_AT: usize = PAGE - 255;
const TARGET_AT: usize = 9 * PAGE - 11;
const COPIES: usize = 16 * PAGE;

const _: () = assert!(SOURCE_AT + COPIED < TARGET_AT && TARGET_AT + COPIED < COPIES, "bytes lie beside each");

/// A value of the port's MAC address that no card begins with.
const MARK: u64 = 0x0000_1234_5678_9abc;

/// Magic, version and the port's MAC address as their registers read, in accesses of 32 and of 64 bits.
///
/// # Errors
/// When the card cannot be reached.
pub fn registers(card: &Card) -> Result<String> {
    let read = |reg| card.backend().read32(BarId::Bar0, identity::BLOCK.address(reg));
    let (magic, abi) = (read(&identity::MAGIC)?, read(&identity::ABI)?);
    let mac = card.backend().read64(BarId::Bar0, port::BLOCK.address(&port::MAC))?;
    Ok(format!("{magic:#010x} {abi:#010x} {mac:#x}"))
}

/// Has `count` requests that do nothing go through small rings, a few at a time; all of them come back, in order.
///
/// # Errors
/// When one does not.
pub fn rings(device: &Arc<Device>, count: u64) -> Result<()> {
    let completions = device.completion_queue(SMALL_RING)?;
    let queue = device.protection_domain()?.queue_pair(&completions).send_units(SMALL_RING).build()?;
    queue.activate()?;
    let mut done = 0;
    // A different number each time, so that the rings' ends are met at every place of a group.
    for group in (1..=5).cycle() {
        let end = (done + group).min(count);
        for number in done..end {
            queue.start().wr_id(number).signaled().nop().post()?;
        }
        for number in done..end {
            let found = next(&completions)?;
            ensure!((found.wr_id, found.status) == (number, Status::Success), "request {number}: {found:?}");
        }
        done = end;
        if done == count {
            break;
        }
    }
    Ok(())
}

/// A queue pair for copies within the card's own host, its domain, and memory.
fn desk(device: &Arc<Device>, len: usize) -> Result<(QueuePair, MemoryRegion)> {
    let domain = device.protection_domain()?;
    let queue = domain.queue_pair(&device.completion_queue(SMALL_RING)?).build()?;
    queue.activate()?;
    Ok((queue, domain.allocate(len, Access::LOCAL_WRITE)?))
}

fn copy(queue: &QueuePair, from: Sge, to: &MemoryRegion, at: usize) -> Result<Status> {
    queue.start().wr_id(1).signaled().gather(&[from], to.address(at)?, to.lkey()).post()?;
    Ok(next(queue.send_cq())?.status)
}

/// Has the card read memory of this program and write it elsewhere, over the ends of pages; how many pages it read.
///
/// # Errors
/// When a byte is not as it should be: of the copy, beside it, or of the original.
pub fn copies(device: &Arc<Device>) -> Result<usize> {
    let (queue, memory) = desk(device, COPIES)?;
    let before = pattern(21, memory.len());
    memory.write(0, &before)?;
    let status = copy(&queue, memory.piece(SOURCE_AT, COPIED)?, &memory, TARGET_AT)?;
    ensure!(status == Status::Success, "a copy within the memory: {status:?}");
    let mut expected = before;
    expected.copy_within(SOURCE_AT..SOURCE_AT + COPIED, TARGET_AT);
    let mut found = vec![0; memory.len()];
    memory.read(0, &mut found)?;
    if let Some(at) = (0..found.len()).find(|at| found[*at] != expected[*at]) {
        bail!("byte {at:#x} is {:#04x}, expected {:#04x}", found[at], expected[at]);
    }
    Ok((SOURCE_AT + COPIED).div_ceil(PAGE) - SOURCE_AT / PAGE)
}

/// Memory with a key, of which the card knows where it is, and which it can no longer reach there: the IOMMU was told. And where.
///
/// # Errors
/// When it cannot be had, or not be taken away.
pub fn orphan(domain: &Arc<ProtectionDomain>) -> Result<(MemoryRegion, u64)> {
    let memory = domain.allocate(2 * PAGE, Access::LOCAL_WRITE)?;
    let number = memory.lkey() >> u8::BITS;
    let regions = domain.device().dump()?.regions;
    let iova = regions.iter().find(|region| region.number == number).map(|region| region.body.list);
    let iova = iova.with_context(|| format!("the card does not know region {number}"))?;
    domain.device().card().backend().unmap(Iova(iova))?;
    Ok((memory, iova))
}

/// Has the card write to memory that it can no longer reach; where that was, once the card has told that it could not.
///
/// # Errors
/// When it tells nothing, or something else.
pub fn stray_write(device: &Arc<Device>) -> Result<u64> {
    let (queue, source) = desk(device, PAGE)?;
    let (target, iova) = orphan(queue.domain())?;
    // Writes are posted: the copy may complete before the card hears what became of them.
    copy(&queue, source.piece(0, PAGE)?, &target, 0)?;
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        // That the queue pair is in error is told as well.
        if let Some(AsyncEvent::CardError { address }) = device.wait_async_event(PATIENCE)? {
            ensure!(address == iova, "the card tells of {address:#x}, and {iova:#x} was taken away");
            return Ok(iova);
        }
    }
    bail!("the card told of no error for {PATIENCE:?}")
}

/// Resets the whole function, and sees that it forgets what a register was told.
///
/// # Errors
/// When it cannot be reset, does not get ready, or remembers.
pub fn reset(backend: &Arc<dyn Backend>) -> Result<()> {
    let card = Card::open(Arc::clone(backend), PATIENCE)?;
    let mac = || card.read(&port::BLOCK, &port::MAC);
    card.write(&port::BLOCK, &port::MAC, MARK)?;
    ensure!(mac()? == MARK, "the port's MAC address cannot be set: it reads {:#x}", mac()?);
    card.reset_function(PATIENCE)?;
    ensure!(mac()? != MARK, "the port's MAC address outlived a reset of the function");
    Ok(())
}
