//! What whoever runs kernels knows of a queue pair's RPCs: so tests tell of each what can be told.

use rust_hdl::prelude::Bits;
use stroma_verilate::SplitMix64;

use super::Rig;
use crate::testing::noise;
use crate::transport::records::{Answer, Task};
use crate::transport::respond::model::{mtu, psn};

/// An RPC.
#[derive(Clone, Copy, Debug)]
struct Call {
    /// Its `Result`.
    task: Task,
    length: u64,
    status: Bits<32>,
    /// Its answer was put into the staging, and into the result area.
    is_staged: bool,
    is_kept: bool,
    /// The peer has its End.
    is_over: bool,
}

/// The last 16 RPCs of a queue pair.
#[derive(Clone, Debug, Default)]
pub(in crate::transport::respond) struct Book {
    calls: [Option<Call>; 16],
    next: usize,
}

impl Book {
    /// The End with this status has been sent; no two RPCs have the same.
    pub(in crate::transport::respond) fn end(&mut self, status: u64) {
        let is_it = |call: &&mut Call| u64::from(call.status) == status;
        self.calls.iter_mut().flatten().filter(is_it).for_each(|call| call.is_over = true);
    }

    /// May there be another? A peer has 16 open at most.
    fn has_room(&self) -> bool {
        self.calls[self.next].is_none_or(|call| call.is_over)
    }
}

impl Call {
    fn new(task: &Task, rng: &mut SplitMix64, most: u64) -> Self {
        let mtu = mtu(task);
        let length = match rng.below(4) {
            0 => rng.below(2),
            1 => mtu * rng.below(4) + rng.below(2),
            _ => rng.below(6 * mtu),
        };
        let length = length.min(most);
        Self { task: *task, length, status: noise(rng), is_staged: false, is_kept: false, is_over: false }
    }

    /// What is told of it next: `answer`.
    fn tell(&self, answer: Answer, rng: &mut SplitMix64) -> Task {
        Task {
            answer: (answer as u64).into(),
            length: self.length.into(),
            status: self.status,
            staged: false,
            fresh: false,
            va: noise(rng),
            ..self.task
        }
    }
}

impl Rig {
    /// A task of an RPC of this queue pair.
    pub(in crate::transport::respond) fn any_call(&mut self, number: u64) -> Task {
        let index = usize::try_from(number).expect("small");
        let known: Vec<usize> = (0..16).filter(|place| self.books[index].calls[*place].is_some()).collect();
        if known.is_empty() || (self.rng.below(5) < 2 && self.books[index].has_room()) {
            return self.begin(number);
        }
        let any = known[usize::try_from(self.rng.below(known.len() as u64)).expect("small")];
        // More often the one whose turn it is.
        let head = self.model.owed[index].reads.front().filter(|read| read.is_call());
        let head = head.map(|read| read.task.place.index()).filter(|place| known.contains(place));
        let place = head.filter(|_| self.rng.below(2) == 0).unwrap_or(any);
        let call = self.books[index].calls[place].expect("it is known");
        if call.is_kept {
            return self.repeat(index, &call);
        }
        if self.rng.below(4) == 0 {
            let behind = if self.rng.below(4) == 0 { self.rng.below(3) } else { 0 };
            let pending = call.tell(Answer::Pending, &mut self.rng);
            return Task { psn: psn(call.task.psn, behind), ..pending };
        }
        self.finish(index, place)
    }

    fn begin(&mut self, number: u64) -> Task {
        let index = usize::try_from(number).expect("small");
        let place = self.books[index].next;
        self.books[index].next = (place + 1) % 16;
        let task = Task {
            qpn: number.into(),
            answer: (Answer::Result as u64).into(),
            path_mtu: (1 + self.rng.below(5)).into(),
            place: (place as u64).into(),
            fresh: true,
            ..noise(&mut self.rng)
        };
        let most = 1 << self.areas[index].log.index();
        self.books[index].calls[place] = Some(Call::new(&task, &mut self.rng, most));
        task
    }

    /// Its answer is there: in the staging, if that has not been told and it is one packet, or in the area.
    fn finish(&mut self, index: usize, place: usize) -> Task {
        let call = self.books[index].calls[place].as_mut().expect("it is known");
        let task = call.tell(Answer::Finished, &mut self.rng);
        let is_short = call.length <= mtu(&call.task) && !call.is_staged;
        if let Some(stage) = self.stages.first().copied().filter(|_| is_short && self.rng.below(4) > 0) {
            call.is_staged = true;
            return Task { staged: true, stage: stage.into(), ..task };
        }
        call.is_kept = true;
        task
    }

    /// Its answer from any packet on, or one near those that are being sent.
    fn repeat(&mut self, index: usize, call: &Call) -> Task {
        let count = call.length.div_ceil(mtu(&call.task)).max(1);
        let from = self.rng.below(count);
        let task = call.tell(Answer::Replay, &mut self.rng);
        let owed = &self.model.owed[index];
        let near = (owed.packets + 1).min(count - 1);
        let is_head = owed.reads.front().is_some_and(|read| read.task.place == call.task.place);
        let from = if is_head && owed.packets > 0 { self.rng.below(near + 1) } else { from };
        Task { psn: psn(call.task.psn, from), va: (from * mtu(&call.task)).into(), ..task }
    }

    /// The RPC at the head of a queue pair that is being answered is asked for again, if there is one.
    pub(in crate::transport::respond) fn or_replay(&mut self, task: &Task) -> Task {
        let sending = |index: &usize| {
            let owed = &self.model.owed[*index];
            owed.packets > 0 && owed.reads[0].task.answer.index() >= Answer::Result as usize
        };
        let Some(index) = (0..self.model.owed.len()).find(sending) else { return *task };
        let place = self.model.owed[index].reads[0].task.place.index();
        match self.books[index].calls[place].filter(|call| call.is_kept) {
            Some(call) => self.repeat(index, &call),
            None => *task,
        }
    }

    /// Finishes every RPC that is left.
    pub(in crate::transport::respond) fn finish_all(&mut self) {
        for index in 0..self.books.len() {
            for place in 0..16 {
                let open = |call: &&mut Call| !call.is_kept;
                if let Some(call) = self.books[index].calls[place].as_mut().filter(open) {
                    call.is_kept = true;
                    let task = call.tell(Answer::Finished, &mut self.rng);
                    self.send(&task);
                }
            }
        }
    }
}
