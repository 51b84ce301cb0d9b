//! The timers in plain Rust, a cycle at a time.

use std::collections::VecDeque;

use super::waits::{rest, wait};
use crate::host::work::QpChange;
use crate::transport::records::Alarm;

/// A row that was read in a cycle.
#[derive(Clone, Copy, Debug)]
struct Sight {
    number: usize,
    deadline: Option<u64>,
    time: u64,
}

/// What reaches the rows.
#[derive(Clone, Copy, Debug)]
enum News {
    Alarm(Alarm),
    /// This queue pair begins anew.
    Resets(usize),
}

/// All timers, and what is under way between the ports and them.
#[derive(Clone, Debug)]
pub struct Model {
    clock_khz: u64,
    /// When each ends.
    pub deadlines: Vec<Option<u64>>,
    resting: Vec<bool>,
    /// The one that is told of.
    pub nudge: Option<usize>,
    found: Option<usize>,
    sight: Option<Sight>,
    held: Option<News>,
    waiting: VecDeque<Alarm>,
}

impl Model {
    /// `2^log` timers that do not run.
    #[must_use]
    pub fn new(log: usize, clock_khz: u64) -> Self {
        Self {
            clock_khz,
            deadlines: vec![None; 1 << log],
            resting: vec![false; 1 << log],
            nudge: None,
            found: None,
            sight: None,
            held: None,
            waiting: VecDeque::new(),
        }
    }

    /// Is an alarm or a nudge inside?
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.nudge.is_some() || self.found.is_some() || self.held.is_some() || !self.waiting.is_empty()
    }

    /// When the first timer ends.
    #[must_use]
    pub fn least(&self) -> Option<u64> {
        self.deadlines.iter().flatten().min().copied()
    }

    /// One cycle, in which an alarm or a change may come and the nudge be taken.
    ///
    /// # Panics
    /// When there are more rows than addresses.
    pub fn step(&mut self, time: u64, alarm: Option<Alarm>, change: Option<QpChange>, is_taken: bool) {
        let count = self.deadlines.len();
        let ended = self.found.take();
        let set = if ended.is_none() { self.held.take() } else { None };
        let number_of = |news: &News| match news {
            News::Alarm(alarm) => alarm.qpn.index() % count,
            News::Resets(number) => number % count,
        };
        let set = set.filter(|news| match news {
            News::Alarm(alarm) => alarm.rests || !self.resting[number_of(news)],
            News::Resets(_) => true,
        });
        let set_number = set.as_ref().map(number_of);

        // A row counts in the cycle behind that in which it was read, unless time has jumped or an alarm has come.
        let is_over = |sight: &Sight| {
            time == sight.time + 1
                && sight.deadline.is_some_and(|deadline| deadline <= time)
                && set_number != Some(sight.number)
        };
        let is_free = self.nudge.is_none() && ended.is_none();
        self.found = self.sight.filter(|sight| is_free && is_over(sight)).map(|sight| sight.number);

        let place = time / 2 % count as u64;
        let number = usize::try_from(place).expect("a row of the table");
        let deadline = self.deadlines[number].filter(|_| set_number != Some(number));
        self.sight = time.is_multiple_of(2).then_some(Sight { number, deadline, time });

        self.nudge = self.nudge.filter(|_| !is_taken);
        if let Some(number) = ended {
            (self.deadlines[number], self.resting[number]) = (None, false);
            self.nudge = Some(number);
        }
        if let Some(News::Resets(number)) = set {
            (self.deadlines[number % count], self.resting[number % count]) = (None, false);
        }
        if let (Some(News::Alarm(alarm)), Some(number)) = (set, set_number) {
            let code = alarm.timeout.index();
            let cycles = if alarm.rests { rest } else { wait }(self.clock_khz, code);
            let end = (time + cycles).next_multiple_of(2);
            self.deadlines[number] = Some(end).filter(|_| alarm.rests || code > 0);
            self.resting[number] = alarm.rests;
        }
        if let Some(change) = change {
            self.held = change.resets.then(|| News::Resets(change.qpn.index()));
        } else {
            self.held = self.held.or_else(|| self.waiting.pop_front().map(News::Alarm));
        }
        self.waiting.extend(alarm);
    }
}
