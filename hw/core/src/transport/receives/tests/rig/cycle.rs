//! A cycle: what the block does in it, held against the model.

use rust_hdl::prelude::Bits;
use stroma_abi::desc::eqe::Event;

use super::super::super::model::{Queue, Verdict};
use super::{QPS, Rig, SRQS, Under, What};
use crate::host::work::EventRecord;
use crate::testing::{collect, read};
use crate::transport::records::{LimitTold, Nudge, Occasion, Stock};

impl Rig {
    /// What the rows read in this cycle are for; which are there in the next.
    fn reads(&mut self, moved: [bool; 3]) -> Option<Under> {
        let number = |name| read::<Bits<24>>(&self.bench, name).index();
        let rows = (self.flag("ring_enable"), self.flag("shared_enable"));
        let (ring_at, shared_at) = (number("ring_index"), number("shared_index"));
        let what = match moved {
            [true, false, false] => What::Ring(self.doorbells.pop_front().expect("only what was rung")),
            [false, true, false] => What::Change(self.changes.pop_front().expect("only what has changed")),
            [false, false, true] => What::Renew(self.renewals.pop_front().expect("only what has changed")),
            [false, false, false] if rows == (true, false) => What::Recall(ring_at),
            [false, false, false] if rows == (false, true) => What::Limit(shared_at),
            [false, false, false] => {
                assert_eq!(rows, (false, false), "rows for nothing");
                return None;
            }
            _ => panic!("one operation at a time"),
        };
        let (queue, expected) = match what {
            What::Ring(doorbell) => {
                let queue = Queue { shared: doorbell.shared, number: doorbell.number.index() };
                let at = if queue.shared { shared_at } else { ring_at };
                assert_eq!(at, queue.number, "the doorbell's row");
                (queue, (!queue.shared, queue.shared))
            }
            What::Change(change) => (Queue { shared: false, number: change.qpn.index() }, (false, false)),
            What::Renew(number) => (Queue { shared: true, number }, (false, false)),
            What::Recall(number) => {
                assert_eq!(self.model.recalls.pop_front(), Some(number), "in the order of the line");
                (Queue { shared: false, number }, (true, false))
            }
            What::Limit(number) => {
                assert_eq!(self.model.limits.pop_front(), Some(number), "in the order of the line");
                (Queue { shared: true, number }, (false, true))
            }
        };
        assert_eq!(rows, expected, "which row is read");
        let is_there = queue.number < if queue.shared { 1 << SRQS } else { 1 << QPS };
        Some(Under {
            what,
            ring: self.rings.get(ring_at).copied().unwrap_or_default(),
            shared: self.shares.get(shared_at).copied().unwrap_or_default(),
            consumer: if is_there { self.model.queue(queue).consumer } else { 0 },
        })
    }

    fn acts(&mut self, under: &Under) {
        self.is_stale |= self.shown.is_some_and(|(queue, _)| under.what.begins_anew(queue));
        match under.what {
            What::Ring(doorbell) => {
                match self.model.ring(&doorbell, &under.ring, &under.shared, under.consumer) {
                    Verdict::Good => self.counts.good += 1,
                    Verdict::Bad => self.counts.bad += 1,
                    Verdict::WrongPage => self.counts.wrong_page += 1,
                }
            }
            What::Change(change) => self.model.change(&change),
            What::Renew(number) => self.model.renew(number),
            What::Recall(number) => {
                let is_nudged = self.model.recall(number, &under.ring, under.consumer);
                self.awaited_nudges.extend(is_nudged.then_some(number));
                self.nudged.extend(is_nudged.then_some((self.bench.cycle() + 1, number)));
                self.counts.silent += u64::from(!is_nudged);
            }
            What::Limit(number) => {
                let tells = self.model.limit(number, &under.shared, under.consumer);
                self.awaited_events.extend(tells.then_some(number));
                self.limit_told = tells.then_some((number as u64, under.shared.round.into()));
                self.counts.silent += u64::from(!tells);
            }
        }
    }

    /// One cycle.
    pub(in super::super) fn step(&mut self) {
        if self.look.is_none() && !self.take {
            self.serve();
        }
        self.drive_looks();
        // Rows are there in the cycle behind that in which they were asked for, and stay.
        if let Some(Under { ring, shared, .. }) = self.looking {
            self.set("ring", &ring);
            self.set("shared", &shared);
        }
        let number = usize::try_from(self.bench.cycle() % (1 << QPS)).expect("small");
        let counted = Queue { shared: false, number };
        self.set("count_enable", &true);
        self.set("count_index", &Bits::<QPS>::from(number as u64));
        let ready = self.ready();
        let reading = self.reads(ready);
        let sources = [self.doorbell, self.change, self.shared_change];
        let before = sources.map(|source| self.bench[source].sent());
        self.bench.step();
        let moved = [0, 1, 2].map(|at| self.bench[sources[at]].sent() > before[at]);
        assert_eq!(moved, ready, "what is ready moves: it was chosen");
        let cycle = self.bench.cycle();
        self.rung.extend(moved[0].then_some(cycle));
        self.changed.extend((moved[1] || moved[2]).then_some(cycle));

        for nudge in collect::<Nudge>(&mut self.bench, self.nudge) {
            let number = self.awaited_nudges.pop_front().expect("a nudge is due");
            assert_eq!(nudge, recall(number));
            self.recalled.extend(self.recalls.then_some(number));
        }
        for event in collect::<EventRecord>(&mut self.bench, self.event) {
            let number = self.awaited_events.pop_front().expect("an event is due");
            let (object, kind) = ((number as u64).into(), (Event::SrqLimit as u64).into());
            assert_eq!(event, EventRecord { object, kind, ..EventRecord::default() });
            self.told.push((cycle, number));
        }
        // A count shows what was before this cycle, a look what is taken in this cycle as well; then the rest counts.
        let count = u64::from(read::<Bits<16>>(&self.bench, "count"));
        assert_eq!(count, u64::from(self.model.queue(counted).count()), "{counted:?} in cycle {cycle}");
        if std::mem::take(&mut self.take) {
            let (queue, indices) = self.shown.expect("a look before the take");
            self.model.take(queue, indices.consumer);
            self.counts.taken += 1;
        }
        let looked = self.look.take().map(|queue| (queue, self.model.queue(queue)));
        self.is_stale &= looked.is_none();
        self.shown = looked.or(self.shown);
        if let Some(under) = self.acting.take() {
            self.acts(&under);
        }
        self.acting = self.looking.take();
        self.looking = reading;
        self.compare();
    }

    /// Holds what can be seen against what is expected.
    fn compare(&mut self) {
        let cycle = self.bench.cycle();
        if let Some((queue, indices)) = self.shown {
            let stock =
                Stock { count: u64::from(indices.count()).into(), first: u64::from(indices.consumer).into() };
            assert_eq!(read::<Stock>(&self.bench, "stock"), stock, "{queue:?} in cycle {cycle}");
        }
        self.seen[0] += u64::from(self.flag("bad"));
        self.seen[1] += u64::from(self.flag("wrong_page"));
        assert_eq!(self.seen, [self.counts.bad, self.counts.wrong_page], "refusals up to cycle {cycle}");
        let offered = self.flag("nudge$valid").then(|| read::<Nudge>(&self.bench, "nudge$payload"));
        assert_eq!(offered, self.awaited_nudges.front().map(|number| recall(*number)), "in cycle {cycle}");
        assert_eq!(self.flag("busy"), self.is_inside(), "busy in cycle {cycle}");
        let told = read::<LimitTold>(&self.bench, "limit_told");
        let told = told.valid.then(|| (u64::from(told.number), u64::from(told.round)));
        assert_eq!(told, self.limit_told.take(), "limits told of in cycle {cycle}");
    }

    /// Is anything inside?
    pub(super) fn is_inside(&self) -> bool {
        self.looking.is_some()
            || self.acting.is_some()
            || self.ready().contains(&true)
            || self.flag("ring_enable")
            || self.flag("shared_enable")
            || !self.model.recalls.is_empty()
            || !self.model.limits.is_empty()
            || !self.awaited_nudges.is_empty()
            || !self.awaited_events.is_empty()
    }
}

fn recall(number: usize) -> Nudge {
    Nudge { occasion: (Occasion::Recall as u64).into(), qpn: (number as u64).into(), ..Nudge::default() }
}
