//! How lines carry frames.

use serde::{Deserialize, Serialize};
use stroma_sim::link::LinkConfig;
use stroma_top::Profile;

use crate::Error;

/// What differs from a cable of the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LinkPlan {
    /// Bits of the wire in a microsecond.
    #[arg(long, value_name = "MB/S")]
    pub megabits: Option<u32>,
    /// From the last bit's departure to its arrival, in nanoseconds.
    #[arg(long, value_name = "NS")]
    pub delay_ns: Option<u32>,
    /// Bytes of frames that may wait for a line; a frame that does not fit is dropped.
    #[arg(long, value_name = "BYTES")]
    pub queue_bytes: Option<usize>,
    /// A frame that finds at least so many bytes waiting gets an ECN mark.
    #[arg(long, value_name = "BYTES")]
    pub mark_bytes: Option<usize>,
    /// Does a sender stop when the far end sends a pause frame?
    #[arg(long, value_name = "YES", num_args = 0..=1, default_missing_value = "true")]
    pub honours_pause: Option<bool>,
}

/// The longest delay: a frame is under way for a second.
const DELAY_NS_MAX: u32 = 1_000_000_000;

impl LinkPlan {
    /// With what another says instead.
    #[must_use]
    pub(crate) fn but(self, other: Self) -> Self {
        Self {
            megabits: other.megabits.or(self.megabits),
            delay_ns: other.delay_ns.or(self.delay_ns),
            queue_bytes: other.queue_bytes.or(self.queue_bytes),
            mark_bytes: other.mark_bytes.or(self.mark_bytes),
            honours_pause: other.honours_pause.or(self.honours_pause),
        }
    }

    pub(super) fn config(self, profile: Profile) -> Result<LinkConfig, Error> {
        let cable = LinkConfig::cable(profile);
        let megabits = self.megabits.unwrap_or(cable.megabits);
        let delay_ns = self.delay_ns.unwrap_or(cable.delay_ns);
        // No line is faster than the port that it is plugged into.
        if !(1..=cable.megabits).contains(&megabits) {
            let limits = format!("1 to {}, which is what the card of this profile has", cable.megabits);
            return Err(Error::Value { name: "megabits", value: megabits.into(), limits });
        }
        if delay_ns > DELAY_NS_MAX {
            let limits = format!("{DELAY_NS_MAX} at most");
            return Err(Error::Value { name: "delay-ns", value: delay_ns.into(), limits });
        }
        Ok(LinkConfig {
            megabits,
            delay_ns,
            queue_bytes: self.queue_bytes.unwrap_or(cable.queue_bytes),
            mark_bytes: self.mark_bytes,
            honours_pause: self.honours_pause.unwrap_or(cable.honours_pause),
        })
    }
}
