//! What goes wrong on lines.

use serde::{Deserialize, Serialize};
use stroma_sim::link::{Chance, Faults};

use crate::Error;

/// What goes wrong on the line that leaves each station: by chance, or by rules in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct FaultPlan {
    /// Part of the frames that are lost, from 0 to 1.
    #[arg(long, value_name = "PART")]
    pub loss: Option<f64>,
    /// Part of the frames that arrive twice.
    #[arg(long, value_name = "PART")]
    pub duplication: Option<f64>,
    /// Part of the frames that are overtaken by the next.
    #[arg(long, value_name = "PART")]
    pub reordering: Option<f64>,
    /// Part of the frames in which a bit is flipped.
    #[arg(long, value_name = "PART")]
    pub corruption: Option<f64>,
    /// Part of those that the FCS does not tell of.
    #[arg(long, value_name = "PART")]
    pub undetected: Option<f64>,
    /// A rule in words, such as "drop the 2nd READ response"; several may be given.
    #[arg(long = "rule", value_name = "RULE")]
    pub rules: Vec<String>,
}

impl FaultPlan {
    /// With what another says instead; its rules come behind.
    #[must_use]
    pub(crate) fn but(self, other: Self) -> Self {
        Self {
            loss: other.loss.or(self.loss),
            duplication: other.duplication.or(self.duplication),
            reordering: other.reordering.or(self.reordering),
            corruption: other.corruption.or(self.corruption),
            undetected: other.undetected.or(self.undetected),
            rules: [self.rules, other.rules].concat(),
        }
    }

    /// Faults of the line that leaves a station: chance is another on each.
    pub(super) fn faults(&self, seed: u64, station: usize) -> Result<Faults, Error> {
        Ok(Faults {
            seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(station as u64),
            loss: chance("loss", self.loss)?,
            duplication: chance("duplication", self.duplication)?,
            reordering: chance("reordering", self.reordering)?,
            corruption: chance("corruption", self.corruption)?,
            undetected: chance("undetected", self.undetected)?,
            rules: self.rules.join("\n").parse().map_err(Error::Rule)?,
            ..Faults::default()
        })
    }
}

/// A part as a chance, to a millionth.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 10^6")]
fn chance(name: &'static str, part: Option<f64>) -> Result<Chance, Error> {
    match part {
        None => Ok(Chance::NEVER),
        Some(part) if (0.0..=1.0).contains(&part) => Ok(Chance::per_million((part * 1e6).round() as u32)),
        Some(part) => Err(Error::Value { name, value: part, limits: "from 0 to 1".to_owned() }),
    }
}
