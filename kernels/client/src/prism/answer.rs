//! Answers to chains.

use std::ops::Range;

use stroma_abi::kernel::prism::{LINE, OPERATIONS_MAX, Outcome, REPORTS_LEN, Report, Stage};
use thiserror::Error;

/// Bytes that are no answer of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{length} bytes are no answer of `prism`")]
pub struct NoAnswer {
    /// How many there are.
    pub length: usize,
}

/// What came of a chain whose status is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    reports: [Report; OPERATIONS_MAX],
    places: [Range<usize>; OPERATIONS_MAX],
    bytes: Vec<u8>,
}

impl Answer {
    /// Takes an answer apart.
    ///
    /// # Errors
    /// When its lengths or codes are not those of an answer.
    pub fn parse(bytes: &[u8]) -> Result<Self, NoAnswer> {
        let wrong = NoAnswer { length: bytes.len() };
        let mut reports = [Report::default(); OPERATIONS_MAX];
        let mut places: [Range<usize>; OPERATIONS_MAX] = std::array::from_fn(|_| 0..0);
        let mut at = REPORTS_LEN;
        for (number, (report, place)) in reports.iter_mut().zip(&mut places).enumerate() {
            let bytes = bytes.get(number * Report::LEN..).ok_or(wrong)?;
            *report = Report::parse(bytes).ok_or(wrong)?;
            Outcome::from_code(report.outcome).ok_or(wrong)?;
            Stage::from_code(report.stage).ok_or(wrong)?;
            if report.answered {
                *place = at..at + report.length as usize;
                at = place.end.next_multiple_of(LINE);
            }
        }
        if bytes.len() == at { Ok(Self { reports, places, bytes: bytes.to_vec() }) } else { Err(wrong) }
    }

    /// How step `step` of the chain ended.
    #[must_use]
    pub fn outcome(&self, step: usize) -> Outcome {
        self.reports
            .get(step)
            .and_then(|report| Outcome::from_code(report.outcome))
            .unwrap_or(Outcome::NotReached)
    }

    /// All that is told of it.
    #[must_use]
    pub fn report(&self, step: usize) -> Option<&Report> {
        self.reports.get(step)
    }

    /// The bytes it read, or found in the place of a compare-and-swap; none if it did not come so far, or they went elsewhere.
    #[must_use]
    pub fn data(&self, step: usize) -> &[u8] {
        self.places.get(step).map_or(&[], |place| &self.bytes[place.clone()])
    }

    /// Are the first `steps` all done?
    #[must_use]
    pub fn is_done(&self, steps: usize) -> bool {
        (0..steps).all(|step| self.outcome(step) == Outcome::Done)
    }
}
