//! The wait for answers: one timer a queue pair.

pub mod least;
pub mod model;
pub mod scan;
#[cfg(test)]
mod tests;
pub mod waits;

use rust_hdl::prelude::*;

use least::Least;
use scan::Scan;
use waits::Waits;

use super::records::{Alarm, Nudge, Occasion};
use crate::constant::number;
use crate::host::work::QpChange;
use crate::prim::arbiter::Arbiter;
use crate::prim::own_clock::OwnClock;
use crate::prim::ram::{BlockRam, LutRam};
use crate::prim::reg::Reg;
use crate::record;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// A timer.
    pub struct TimerRow {
        /// It runs.
        pub armed: Bit,
        /// When it ends, in pairs of cycles.
        pub deadline: Bits<63>,
    }
}

block! {
    /// Keeps a timer for each of `2^QPS` queue pairs, and looks at one after the other, a row every two cycles.
    ///
    /// Which row is looked at depends on `time` alone, and `wake` tells how far a simulation may skip: so nudges come in the
    /// same cycles of `time` whether it does or not.
    ///
    /// A rest goes on to its end: alarms of its queue pair that are no rests do not count meanwhile. The one that goes with a
    /// message may come a little behind the alarm of the NAK, because the message left before the news of it.
    ///
    /// - **Ports** `alarm`: a timer begins anew, or with code 0 ends; with `rests` every code begins one. `change`: a queue
    ///   pair that resets has no timer, whether it rested or not. `time`: cycles; it may jump from one cycle to the next, not
    ///   beyond `wake`, and only while `busy` is low and neither alarm nor change is offered. `nudge`: a
    ///   timer has ended; it does not run any more. `wake`: no nudge comes before; all ones when no timer runs. `ready`: the rows
    ///   are scrubbed. `busy`: an alarm, a change or a nudge is inside.
    /// - **Latency** 2 cycles from `alarm` to its row. A nudge comes not before the wait is over, and at most `2^(QPS+1) + 4` cycles
    ///   later. An alarm counts against a nudge that is offered more than 3 cycles after it was taken.
    /// - **Rate** an alarm or change per cycle, changes first, alarms from both ends in turn; a nudge every 4 cycles.
    /// - **Backpressure** `alarm` and `change` always move on, a cycle late when a timer ends. While a nudge is not taken no other timer
    ///   ends; those whose time is over are found in the next sweep.
    /// - **Wake** may be early by timers that were begun anew or ended; not any more after two sweeps of `2^(QPS+1)` cycles
    ///   each in which time did not jump.
    /// - **Reset** forgets all timers and scrubs a row a cycle, with `ready` low; alarms wait.
    /// - **Limits** `QPS` from 1 to 15, clocks up to 4 GHz, times below `2^63`. Queue pairs beyond the table share the rows of those
    ///   below.
    pub struct Timers<const QPS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub alarm: [StreamSink<Alarm>; 2] = std::array::from_fn(|_| StreamSink::default()),
        pub change: StreamSink<QpChange>,
        pub time: Signal<In, Bits<64>>,
        pub nudge: StreamSource<Nudge>,
        pub wake: Signal<Out, Bits<64>>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        turns: Arbiter<Alarm, 2>,
        waits: Waits,
        rows: BlockRam<TimerRow, QPS>,
        /// Which of the timers that run are rests.
        resting: LutRam<Bit, QPS>,
        scan: Scan<QPS>,
        least: Least<QPS>,
        is_scrubbing: Reg<Bit>,
        /// The row to be cleared next.
        row: Reg<Bits<QPS>>,
        /// An alarm, and the cycles it asks for.
        has_alarm: Reg<Bit>,
        arms: Reg<Bit>,
        rests: Reg<Bit>,
        /// It is none: the queue pair begins anew.
        resets: Reg<Bit>,
        cycles: Reg<Bits<48>>,
        queue_pair: Reg<Bits<QPS>>,
        has_nudge: Reg<Bit>,
        nudged: Reg<Bits<QPS>>,
        sets: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        clears: Signal<Local, Bit>,
        writes: Signal<Local, Bit>,
        place: Signal<Local, Bits<QPS>>,
        end: Signal<Local, Bits<64>>,
        deadline: Signal<Local, Bits<63>>,
        last: Constant<Bits<QPS>> = Constant::new(Bits::mask()),
        timeout: Constant<Bits<3>> = number(Occasion::Timeout as u8),
        own_clock: OwnClock,
    }
}

impl<const QPS: usize> Timers<QPS> {
    /// Timers on a card with this core clock; `default()` has 250 MHz.
    ///
    /// # Panics
    /// If the clock is beyond the limits.
    #[must_use]
    pub fn new(clock_khz: u64) -> Self {
        Self { waits: Waits::new(clock_khz), ..Self::default() }
    }
}

impl<const QPS: usize> Logic for Timers<QPS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, turns, rows, resting, scan, least);
        dff_setup!(self, clock, is_scrubbing, row, has_alarm, arms, rests, resets, cycles, queue_pair);
        dff_setup!(self, clock, has_nudge, nudged);
        self.turns.reset.next = self.reset.val();
        self.scan.reset.next = self.reset.val() | self.is_scrubbing.q.val();
        self.least.reset.next = self.reset.val();
        for i in 0..2 {
            StreamSink::<Alarm>::link(&mut self.alarm[i], &mut self.turns.sinks[i]);
        }

        // A timer that ends is written first: the alarm behind it counts.
        self.resting.read_address.next = self.queue_pair.q.val();
        self.sets.next = self.has_alarm.q.val()
            & !self.scan.finds.val()
            & (self.rests.q.val() | self.resets.q.val() | !self.resting.read_data.val());
        self.takes.next = !self.is_scrubbing.q.val() & (!self.has_alarm.q.val() | !self.scan.finds.val());
        self.turns.source.ready.next = self.takes.val() & !self.change.valid.val();
        self.change.ready.next = self.takes.val();
        self.waits.code.next = self.turns.source.payload.val().timeout;
        self.waits.rests.next = self.turns.source.payload.val().rests;
        if self.takes.val() {
            self.has_alarm.d.next = self.turns.source.valid.val();
            self.arms.d.next = self.waits.arms.val();
            self.rests.d.next = self.turns.source.payload.val().rests;
            self.cycles.d.next = self.waits.cycles.val();
            self.resets.d.next = false;
            self.queue_pair.d.next = bit_cast::<QPS, 24>(self.turns.source.payload.val().qpn);
            if self.change.valid.val() {
                self.has_alarm.d.next = self.change.payload.val().resets;
                self.arms.d.next = false;
                self.rests.d.next = false;
                self.resets.d.next = true;
                self.queue_pair.d.next = bit_cast::<QPS, 24>(self.change.payload.val().qpn);
            }
        }
        // Rounded up to a pair of cycles.
        self.end.next = self.time.val() + bit_cast::<64, 48>(self.cycles.q.val()) + 1;
        self.deadline.next = bit_cast::<63, 64>(self.end.val() >> 1);

        self.clears.next = self.scan.finds.val() | self.is_scrubbing.q.val();
        self.writes.next = self.sets.val() | self.clears.val();
        self.place.next = self.queue_pair.q.val();
        if self.scan.finds.val() {
            self.place.next = self.scan.found.val();
        }
        if self.is_scrubbing.q.val() {
            self.place.next = self.row.q.val();
            self.row.d.next = self.row.q.val() + 1;
            self.is_scrubbing.d.next = self.row.q.val() != self.last.val();
        }
        self.rows.write_enable.next = self.writes.val();
        self.rows.write_address.next = self.place.val();
        self.rows.write_data.next.armed = self.arms.q.val() & !self.clears.val();
        self.rows.write_data.next.deadline = self.deadline.val();
        self.resting.write_enable.next = self.writes.val();
        self.resting.write_address.next = self.place.val();
        self.resting.write_data.next = self.rests.q.val() & !self.clears.val();

        self.rows.read_enable.next = self.scan.reads.val();
        self.rows.read_address.next = self.scan.index.val();
        self.scan.time.next = self.time.val();
        self.scan.row.next = self.rows.read_data.val();
        self.scan.sets.next = self.sets.val();
        self.scan.set_index.next = self.queue_pair.q.val();
        self.scan.hold.next = self.has_nudge.q.val();
        self.least.jumps.next = self.scan.jumps.val();
        self.least.passes.next = self.scan.passes.val();
        self.least.armed.next = self.scan.stays.val();
        self.least.deadline.next = self.rows.read_data.val().deadline;
        self.least.sets.next = self.sets.val() & self.arms.q.val();
        self.least.set_deadline.next = self.deadline.val();
        self.wake.next = self.least.wake.val();

        self.nudge.valid.next = self.has_nudge.q.val();
        self.nudge.payload.next.again = false;
        self.nudge.payload.next.occasion = self.timeout.val();
        self.nudge.payload.next.qpn = bit_cast::<24, QPS>(self.nudged.q.val());
        self.nudge.payload.next.slot = 0.into();
        self.nudge.payload.next.status = 0.into();
        self.nudge.payload.next.vendor = 0.into();
        self.nudge.payload.next.psn = 0.into();
        if self.nudge.ready.val() {
            self.has_nudge.d.next = false;
        }
        if self.scan.finds.val() {
            self.has_nudge.d.next = true;
            self.nudged.d.next = self.scan.found.val();
        }
        self.ready.next = !self.is_scrubbing.q.val();
        self.busy.next = self.is_scrubbing.q.val()
            | self.turns.source.valid.val()
            | self.has_alarm.q.val()
            | self.scan.finds.val()
            | self.has_nudge.q.val();
        if self.reset.val() {
            self.is_scrubbing.d.next = true;
            self.row.d.next = 0.into();
            self.has_alarm.d.next = false;
            self.has_nudge.d.next = false;
        }
    }
}
