//! A card tests itself: the same steps on a board and on a simulated card.

mod bench;
mod steps;
mod wire;

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use stroma_device::Backend;
use stroma_verbs::Device;

use crate::card::{PATIENCE, Target};
use bench::Bench;
use steps::{STEPS, Step};
use wire::WIRE;

/// What a step has to say, or why it failed.
pub(crate) type Outcome = Result<String, Box<dyn Error>>;

/// Tests a card, with a loopback module also its port; a line for each step.
pub(crate) fn run(card: &Target, loopback: bool) -> anyhow::Result<()> {
    test(&card.open()?, &steps(loopback), &mut |line| {
        // Nobody may be reading: the exit code tells.
        let _ = crate::out::line(&line);
    })
    .map_err(|error| anyhow::anyhow!("{error}"))
}

fn steps(loopback: bool) -> Vec<Step> {
    STEPS.into_iter().chain(loopback.then_some(WIRE)).collect()
}

/// The steps, one after the other, until one fails.
fn test(
    backend: &Arc<dyn Backend>,
    steps: &[Step],
    tell: &mut dyn FnMut(String),
) -> Result<(), Box<dyn Error>> {
    let device = Device::builder().timeout(PATIENCE).open(Arc::clone(backend))?;
    let bench = Bench::new(&device, PATIENCE)?;
    for (name, step) in steps {
        let started = Instant::now();
        match step(&bench) {
            Ok(says) => tell(format!("ok    {name:<12} {says} ({:.1} s)", started.elapsed().as_secs_f64())),
            Err(error) => {
                tell(format!("FAIL  {name:<12} {error}"));
                return Err(format!("{name}: the card is not in order, or its driver is not").into());
            }
        }
    }
    Ok(())
}

#[cfg(all(test, feature = "sim"))]
mod tests;
