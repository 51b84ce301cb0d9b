//! What tasks of RPCs make of what a queue pair owes.

use rust_hdl::prelude::*;

use super::rows::{AnswerRow, EntryKind, ReadEntry};
use crate::constant::number;
use crate::transport::records::{Answer, Task};

block! {
    /// Judges the four kinds of task that RPCs bring. Combinational.
    ///
    /// An RPC stands among the READs from its `Result` on, and by its place in `waits` of the row as well: so it is known without a
    /// search whether it is there. A `Finished` whose RPC is not there, because its answer has gone or was given up, is forgotten.
    ///
    /// - **Ports** `tasks`: the operation is a task, `asked`. `row`: of its queue pair; `entry`: at its head. `asks`: it comes among the READs
    ///   if there is room; `marks`: as an RPC that waits, whose place is `mark`; `bars`: it may not, since its place waits already. `kind`,
    ///   `ticket`: of its entry. `is_replay`: an answer, once more. `wakes`: something may be
    ///   sent now. `finished` to `lap`: of the row from now on. `frees`: the task's stage is not needed.
    pub struct Calls {
        pub tasks: Signal<In, Bit>,
        pub asked: Signal<In, Task>,
        pub row: Signal<In, AnswerRow>,
        pub entry: Signal<In, ReadEntry>,
        pub asks: Signal<Out, Bit>,
        pub marks: Signal<Out, Bit>,
        pub mark: Signal<Out, Bits<16>>,
        pub bars: Signal<Out, Bit>,
        pub kind: Signal<Out, Bits<2>>,
        pub ticket: Signal<Out, Bits<16>>,
        pub is_replay: Signal<Out, Bit>,
        pub wakes: Signal<Out, Bit>,
        pub finished: Signal<Out, Bits<16>>,
        pub staged: Signal<Out, Bit>,
        pub stage: Signal<Out, Bits<5>>,
        pub is_busy: Signal<Out, Bit>,
        pub next_psn: Signal<Out, Bits<24>>,
        pub newest: Signal<Out, Bits<4>>,
        pub lap: Signal<Out, Bit>,
        pub frees: Signal<Out, Bit>,
        place: Signal<Local, Bits<4>>,
        bit: Signal<Local, Bits<16>>,
        is_result: Signal<Local, Bit>,
        is_finished: Signal<Local, Bit>,
        is_pending: Signal<Local, Bit>,
        repeats: Signal<Local, Bit>,
        is_waiting: Signal<Local, Bit>,
        is_at_head: Signal<Local, Bit>,
        is_newer: Signal<Local, Bit>,
        place_and_lap: Signal<Local, Bits<16>>,
        takes_stage: Signal<Local, Bit>,
        tells: Signal<Local, Bit>,
        one: Constant<Bits<16>> = number(1),
        result: Constant<Bits<3>> = number(Answer::Result as u8),
        over: Constant<Bits<3>> = number(Answer::Finished as u8),
        replay: Constant<Bits<3>> = number(Answer::Replay as u8),
        pending: Constant<Bits<3>> = number(Answer::Pending as u8),
        waiting: Constant<Bits<2>> = number(EntryKind::Result as u8),
        again: Constant<Bits<2>> = number(EntryKind::Replay as u8),
    }
}

impl Logic for Calls {
    #[hdl_gen]
    fn update(&mut self) {
        self.place.next = self.asked.val().place;
        self.bit.next = self.one.val() << bit_cast::<16, 4>(self.place.val());
        self.mark.next = self.bit.val();
        self.is_result.next = self.tasks.val() & (self.asked.val().answer == self.result.val());
        self.is_finished.next = self.tasks.val() & (self.asked.val().answer == self.over.val());
        self.repeats.next = self.tasks.val() & (self.asked.val().answer == self.replay.val());
        self.is_pending.next = self.tasks.val() & (self.asked.val().answer == self.pending.val());
        self.is_waiting.next = (self.row.val().waits & self.bit.val()).any();
        self.is_at_head.next = self.is_waiting.val()
            & (self.entry.val().kind == self.waiting.val())
            & (bit_cast::<4, 16>(self.entry.val().ticket) == self.place.val());

        // One that was thrown away with what waited comes in again.
        self.marks.next = self.is_result.val() | (self.is_pending.val() & !self.is_waiting.val());
        self.asks.next =
            self.is_result.val() | self.repeats.val() | (self.is_pending.val() & !self.is_waiting.val());
        self.bars.next = self.is_result.val() & self.is_waiting.val();
        self.is_replay.next = self.repeats.val();
        self.wakes.next =
            self.repeats.val() | ((self.is_finished.val() | self.is_pending.val()) & self.is_waiting.val());
        self.kind.next = self.waiting.val();
        if self.repeats.val() {
            self.kind.next = self.again.val();
        }

        // The places are taken in turn: those up to the newest belong to its lap, and those beyond it to the one before.
        self.is_newer.next = self.row.val().newest < self.place.val();
        self.place_and_lap.next = bit_cast::<16, 4>(self.place.val());
        self.place_and_lap.next =
            self.place_and_lap.val().replace_bit(4, self.row.val().lap ^ self.is_newer.val());
        self.ticket.next = self.place_and_lap.val();
        self.newest.next = self.row.val().newest;
        self.lap.next = self.row.val().lap;
        if self.is_result.val() {
            self.newest.next = self.place.val();
            self.lap.next = self.row.val().lap ^ !self.is_newer.val();
        }

        self.finished.next = self.row.val().finished;
        if self.is_finished.val() & !self.asked.val().staged {
            self.finished.next = self.row.val().finished | (self.bit.val() & self.row.val().waits);
        }
        self.takes_stage.next = self.is_finished.val()
            & self.asked.val().staged
            & self.is_at_head.val()
            & !self.row.val().staged
            & !(self.row.val().finished & self.bit.val()).any();
        self.frees.next = self.is_finished.val() & self.asked.val().staged & !self.takes_stage.val();
        self.staged.next = self.row.val().staged | self.takes_stage.val();
        self.stage.next = self.row.val().stage;
        if self.takes_stage.val() {
            self.stage.next = self.asked.val().stage;
        }
        self.tells.next = self.is_pending.val() & self.is_at_head.val() & !self.row.val().sent.any();
        self.is_busy.next = self.row.val().is_busy | self.tells.val();
        self.next_psn.next = self.row.val().next_psn;
        if self.tells.val() {
            self.next_psn.next = self.asked.val().psn;
        }
    }
}
