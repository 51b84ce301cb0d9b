//! Lesson 2: a local copy.
//!
//! *Hardware idea*: the card writes in one order. The entry that tells of a copy is accepted behind the last byte of the
//! copy, so whoever finds the entry finds the bytes, and nobody has to ask the card.
//! *Software idea*: the driver knows a [`Backend`], not a card. Registers, memory and interrupts of a simulated card or of
//! a board in a slot look the same to it; this program changes one line to run on the other.
//!
//! `cargo run -p stroma-sim --example 02_local_copy`

use std::error::Error;
use std::sync::Arc;

use stroma_device::Backend;
use stroma_sim::{Shared, SimBackend, World};
use stroma_top::Profile;
use stroma_verbs::{Access, Device, WorkCompletion};
use stroma_verilate::Options;

const PIECES: [&[u8]; 3] = [b"what lies apart ", b"in memory ", b"is gathered"];
/// Pieces lie on pages of their own; the copy goes behind them.
const PAGE: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let profile = Profile::HundredGig;
    let world = Shared::new(World::new(profile, 1, &Options::default())?);
    let backend: Arc<dyn Backend> = Arc::new(SimBackend::new(&world, 0));
    let now = || world.world().now();

    // What a copy needs: memory with a key, and a queue pair with a place for its completions.
    let device = Device::open(backend)?;
    let domain = device.protection_domain()?;
    let memory = domain.allocate((PIECES.len() + 1) * PAGE, Access::LOCAL_WRITE)?;
    let completions = device.completion_queue(16)?;
    let queue_pair = domain.queue_pair(&completions).build()?;
    queue_pair.activate()?;
    println!("ready          {:5} cycles", now());

    let mut pieces = Vec::new();
    for (page, text) in PIECES.iter().enumerate() {
        memory.write(page * PAGE, text)?;
        pieces.push(memory.piece(page * PAGE, text.len())?);
    }
    let target = PIECES.len() * PAGE;
    // The card fetches a request that a doorbell announces; a push carries the request itself, and saves the round trip.
    for push in [false, true] {
        let started = now();
        let batch = queue_pair.start().push(push).wr_id(2).signaled();
        batch.gather(&pieces, memory.address(target)?, memory.lkey()).post()?;
        let mut found = [WorkCompletion::default()];
        while completions.poll(&mut found)? == 0 {}

        let mut copy = vec![0; usize::try_from(found[0].length)?];
        memory.read(target, &mut copy)?;
        let cycles = now() - started;
        let way = if push { "push" } else { "doorbell" };
        let nanoseconds = cycles * 1_000_000 / u64::from(profile.clock_khz());
        println!("by {way:8}    {cycles:5} cycles, {nanoseconds} ns, {:?}", found[0].status);
        println!("               {:?}", String::from_utf8_lossy(&copy));
    }
    Ok(())
}
