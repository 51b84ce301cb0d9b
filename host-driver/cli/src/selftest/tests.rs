//! The test tests: a card in order passes, and one that is not does not.

use std::time::Duration;

use stroma_sim::link::LinkConfig;
use stroma_sim::{Shared, SimBackend, World};
use stroma_top::Profile;
use stroma_verilate::Options;

use super::*;

fn shared() -> Arc<Shared> {
    Shared::new(World::new(Profile::TenGig, 1, &Options::default()).unwrap())
}

#[test]
fn a_card_in_order_passes_every_step() {
    let backend: Arc<dyn Backend> = Arc::new(SimBackend::new(&shared(), 0));
    let mut lines = Vec::new();
    test(&backend, &steps(false), &mut |line| lines.push(line)).unwrap();
    assert_eq!(lines.len(), STEPS.len(), "{lines:#?}");
    for (line, (name, _)) in lines.iter().zip(STEPS) {
        assert!(line.starts_with("ok    ") && line.contains(name), "{line}");
    }
    assert!(lines[6].contains("walks a list of 8"), "{lines:#?}");
}

/// Part of the memory is taken from the card behind the driver's back: the step that needs it fails, and is the last.
#[test]
fn a_card_that_cannot_reach_memory_fails_at_that_step() {
    let shared = shared();
    let backend: Arc<dyn Backend> = Arc::new(SimBackend::new(&shared, 0));
    let device = Device::builder().timeout(PATIENCE).open(backend).unwrap();
    let bench = Bench::new(&device, Duration::from_secs(1)).unwrap();
    let dma = STEPS.iter().position(|(name, _)| *name == "dma").unwrap();
    STEPS[dma].1(&bench).unwrap();
    shared.world().card(0).iommu().unmap_between(0, u64::MAX).unwrap();
    let error = STEPS[dma].1(&bench).unwrap_err().to_string();
    assert!(error.contains("request 1"), "{error}");
}

/// What the step says of a card, with a loopback module in its port or without.
fn wire(is_plugged: bool) -> Outcome {
    let mut world = World::new(Profile::TenGig, 1, &Options::default()).unwrap();
    if is_plugged {
        world.loopback(0, LinkConfig::cable(Profile::TenGig));
    }
    let backend: Arc<dyn Backend> = Arc::new(SimBackend::new(&Shared::new(world), 0));
    let device = Device::builder().timeout(PATIENCE).open(backend).unwrap();
    let bench = Bench::new(&device, Duration::from_secs(if is_plugged { 60 } else { 1 })).unwrap();
    WIRE.1(&bench)
}

#[test]
fn a_loopback_module_brings_frames_back_and_nothing_else_does() {
    assert_eq!(wire(true).unwrap(), "32 datagrams of up to 4096 bytes, out and in again");
    let error = wire(false).unwrap_err().to_string();
    assert!(error.starts_with("1 bytes that were sent: request 8: no completion"), "{error}");
    assert_eq!(steps(true).len(), STEPS.len() + 1);
}
