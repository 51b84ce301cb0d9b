//! The stories of the verbs crate, told by the driver to the Verilated card: the same calls, on registers, rings and
//! memory that RTL answers for.

use std::sync::Arc;

use stroma_device::Backend;
use stroma_sim::{Shared, SimBackend, World};
use stroma_top::Profile;
use stroma_verilate::Options;

/// A card that nobody else uses.
fn card(profile: Profile) -> Arc<dyn Backend> {
    let options = Options { seed: 7, ..Options::default() };
    let world = World::new(profile, 1, &options).unwrap_or_else(|error| panic!("{error}"));
    Arc::new(SimBackend::new(&Shared::new(world), 0))
}

/// On the card for 10 Gbit/s.
mod ten_gig {
    stroma_verbs::scenarios!(crate::card(stroma_top::Profile::TenGig));
}

/// On the card for 100 Gbit/s.
mod hundred_gig {
    stroma_verbs::scenarios!(crate::card(stroma_top::Profile::HundredGig));
}
