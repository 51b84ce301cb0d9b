//! A kernel that does as it is told, right or wrong.

use std::collections::VecDeque;

use stroma_verilate::SplitMix64;

use crate::slot::{SlotCommand, SlotRead, SlotResponse};
use crate::stream::Beat;

/// What a kernel does with an invocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan<const D: usize> {
    /// Reads and writes: under its own ticket, or another.
    pub(crate) reads: Vec<SlotRead>,
    pub(crate) writes: Vec<SlotRead>,
    /// Beats of its answer.
    pub(crate) beats: Vec<Beat<D>>,
    /// None: it never answers.
    pub(crate) responses: Vec<SlotResponse>,
    /// It answers before it has all its data, or before its reads and writes have come back.
    pub(crate) skips_data: bool,
    pub(crate) is_hasty: bool,
    /// It takes no data.
    pub(crate) is_deaf: bool,
}

struct Job<const D: usize> {
    plan: Plan<D>,
    data_left: usize,
    owed: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Out<const D: usize> {
    Beat(Beat<D>),
    Response(SlotResponse),
}

pub(crate) struct Kernel<const D: usize> {
    jobs: VecDeque<(u64, Job<D>)>,
    next_number: u64,
    feeding: VecDeque<(u64, usize, bool)>,
    pub(crate) reads: VecDeque<(u64, SlotRead)>,
    pub(crate) writes: VecDeque<(u64, SlotRead)>,
    pub(crate) out: VecDeque<Out<D>>,
    /// It takes no commands.
    pub(crate) is_dull: bool,
}

impl<const D: usize> Kernel<D> {
    pub(crate) fn new() -> Self {
        Self {
            jobs: VecDeque::new(),

            next_number: 0,
            feeding: VecDeque::new(),
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            out: VecDeque::new(),
            is_dull: false,
        }
    }

    /// Forgets everything.
    pub(crate) fn reset(&mut self) {
        *self = Self { is_dull: self.is_dull, ..Self::new() };
    }

    pub(crate) fn command(&mut self, command: &SlotCommand, plan: Plan<D>) {
        let number = self.next_number;
        self.next_number += 1;
        let data_left = command.request_len.index() - 4 * command.parameter_words.index();
        if data_left > 0 {
            self.feeding.push_back((number, data_left, plan.is_deaf));
        }
        self.reads.extend(plan.reads.iter().map(|ask| (number, *ask)));
        self.writes.extend(plan.writes.iter().map(|ask| (number, *ask)));
        let owed = plan.reads.len() + plan.writes.len();
        self.jobs.push_back((number, Job { plan, data_left, owed }));
        self.go_on();
    }

    pub(crate) fn takes_data(&self) -> bool {
        !self.feeding.front().is_some_and(|(_, _, is_deaf)| *is_deaf)
    }

    pub(crate) fn data(&mut self, count: usize) {
        let (number, left, _) = self.feeding.front_mut().expect("data is awaited");
        *left -= count;
        let (number, is_over) = (*number, *left == 0);
        if is_over {
            self.feeding.pop_front();
            if let Some((_, job)) = self.jobs.iter_mut().find(|(of, _)| *of == number) {
                job.data_left = 0;
            }
        }
        self.go_on();
    }

    /// A read or write of a job has come back.
    pub(crate) fn come_back(&mut self, number: u64) {
        if let Some((_, job)) = self.jobs.iter_mut().find(|(of, _)| *of == number) {
            job.owed -= 1;
        }
        self.go_on();
    }

    /// Answers what can be answered.
    pub(crate) fn go_on(&mut self) {
        while let Some((number, job)) = self.jobs.front() {
            let has_data = job.data_left == 0 || job.plan.skips_data;
            let asked = |asks: &VecDeque<(u64, SlotRead)>| asks.iter().all(|(of, _)| of != number);
            let has_asked = asked(&self.reads) && asked(&self.writes);
            let is_back = job.owed == 0 || (job.plan.is_hasty && has_asked);
            if job.plan.responses.is_empty() || !has_data || !is_back {
                return;
            }
            let (_, job) = self.jobs.pop_front().expect("it is there");
            self.out.extend(job.plan.beats.into_iter().map(Out::Beat));
            self.out.extend(job.plan.responses.into_iter().map(Out::Response));
        }
    }
}

/// Some bytes.
pub(crate) fn noise_bytes(rng: &mut SplitMix64, count: usize) -> Vec<u8> {
    (0..count).map(|_| rng.next_u64().to_le_bytes()[0]).collect()
}
