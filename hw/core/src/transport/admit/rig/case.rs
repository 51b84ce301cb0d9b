//! What goes in, and what comes out.

use rust_hdl::prelude::*;
use stroma_abi::desc::{Status, WorkOp};
use stroma_abi::wire::RpcTarget;
use stroma_verilate::SplitMix64;

use crate::host::work::Work;
use crate::testing::noise;
use crate::transport::admit::model::{Outcome, has_units, is_call};
use crate::transport::records::{Alarm, KeyJob, Message, Nudge, Occasion, Progress, Sent, SentRow};

/// A work and its units.
#[derive(Clone, Debug)]
pub(in crate::transport::admit) struct Case {
    pub(in crate::transport::admit) work: Work,
    pub(in crate::transport::admit) units: Vec<Bits<512>>,
}

impl Case {
    /// A request of so many bytes, in one unit; all else is as good as any.
    pub(in crate::transport::admit) fn new(op: WorkOp, qpn: u64, index: u64, length: u64) -> Self {
        let mut rng = SplitMix64::new(qpn << 32 | index << 8 | op as u64);
        let work = Work {
            ends: false,
            qpn: qpn.into(),
            index: (index & 0xffff).into(),
            status: 0.into(),
            vendor: 0.into(),
            opcode: (op as u64).into(),
            units: 1.into(),
            length: length.into(),
            path_mtu: 3.into(),
            send_psn: 0xff_fff0_u64.into(),
            reads_out: 4.into(),
            fence: false,
            drains: false,
            ..noise(&mut rng)
        };
        let case = Self { work, units: vec![noise(&mut rng)] }.fit();
        let longest = u32::try_from(rng.below(3000)).expect("small");
        if is_call(&case.work) { case.answered(longest) } else { case }
    }

    /// An RPC whose answer has so many bytes at most.
    pub(in crate::transport::admit) fn answered(self, response_max: u32) -> Self {
        self.with(|work| {
            let target = RpcTarget::from_address(work.remote.into());
            work.remote = RpcTarget { response_max, ..target }.to_address().into();
        })
    }

    /// With units of its own if it has any.
    pub(in crate::transport::admit) fn fit(mut self) -> Self {
        let count = if has_units(&self.work) { self.work.units.index() } else { 0 };
        let first = self.units.first().copied().unwrap_or_default();
        let more = |place: usize| noise(&mut SplitMix64::new(u64::from(self.work.index) << 8 | place as u64));
        self.units = (0..count).map(|place| if place == 0 { first } else { more(place) }).collect();
        self
    }

    pub(in crate::transport::admit) fn with(mut self, change: impl FnOnce(&mut Work)) -> Self {
        change(&mut self.work);
        self.fit()
    }

    pub(in crate::transport::admit) fn status(self, status: Status) -> Self {
        self.with(|work| work.status = (status as u64).into())
    }

    /// The end of a job; `index` is the one behind it.
    pub(in crate::transport::admit) fn end(qpn: u64, index: u64) -> Self {
        Self::new(WorkOp::Nop, qpn, index, 0).with(|work| {
            work.ends = true;
            work.opcode = 0.into();
            work.units = 0.into();
        })
    }
}

/// What came out, or should have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::transport::admit) struct Seen {
    pub(in crate::transport::admit) local: Vec<Work>,
    pub(in crate::transport::admit) local_units: Vec<Bits<512>>,
    pub(in crate::transport::admit) key: Vec<KeyJob>,
    pub(in crate::transport::admit) message: Vec<Message>,
    pub(in crate::transport::admit) message_units: Vec<Bits<512>>,
    pub(in crate::transport::admit) progress: Vec<Progress>,
    pub(in crate::transport::admit) failures: Vec<Nudge>,
    pub(in crate::transport::admit) flushes: Vec<Nudge>,
    pub(in crate::transport::admit) alarm: Vec<Alarm>,
    pub(in crate::transport::admit) sent: Vec<(u64, SentRow)>,
    pub(in crate::transport::admit) entries: Vec<(u64, Sent)>,
    pub(in crate::transport::admit) epochs: Vec<(u64, u64)>,
    pub(in crate::transport::admit) read_waits: u64,
}

impl Seen {
    pub(super) fn add(&mut self, outcome: &Outcome, units: &[Bits<512>]) {
        if let Some((work, goes)) = outcome.local {
            self.local.push(work);
            self.local_units.extend(units.iter().filter(|_| goes));
        }
        self.key.extend(outcome.key);
        self.message_units.extend(units.iter().filter(|_| outcome.message.is_some()));
        self.message.extend(outcome.message);
        self.progress.extend(outcome.progress);
        if let Some(nudge) = outcome.nudge {
            self.nudge(nudge);
        }
        self.alarm.extend(outcome.alarm);
        self.sent.extend(outcome.sent);
        self.entries.extend(outcome.entry);
        self.epochs.extend(outcome.epoch);
        self.read_waits += u64::from(outcome.read_waits);
    }

    pub(super) fn nudge(&mut self, nudge: Nudge) {
        if u64::from(nudge.occasion) == Occasion::Failure as u64 {
            self.failures.push(nudge);
        } else {
            self.flushes.push(nudge);
        }
    }
}
