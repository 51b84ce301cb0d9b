//! Where kernels are measured.

use std::ops::Deref;

use stroma_tests::calls::Calls;
use stroma_top::Profile;

/// What is measured.
pub(crate) const PROFILE: Profile = Profile::HundredGig;

/// Two cards, a connection, and a clock.
pub(crate) struct Stage(Calls);

impl Deref for Stage {
    type Target = Calls;

    fn deref(&self) -> &Calls {
        &self.0
    }
}

impl Stage {
    /// With so many bytes at each end.
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Calls::new(PROFILE, bytes, |_| {}))
    }

    /// Lets the host's processor work for so many nanoseconds.
    pub(crate) fn think(&self, nanoseconds: u64) {
        self.pair.run(nanoseconds * u64::from(PROFILE.clock_khz()) / 1_000_000);
    }
}

/// Microseconds that cycles take.
pub(crate) fn microseconds(cycles: u64) -> f64 {
    crate::host::seconds(cycles) * 1e6
}
