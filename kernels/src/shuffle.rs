//! `shuffle`: each tuple of a payload goes to the buffer of its partition.

pub mod bank;
pub mod control;
#[cfg(test)]
mod differential;
pub mod drain;
pub mod fill;
pub mod finish;
pub mod open;
pub mod parameters;
pub mod pick;
pub mod replay;
pub mod route;
pub mod send;
pub mod table;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_hw::block;
use stroma_hw::constant::{constants, number};
use stroma_hw::prim::fifo::Fifo;
use stroma_hw::slot::{SlotCommand, SlotData, SlotDone, SlotRead, SlotResponse, SlotWrite};
use stroma_hw::stream::{Beat, StreamSink, StreamSource};

use bank::Bank;
use control::Control;
use drain::Header;
use finish::Finish;
use parameters::{Decode, PARTITION_BITS, Task};
use route::Route;
use send::Send;
use table::{Table, is_second};

/// log2 of the invocations that wait.
const WAITING_LOG: usize = 2;

/// The kernel on a path of 64 bits: one bank.
pub type Shuffle64 = ShuffleKernel<64, 1, 10, 16, 11, 7>;
/// The kernel on a path of 512 bits: eight banks.
pub type Shuffle512 = ShuffleKernel<512, 8, 7, 13, 8, 5>;

block! {
    /// The kernel. What it does is told in [`stroma_abi::kernel::shuffle`].
    ///
    /// ```text
    ///   command ─ Decode ─ waiting ─ Control ─── now ─ Finish ────────── response
    ///   read_data ─ Table ─ entries ─┐ ┌──────────── used ─ Table ─┐
    ///   data_in ─── Route ═════════ Bank, once a lane ════════════ Send ─ write, write_data
    /// ```
    ///
    /// A bank takes the words of every `L`-th partition, one a cycle, and gathers them in rows of 256 bytes.
    ///
    /// An invocation that has come before the one before it is answered, from the same queue pair and with the same key and parameters, follows: it does not read the table, and its words go behind those of the other while
    /// that one's last writes end. Nothing of it is written before the other is answered, and its payload is kept so long: if the other fails, it begins once more, and reads the table. So it ends as it would have alone.
    ///
    /// - **Ports** as [`slot`](stroma_hw::slot) says. `data_out` is never used: answers have no bytes.
    /// - **Latency** 4 cycles from a command to the read of its table, 19 from the last beat of that to the first write of a payload of one beat. Behind the last beat come the rows that are not full, a write for each partition at most,
    ///   3 cycles after the end of the last of those the table, and 2 after the end of that the response.
    /// - **Rate** one invocation at a time, and one that follows it. With keys spread evenly over 8 or more partitions 0.9 beats per cycle, in writes of 256 bytes; a bank takes one word per cycle, so that
    ///   with fewer partitions, or all keys alike, it is a word for each that is in use.
    /// - **Backpressure** 4 invocations wait behind those under way, and 4096 beats of payload, of whichever, those that are kept among them; then `data_in` stalls. No combinational path from port to port.
    /// - **Reset** forgets the invocations; data of reads and ends of writes from before must not come any more.
    /// - **Limits** use the two types above: `D` bits, `L` banks, `I` bits of a buffer's number in its bank, `A` of a word in the bank's RAM, `T` of a beat in the table, `F` of the beats that a bank holds ready. RAM at `D` = 512: 512 KiB of rows in 16 UltraRAMs, 4096 beats of payload in 8; the table, and where buffers go on, in 16 block RAMs.
    pub struct ShuffleKernel<const D: usize, const L: usize, const I: usize, const A: usize, const T: usize, const F: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<SlotCommand>,
        pub data_in: StreamSink<Beat<D>>,
        pub read: StreamSource<SlotRead>,
        pub read_data: StreamSink<SlotData<D>>,
        pub write: StreamSource<SlotWrite>,
        pub write_data: StreamSource<Beat<D>>,
        pub write_done: StreamSink<SlotDone>,
        pub data_out: StreamSource<Beat<D>>,
        pub response: StreamSource<SlotResponse>,
        decode: Decode,
        /// Payload comes behind its command alone: what waits here lets it come while the one before is being written.
        waiting: Fifo<Task, WAITING_LOG>,
        control: Control,
        finish: Finish,
        table: Table<D, L, T>,
        route: Route<D, L>,
        banks: [Bank<D, L, I, A, F>; L] = std::array::from_fn(|_| Bank::default()),
        send: Send<D, L>,
        task: Signal<Local, Task>,
        opens: Signal<Local, Bit>,
        is_taken: Signal<Local, Bit>,
        is_settled: Signal<Local, Bit>,
        concludes: Signal<Local, Bit>,
        forgets: Signal<Local, Bit>,
        overflows: Signal<Local, Bit>,
        /// Banks with a buffer.
        is_used: [Signal<Local, Bit>; L] = std::array::from_fn(|_| Signal::default()),
        number: [Constant<Bits<3>>; L] = constants(|bank| (bank as u64).into()),
        first: [Constant<Bits<PARTITION_BITS>>; L] = constants(|bank| (bank as u64).into()),
        entry_at: [Constant<Bits<9>>; L] = constants(|bank| (bank as u64 % 4 * 128).into()),
        is_second: [Constant<Bit>; L] = constants(is_second::<L>),
        bank_log: Constant<Bits<4>> = number(L.ilog2()),
    }
}

impl<const D: usize, const L: usize, const I: usize, const A: usize, const T: usize, const F: usize> Logic
    for ShuffleKernel<D, L, I, A, T, F>
{
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, decode, waiting, control, finish, table, route, send);
        self.decode.reset.next = self.reset.val();
        self.waiting.reset.next = self.reset.val();
        self.control.reset.next = self.reset.val();
        self.finish.reset.next = self.reset.val();
        self.table.reset.next = self.reset.val();
        self.route.reset.next = self.reset.val();
        self.send.reset.next = self.reset.val();

        StreamSink::<SlotCommand>::link(&mut self.command, &mut self.decode.sink);
        StreamSource::<Task>::join(&mut self.decode.source, &mut self.waiting.sink);
        StreamSource::<Task>::join(&mut self.waiting.source, &mut self.control.tasks);
        self.task.next = self.control.now.val();
        self.opens.next = self.control.opens.val();
        self.concludes.next = self.finish.concludes.val();
        self.forgets.next = self.finish.forgets.val();

        self.table.request.next = self.task.val();
        self.table.begins.next = self.opens.val();
        self.table.saves.next = self.finish.saves.val();
        StreamSource::<SlotRead>::link(&mut self.read, &mut self.table.read);
        StreamSink::<SlotData<D>>::link(&mut self.read_data, &mut self.table.read_data);

        self.route.request.next = self.task.val();
        self.route.passes.next = self.control.passes.val();
        self.route.drops.next = self.control.drops.val();
        self.route.keeps.next = self.control.is_ahead.val();
        self.route.rewinds.next = self.forgets.val();
        StreamSink::<Beat<D>>::link(&mut self.data_in, &mut self.route.sink);

        self.is_taken.next = true;
        self.is_settled.next = self.send.is_idle.val();
        self.overflows.next = false;
        for i in 0..L {
            self.banks[i].clock.next = self.clock.val();
            self.banks[i].reset.next = self.forgets.val();
            self.banks[i].request.next = self.task.val();
            self.banks[i].bank.next = self.number[i].val();
            self.is_used[i].next = !(self.first[i].val() & !self.task.val().last).any();
            self.banks[i].is_there.next =
                self.table.is_there.val() & (self.table.is_odd.val() == self.is_second[i].val());
            self.banks[i].entry.next =
                self.table.entries.val().get_bits::<128>(self.entry_at[i].val().index());
            self.banks[i].index.next = self.table.index.val();
            self.banks[i].begins.next = self.opens.val();
            self.banks[i].flushes.next = self.control.flushes.val();
            self.banks[i].is_used.next = self.is_used[i].val();
            self.banks[i].last.next = self.task.val().last >> self.bank_log.val();
            self.banks[i].releases.next = self.concludes.val();
            self.banks[i].asked.next = self.table.asked.val();
            self.table.used[i].next = 0.into();
            if self.is_used[i].val() {
                self.table.used[i].next = self.banks[i].used.val();
            }
            self.banks[i].data.next = self.route.data.val();
            self.banks[i].lanes.next = self.route.lanes[i].val();
            self.banks[i].valid.next = self.route.valid[i].val();
            self.route.ready[i].next = self.banks[i].ready.val();
            self.send.headers[i].payload.next = self.banks[i].headers.payload.val();
            self.send.headers[i].valid.next = self.banks[i].headers.valid.val();
            self.banks[i].headers.ready.next = self.send.headers[i].ready.val();
            self.send.beats[i].payload.next = self.banks[i].beats.payload.val();
            self.send.beats[i].valid.next = self.banks[i].beats.valid.val();
            self.banks[i].beats.ready.next = self.send.beats[i].ready.val();
            self.is_taken.next = self.is_taken.val() & self.banks[i].is_taken.val();
            self.is_settled.next = self.is_settled.val() & self.banks[i].is_at_mark.val();
            self.overflows.next = self.overflows.val() | self.banks[i].overflows.val();
        }

        self.send.ticket.next = self.finish.ticket.val();
        self.send.key.next = self.task.val().key;
        self.send.begins.next = self.opens.val();
        self.send.is_saving.next = self.finish.is_saving.val();
        StreamSource::<Header>::join(&mut self.table.header, &mut self.send.table_header);
        StreamSource::<Beat<D>>::join(&mut self.table.beats, &mut self.send.table_beats);
        StreamSource::<SlotWrite>::link(&mut self.write, &mut self.send.write);
        StreamSource::<Beat<D>>::link(&mut self.write_data, &mut self.send.write_data);
        StreamSink::<SlotDone>::link(&mut self.write_done, &mut self.send.write_done);

        self.control.is_open.next = self.table.is_read.val();
        self.control.has_passed.next = self.route.ends.val();
        self.control.is_taken.next = self.is_taken.val();
        self.control.is_refused.next = self.table.is_refused.val();
        self.control.has_failed.next = self.table.has_failed.val();
        self.control.overflows.next = self.overflows.val();
        self.control.is_resting.next = self.finish.is_resting.val();
        self.control.may_follow.next = self.finish.may_follow.val();
        self.control.concludes.next = self.concludes.val();
        self.control.forgets.next = self.forgets.val();

        self.finish.now.next = self.task.val();
        self.finish.is_ahead.next = self.control.is_ahead.val();
        self.finish.judges.next = self.control.judges.val();
        self.finish.flushes.next = self.control.flushes.val();
        self.finish.has_overflowed.next = self.control.has_overflowed.val();
        self.finish.tells.next = self.control.tells.val();
        self.finish.is_settled.next = self.is_settled.val();
        self.finish.is_saved.next = self.table.is_saved.val();
        self.finish.is_refused.next = self.table.is_refused.val() | self.send.is_refused.val();
        self.finish.has_failed.next = self.table.has_failed.val() | self.send.has_failed.val();
        StreamSource::<SlotResponse>::link(&mut self.response, &mut self.finish.response);

        self.data_out.valid.next = false;
        self.data_out.payload.next.data = 0.into();
        self.data_out.payload.next.nbytes = 0.into();
        self.data_out.payload.next.sop = false;
        self.data_out.payload.next.eop = false;
        self.data_out.payload.next.err = false;
    }
}
