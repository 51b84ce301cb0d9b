//! The card behind the scheduler: takes jobs, says how they get on, retires them, and holds what comes out against the model.

use rust_hdl::prelude::Bits;

use super::{Rig, Running};
use crate::host::dma_read::ReadCommand;
use crate::host::work::Job;
use crate::testing::{collect, read};
use crate::transport::records::Progress;

impl Rig {
    /// Counts what has ended, and holds `drained` against it.
    pub(super) fn turn_colours(&mut self, retired: Option<&Job>) {
        if let Some(job) = retired {
            self.unretired[usize::from(job.colour)] -= 1;
        }
        if std::mem::take(&mut self.drain) {
            assert!(!self.is_draining, "one drain at a time");
            self.colour = !self.colour;
            self.is_draining = true;
            self.counts.drains += 1;
        }
        let old = usize::from(!self.colour);
        let is_under = self.under.is_some_and(|under| under.colour != self.colour);
        let is_drained = self.is_draining && self.unretired[old] == 0 && !is_under;
        assert_eq!(read::<bool>(&self.bench, "drained"), is_drained, "drained");
        self.is_draining &= !is_drained;
    }

    /// Takes what came out, and lets the card go on with its jobs.
    pub(super) fn receive(&mut self, cycle: u64) {
        for command in collect::<ReadCommand>(&mut self.bench, self.read) {
            assert_eq!(Some(command), self.awaited_reads.pop_front(), "reads");
        }
        for unit in collect::<Bits<512>>(&mut self.bench, self.pushed) {
            assert_eq!(Some(unit), self.awaited_units.pop_front(), "units");
        }
        for job in collect::<Job>(&mut self.bench, self.job) {
            assert_eq!(Some(job), self.awaited_jobs.pop_front(), "jobs");
            self.jobs.push((cycle, job));
            let mut wait = || 1 + self.rng.below(self.latency);
            let first = cycle + wait();
            self.running.push_back(Running { job, due: [first, first + wait()], has_ended: false });
        }
        if self.is_stuck {
            return;
        }
        // Both progress and ends come in the order of the jobs.
        let sent = self.progresses.iter().filter(|progress| !progress.rewinds).count()
            + self.running.iter().filter(|running| running.has_ended).count();
        if let Some(job) = self.running.get(sent).filter(|next| next.due[0] <= cycle).map(|next| next.job) {
            let progress = self.progress_of(&job);
            self.advance(progress);
        }
        if self.running.front().is_some_and(|first| first.has_ended && first.due[1] <= cycle) {
            self.retiring.extend(self.running.pop_front().map(|running| running.job));
        }
    }

    /// How a job gets on: it is carried out if it begins with the WQE that goes next, and otherwise passed over.
    fn progress_of(&mut self, job: &Job) -> Progress {
        let most = u64::from(job.units);
        let odds = if self.is_eager { 16 } else { 4 };
        let mut units = match self.rng.below(odds) {
            _ if job.pushed || job.flush => most,
            _ if !self.is_partial => (most - most % self.grain).min(self.quantum),
            0 => 1 + self.rng.below(most),
            1 => most - self.rng.below(most.min(8)),
            _ => most,
        };
        let mut blocked = false;
        if self.is_partial && !job.flush && self.rng.below(odds) == 0 {
            (units, blocked) = (self.rng.below(most + 1), true);
        }
        if let Some(after) = self.block_after.take() {
            (units, blocked) = (after, true);
        }
        let cursor = &mut self.cursors[job.qpn.index()];
        if u64::from(*cursor) == u64::from(job.index) {
            *cursor = cursor.wrapping_add(u16::try_from(units).expect("units of a job"));
        } else {
            units = 0;
        }
        let bytes = if self.is_partial { self.rng.below(1 << 13) } else { units * self.unit_bytes };
        let next_index = Bits::from(u64::from(*cursor));
        Progress { qpn: job.qpn, next_index, rewinds: false, blocked, bytes: bytes.into() }
    }
}
