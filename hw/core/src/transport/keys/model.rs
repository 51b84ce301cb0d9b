//! What is asked and told of a key, in plain Rust.

use stroma_abi::desc::{Status, WorkOp};

use crate::host::work::{Done, QpError};
use crate::state::command::{KeyVerb, KeyWork};
use crate::transport::records::{KeyJob, KeyedRow, Nudge, Occasion};

/// A work under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Item {
    Job(KeyJob),
    Part(KeyWork),
}

/// What is told of its end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Told {
    pub(super) error: Option<QpError>,
    pub(super) done: Option<Done>,
    pub(super) nudge: Option<Nudge>,
    /// Of a job: the row of this queue pair.
    pub(super) row: Option<(usize, KeyedRow)>,
}

impl Item {
    /// What its owner is asked.
    pub(super) fn work(&self) -> KeyWork {
        match *self {
            Self::Part(work) => work,
            Self::Job(KeyJob { verb, qpn, pd, key, region, base, length, rights, .. }) => {
                KeyWork { verb, qpn, pd, key, region, base, length, rights }
            }
        }
    }

    fn is_bind(&self) -> bool {
        u64::from(self.work().verb) == KeyVerb::Bind as u64
    }

    /// Does its end wait for what is under way?
    pub(super) fn settles(&self, cause: u64) -> bool {
        cause == 0 && !self.is_bind()
    }

    pub(super) fn told(&self, cause: u64) -> Told {
        match *self {
            Self::Part(KeyWork { qpn, .. }) => {
                let occasion = (Occasion::Parted as u64).into();
                let nudge = Nudge { occasion, qpn, status: cause.into(), ..Nudge::default() };
                Told { nudge: Some(nudge), ..Told::default() }
            }
            Self::Job(job) => {
                let status = (if cause == 0 { Status::Success } else { Status::WindowBind } as u64).into();
                let op = if self.is_bind() { WorkOp::Bind } else { WorkOp::Invalidate };
                let done = Done {
                    cq: job.cq,
                    qpn: job.qpn,
                    index: job.index,
                    opcode: (op as u64).into(),
                    status,
                    vendor: cause.into(),
                    ..Done::default()
                };
                Told {
                    error: (cause != 0).then_some(QpError { qpn: job.qpn, status, untold: false }),
                    done: (cause != 0 || job.signaled).then_some(done),
                    nudge: None,
                    row: Some((job.qpn.index(), KeyedRow { turn: job.turn, failed: cause != 0 })),
                }
            }
        }
    }
}

/// Ways on which memory is reached under a key: arrivals, atomics, answers, reads and writes of kernels.
pub(super) const WAYS: usize = 5;

/// What has passed on each of them, counted without end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ways {
    pub(super) entered: [u64; WAYS],
    pub(super) left: [u64; WAYS],
}

/// A wait for what was under way: all but atomics at its begin, and those when the arrivals are through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    entered: [u64; WAYS],
    atomics: Option<u64>,
}

impl Wait {
    pub(super) fn begin(ways: &Ways) -> Self {
        Self { entered: ways.entered, atomics: None }
    }

    /// A cycle is over; whether the wait may be.
    pub(super) fn look(&mut self, ways: &Ways) -> bool {
        if self.atomics.is_none() && ways.left[0] >= self.entered[0] {
            self.atomics = Some(ways.entered[1]);
        }
        let have_left = (2..WAYS).all(|way| ways.left[way] >= self.entered[way]);
        have_left && self.atomics.is_some_and(|atomics| ways.left[1] >= atomics)
    }
}
