//! The owner of the memory regions and windows: mailbox commands and works in, rows for the MMU out.
//!
//! ```text
//!   command ─ commands ─┬──────── row ─────────┬─ reply
//!                │      └─ ending ─────────────┘
//!              table       (invalidate, done ─ drain, drained ─ settle, settled)
//!                │
//!      work ─ windows ─── consent ─── row ─────── answer
//! ```

pub mod commands;
pub mod consent;
pub mod creation;
pub mod ending;
pub mod judge;
#[cfg(test)]
mod model;
#[cfg(test)]
mod rig;
pub mod row_of;
pub mod table;
#[cfg(test)]
mod tests;
pub mod windows;
#[cfg(test)]
mod works;

use rust_hdl::prelude::*;

use self::commands::Commands;
use self::table::{Table, TableUse};
use self::windows::Windows;
use super::command::{KeyWork, ObjectCommand, ObjectReply};
use super::memory_keys::RowWrite;
use crate::stream::{StreamSink, StreamSource};

block! {
    /// Makes, shows and ends `2^MRS` memory regions and windows, one command at a time; binds windows and ends their keys, one
    /// work at a time.
    ///
    /// A refused command has changed nothing. A region ends in three waits: for the MMU, behind which no address is given out
    /// under its key; for the work that was begun with such addresses; for the DMA that this work has asked for. So
    /// no byte of the region is touched any more when the reply comes. A window ends in the same way, bound or not. A
    /// region to which windows are bound is `InUse`.
    ///
    /// Commands and works share the table by turns: each has it from its first look until table and MMU are written, and
    /// waits for others without it. So works go on while a region ends, whose waits may be for those very works; and
    /// what a command or a work finds is what all that were taken before it have left. Of two taken at once the
    /// command is first.
    ///
    /// - **Ports** `command`, `reply`: as the mailbox has them, one reply for each command; a window that is not bound shows
    ///   no field but `pd` and `window`, a bound one also base, length, key and rights. `work`, `answer`: works on windows, and
    ///   for each 0 or the [`KeyCause`](super::command::KeyCause) that refused it. With 0 the MMU has the row of a
    ///   window that was bound, or has lost that of a key that ended: no request finds it that enters later; those that
    ///   entered before are the asker's business. `row`, `invalidate`, `done`: to the MMU, as in
    ///   [`Maintain`](super::maintain::Maintain). `drain`, `settle`: a pulse each; `drained`, `settled`: the pulse, in a later
    ///   cycle, that answers. `leaves`: a pulse, the queue pair `leaver` has ended, and nothing of it is under way; `left`: the pulse that answers, all windows that
    ///   were bound to it are bound to nothing, and the MMU has lost their rows. `ready`: the table is clean. `busy`: a command or work is inside, or the table is not clean.
    /// - **Latency** from the command to the reply's offer, 5 cycles; 6 if a region begins and `row` is taken at once; if one
    ///   ends, 11 and the cycles more that pass until `invalidate` is taken, `done` comes, and the pulses are answered; one
    ///   more for a bound window. From the work to the answer's offer, 6 cycles if `row` is taken at once; 5 if refused.
    ///   Either waits for the other's turn at the table: a command 4 cycles at most, a work 5, both if `row` is taken at once.
    ///   From `leaves` to `left` 1 cycle if no window is bound; otherwise 2 for each place of the table, and 6 for each window that ends, if `row` is taken at
    ///   once; works go first.
    /// - **Rate** one command and one work at a time.
    /// - **Backpressure** commands wait for the reply before them, works for the answer. No path from port to port.
    /// - **Reset** forgets command and work and all regions and windows, which takes `2^MRS` cycles; `ready` is low meanwhile, and
    ///   commands and works wait. The MMU has to be reset with it.
    /// - **Limits** `MRS` to 24. A number beyond is `OutOfRange` for create, and `NoObject` for the others. Modify is
    ///   unknown.
    pub struct Regions<const MRS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<ObjectCommand>,
        pub reply: StreamSource<ObjectReply>,
        pub work: StreamSink<KeyWork>,
        pub answer: StreamSource<Bits<3>>,
        pub row: StreamSource<RowWrite<MRS>>,
        pub invalidate: StreamSource<Bits<MRS>>,
        pub done: StreamSink<Bits<MRS>>,
        pub drain: Signal<Out, Bit>,
        pub drained: Signal<In, Bit>,
        pub settle: Signal<Out, Bit>,
        pub settled: Signal<In, Bit>,
        pub leaves: Signal<In, Bit>,
        pub leaver: Signal<In, Bits<24>>,
        pub left: Signal<Out, Bit>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        commands: Commands<MRS>,
        windows: Windows<MRS>,
        table: Table<MRS>,
        turn: Signal<Local, TableUse<MRS>>,
    }
}

impl<const MRS: usize> Logic for Regions<MRS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, commands, windows, table);
        self.commands.reset.next = self.reset.val();
        self.windows.reset.next = self.reset.val();
        self.table.reset.next = self.reset.val();
        self.ready.next = self.table.ready.val();
        self.busy.next = !self.table.ready.val() | self.commands.busy.val() | self.windows.busy.val();

        StreamSink::<ObjectCommand>::link(&mut self.command, &mut self.commands.command);
        StreamSource::<ObjectReply>::link(&mut self.reply, &mut self.commands.reply);
        StreamSource::<Bits<MRS>>::link(&mut self.invalidate, &mut self.commands.invalidate);
        StreamSink::<Bits<MRS>>::link(&mut self.done, &mut self.commands.done);
        self.drain.next = self.commands.drain.val();
        self.commands.drained.next = self.drained.val();
        self.settle.next = self.commands.settle.val();
        self.commands.settled.next = self.settled.val();
        StreamSink::<KeyWork>::link(&mut self.work, &mut self.windows.work);
        StreamSource::<Bits<3>>::link(&mut self.answer, &mut self.windows.reply);
        self.windows.leaves.next = self.leaves.val();
        self.windows.leaver.next = self.leaver.val();
        self.left.next = self.windows.left.val();
        self.windows.parts.next = self.commands.parts.val();

        // Turns. A command that waits for the table goes before a work that does.
        self.commands.free.next = !self.windows.holds.val();
        self.windows.free.next = !self.commands.holds.val();
        self.turn.next = self.windows.turn.val();
        if self.commands.holds.val() & !self.windows.holds.val() {
            self.turn.next = self.commands.turn.val();
        }
        self.table.turn.next = self.turn.val();
        self.commands.open.next = self.table.ready.val();
        self.commands.kept.next = self.table.kept.val();
        self.commands.bound_count.next = self.table.bound_count.val();
        self.commands.beyond.next = self.table.beyond.val();
        self.windows.open.next = self.table.ready.val();
        self.windows.kept.next = self.table.kept.val();
        self.windows.bound_count.next = self.table.bound_count.val();

        // A row is offered by the one whose turn it is.
        self.row.valid.next = self.commands.row.valid.val() | self.windows.row.valid.val();
        self.row.payload.next = self.commands.row.payload.val();
        if self.windows.row.valid.val() {
            self.row.payload.next = self.windows.row.payload.val();
        }
        self.commands.row.ready.next = self.row.ready.val();
        self.windows.row.ready.next = self.row.ready.val();
    }
}
