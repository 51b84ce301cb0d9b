//! Port: what stands between the transport and one kernel.

pub mod answer;
pub mod asks;
pub mod feed;
pub mod model;
pub mod owed;
pub mod records;
pub mod restart;
#[cfg(test)]
mod rig;
pub mod room;
pub mod shift;
#[cfg(test)]
mod tests;
pub mod tickets;

use rust_hdl::prelude::*;
use stroma_abi::desc::region::rights;

use answer::Answer;
use asks::Asks;
use feed::Feed;
use owed::Owed;
use records::Item;
use restart::Restart;
use room::Room;
use tickets::Tickets;

use super::records::{Access, Call, Calling, Chunk};
use crate::constant::number;
use crate::host::work::QpChange;
use crate::prim::block_fifo::BlockFifo;
use crate::prim::fifo::Fifo;
use crate::prim::reg::Reg;
use crate::slot::{SlotCommand, SlotRead, SlotResponse, SlotWrite};
use crate::stream::{Beat, StreamSink, StreamSource};

/// Bytes of the longest packet: room is counted in these.
pub const PACKET: usize = 4096;

block! {
    /// Holds requests for a kernel, feeds it, and takes what it asks for and answers; whatever the kernel does wrong ends here.
    ///
    /// ```text
    ///   reserves ─ Room ─ room                    Tickets: who asked, and whether he is still there
    ///   call ────── items ─┐
    ///   payload ─── beats ─┴ Feed ─ command, data_in ─▶ kernel        Restart: kernel_reset, dma_reset
    ///   read_access, write_access ◀─ Asks ◀─ read, write ─ kernel     Owed: what has not come back
    ///   chunk, chunk_data ◀─ Answer ◀─ data_out, response ─ kernel
    /// ```
    ///
    /// - **Room** `room`: a request of `asks_qpn`, of the cycle before, may begin; half of it is for queue pairs that have none waiting here, and who has had the slot
    ///   for a stream lets one go first who was `refused` meanwhile ([`room`]); there is a place for its header, one for a packet of 4 KiB, and no stream is under way. `room_more`:
    ///   another packet may come, of the stream that is under way or of one that is no more. Both are registers. `reserves`, with
    ///   `reserves_begins`, `reserves_ends`, `reserves_qpn`: a packet is on its way; it counts from the next cycle on. Its place comes back when its last
    ///   beat has left the buffer; without payload, with its call.
    /// - **Requests** `payload`: a packet for each that has payload, in the order of reservation; `call`: behind it, for each packet of this kernel,
    ///   `Begins` or `GoesOn`, in the same order. Both are always ready. One that begins waits until `visible` has come to its ticket: what its caller wrote
    ///   before is there to be read. With `gives_up` nothing comes of it, and a stream of it is aborted.
    /// - **Kernel** `command`, `data_in`, `read`, `write`, `data_out`, `response` as [`slot`](crate::slot) says, and `kernel_reset`. Tickets 0 to 15 in turn, 16
    ///   open at most. All that have had their command are of one queue pair: a kernel that has to be reset takes nobody else's work along. `data_in` comes behind its command. A response moves at once, and counts when the whole request has come and was taken, and all reads and writes of its ticket have ended.
    /// - **Memory** `read_access`, `write_access`: what the kernel asks for, in order, as if its caller had asked: `refused` if the ticket has no
    ///   open command, the caller is gone, his connection does not let him read, or write, or the length is 0 or above 4096. Data goes between memory and kernel without the
    ///   port; `read_ends`, `write_ends`: a cycle high for each that has ended. `dma_reset`: the kernel is reset, and what it has under way has to
    ///   go; `dma_idle`: it has. That is believed when no access was on offer for 8 cycles, so it must be low by then.
    /// - **Answers** `chunk`, and a packet of `chunk_data` for each that has bytes, in order: pieces of the path MTU, each whole when it is offered, the last one
    ///   with `ends`. Bytes beyond `response_max` are thrown away, and `Ok` becomes `Limit`. `len` of a response is not looked at: the
    ///   bytes count. An answer of an orphan has none.
    /// - **Wrong** a response whose ticket is not that of the oldest command is thrown away with its bytes; beats without an open
    ///   command, too. The answer's bytes end with the first beat that is not full, or ends a packet. A response before the last read or write has ended waits.
    /// - **Watchdog** `limit`: an invocation that is the oldest for so many cycles without an answer (0: any number), and [`BEAT_CYCLES`](room::BEAT_CYCLES)
    ///   more for each beat of its payload that was taken, ends, and the kernel is reset: the
    ///   oldest is answered with `Limit`, the others that have had their command, of the same queue pair, with `Aborted`,
    ///   without bytes; those without go on when the kernel runs again. One whose request is still coming is not answered now, but with `Aborted` at its last packet.
    /// - **Streams that stop** `patience`: a stream whose last packet is not reserved so many cycles after the first (0: any number), and
    ///   [`BEAT_CYCLES`](room::BEAT_CYCLES) more for each beat of its payload that has come, is aborted. If it has
    ///   a ticket, the kernel is reset when all before it are answered. Packets of a stream that is no more are thrown away when it is their turn,
    ///   and its last is answered with `Aborted`.
    /// - **Change** `change_valid`, `change`: always taken. With `stops` or `resets` all invocations of that queue pair, open or waiting, become
    ///   orphans, and a stream of it that is under way is aborted. A request whose call comes later is not touched: nothing comes of its
    ///   answer.
    /// - **Pulses** `invoked`: a command was taken; `answered_ok`, `answered_failed`: a chunk that ends, by its status; `expired`: the watchdog; `aborted`: patience, or a
    ///   change. `busy`: anything is inside, or reserved.
    /// - **Latency** with D = 512 (D = 64 takes a cycle for each beat of parameters): 4 cycles from `call` to `command` if nothing waits, 3 without parameters; 2 from `command` to `data_in`, 3 if that begins with a beat; 1 from `read` to `read_access`; 2
    ///   from `response` to `chunk`, 4 to `chunk_data`. **Rate** 1 beat per cycle in the middle of a stream, and of an answer.
    /// - **Reset** forgets everything; nothing may be reserved or under way in memory. While `kernel_reset` is high, and when it rises, offers to
    ///   the kernel are withdrawn.
    /// - **Limits** `2^LOG` beats are 1 to 16 packets of 4 KiB, and answers are held in as many: at least twice 4 KiB.
    pub struct Port<const D: usize, const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub room: Signal<Out, Bit>,
        pub room_more: Signal<Out, Bit>,
        pub asks_qpn: Signal<In, Bits<24>>,
        pub refused: Signal<In, Bit>,
        pub refused_qpn: Signal<In, Bits<24>>,
        pub reserves: Signal<In, Bit>,
        pub reserves_begins: Signal<In, Bit>,
        pub reserves_ends: Signal<In, Bit>,
        pub reserves_qpn: Signal<In, Bits<24>>,
        pub payload: StreamSink<Beat<D>>,
        pub call: StreamSink<Call>,
        pub command: StreamSource<SlotCommand>,
        pub data_in: StreamSource<Beat<D>>,
        pub read: StreamSink<SlotRead>,
        pub read_access: StreamSource<Access>,
        pub read_ends: Signal<In, Bit>,
        pub write: StreamSink<SlotWrite>,
        pub write_access: StreamSource<Access>,
        pub write_ends: Signal<In, Bit>,
        pub data_out: StreamSink<Beat<D>>,
        pub response: StreamSink<SlotResponse>,
        pub chunk: StreamSource<Chunk>,
        pub chunk_data: StreamSource<Beat<D>>,
        pub kernel_reset: Signal<Out, Bit>,
        pub dma_reset: Signal<Out, Bit>,
        pub dma_idle: Signal<In, Bit>,
        pub visible: Signal<In, Bits<16>>,
        pub limit: Signal<In, Bits<32>>,
        pub patience: Signal<In, Bits<32>>,
        pub change_valid: Signal<In, Bit>,
        pub change: Signal<In, QpChange>,
        pub invoked: Signal<Out, Bit>,
        pub answered_ok: Signal<Out, Bit>,
        pub answered_failed: Signal<Out, Bit>,
        pub expired: Signal<Out, Bit>,
        pub aborted: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        space: Room = Room::new((1 << LOG) * (D / 8) / PACKET),
        items: Fifo<Item, 5>,
        beats: BlockFifo<Beat<D>, LOG>,
        tickets: Tickets,
        feed: Feed<D>,
        reads: Asks,
        writes: Asks = Asks::writing(),
        owed: Owed,
        answer: Answer<D, LOG>,
        restart: Restart,
        /// Queue pair of the stream that came last: who goes on with it is told here, where there is time to compare.
        streaming: Reg<Bits<24>>,
        /// What the oldest request waits for is visible.
        is_due: Reg<Bit>,
        /// Who asked for the youngest invocation, and that he asked for the one before it, too.
        serving: Reg<Bits<24>>,
        is_same: Reg<Bit>,
        ahead: Signal<Local, Bits<16>>,
        begins: Signal<Local, Bit>,
        has_payload: Signal<Local, Bit>,
        stops: Signal<Local, Bit>,
        beginning: Constant<Bits<2>> = number(Calling::Begins as u64),
        remote_read: Constant<Bits<5>> = number(rights::REMOTE_READ),
        remote_write: Constant<Bits<5>> = number(rights::REMOTE_WRITE),
    }
}

impl<const D: usize, const LOG: usize> Logic for Port<D, LOG> {
    #[expect(clippy::too_many_lines, reason = "joins: one line a wire")]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, space, items, beats, tickets, feed, reads, writes, owed, answer, restart);
        dff_setup!(self, clock, streaming, is_due, serving, is_same);
        self.space.reset.next = self.reset.val();
        self.items.reset.next = self.reset.val();
        self.beats.reset.next = self.reset.val();
        self.tickets.reset.next = self.reset.val();
        self.feed.reset.next = self.reset.val();
        self.reads.reset.next = self.reset.val();
        self.writes.reset.next = self.reset.val();
        self.owed.reset.next = self.reset.val();
        self.answer.reset.next = self.reset.val();
        self.restart.reset.next = self.reset.val();

        // Room.
        self.room.next = self.space.room.val();
        self.room_more.next = self.space.room_more.val();
        self.space.asks_qpn.next = self.asks_qpn.val();
        self.space.refused.next = self.refused.val();
        self.space.refused_qpn.next = self.refused_qpn.val();
        self.space.reserves.next = self.reserves.val();
        self.space.reserves_begins.next = self.reserves_begins.val();
        self.space.reserves_ends.next = self.reserves_ends.val();
        self.space.reserves_qpn.next = self.reserves_qpn.val();
        self.space.header_leaves.next = self.feed.opens.val() | self.feed.drops.val();
        self.space.returns_feed.next = self.feed.returns.val();
        self.space.comes.next = self.payload.valid.val();
        self.space.change_valid.next = self.change_valid.val();
        self.space.change.next = self.change.val();
        self.space.patience.next = self.patience.val();
        self.space.stream.next = self.feed.stream.val();
        self.space.next_stream.next = self.feed.next_stream.val();
        self.space.kills.next = self.feed.kills.val();
        self.aborted.next = self.space.aborted.val();

        // Requests. A packet that goes on with one has payload; one that begins has some if its request has.
        self.begins.next = self.call.payload.val().calling == self.beginning.val();
        self.has_payload.next =
            !self.call.payload.val().gives_up & (!self.begins.val() | self.call.payload.val().length.any());
        self.call.ready.next = true;
        self.items.sink.valid.next = self.call.valid.val();
        self.items.sink.payload.next.begins = self.begins.val();
        self.items.sink.payload.next.ends = self.call.payload.val().ends;
        self.items.sink.payload.next.is_own = self.call.payload.val().qpn == self.streaming.q.val();
        self.items.sink.payload.next.gives_up = self.call.payload.val().gives_up;
        self.items.sink.payload.next.has_payload = self.has_payload.val();
        self.items.sink.payload.next.qpn = self.call.payload.val().qpn;
        self.items.sink.payload.next.pd = self.call.payload.val().pd;
        self.items.sink.payload.next.path_mtu = self.call.payload.val().path_mtu;
        self.items.sink.payload.next.place = self.call.payload.val().place;
        self.items.sink.payload.next.target = self.call.payload.val().target;
        self.items.sink.payload.next.key = self.call.payload.val().key;
        self.items.sink.payload.next.may_read =
            (self.call.payload.val().rights & self.remote_read.val()).any();
        self.items.sink.payload.next.may_write =
            (self.call.payload.val().rights & self.remote_write.val()).any();
        self.items.sink.payload.next.length = self.call.payload.val().length;
        self.items.sink.payload.next.ticket = self.call.payload.val().ticket;
        if self.call.valid.val() & self.begins.val() & !self.call.payload.val().ends {
            self.streaming.d.next = self.call.payload.val().qpn;
        }
        self.space.returns_call.next = self.call.valid.val() & self.begins.val() & !self.has_payload.val();
        StreamSink::<Beat<D>>::link(&mut self.payload, &mut self.beats.sink);
        StreamSource::<Item>::join(&mut self.items.source, &mut self.feed.item);
        StreamSource::<Beat<D>>::join(&mut self.beats.source, &mut self.feed.beats);
        // Tickets count round: one that is not visible yet lies behind, and the difference is below zero.
        self.ahead.next = self.visible.val() - self.items.source.payload.val().ticket;
        self.is_due.d.next = self.items.source.valid.val()
            & !self.feed.item.ready.val()
            & !self.ahead.val().get_bit(15)
            & !self.reset.val();

        // Kernel.
        self.stops.next = self.restart.kernel_reset.val();
        self.kernel_reset.next = self.restart.kernel_reset.val();
        StreamSource::<SlotCommand>::link(&mut self.command, &mut self.feed.command);
        StreamSource::<Beat<D>>::link(&mut self.data_in, &mut self.feed.data_in);
        self.invoked.next = self.feed.commands.val();
        self.feed.has_ticket.next = self.tickets.has_room.val() & self.is_due.q.val();
        self.feed.ticket.next = self.tickets.upcoming.val();
        if self.feed.opens.val() {
            self.serving.d.next = self.items.source.payload.val().qpn;
            self.is_same.d.next = self.items.source.payload.val().qpn == self.serving.q.val();
        }
        self.feed.may_give.next = self.is_same.q.val() | self.tickets.is_youngest.val();
        self.feed.is_dead.next = self.space.is_dead.val();
        self.feed.is_next_dead.next = self.space.is_next_dead.val();
        self.feed.halts.next = self.stops.val();
        self.feed.forgets.next = self.restart.forgets.val();
        self.feed.ends_stream.next = self.restart.ends_stream.val();

        self.tickets.arrives.next = self.call.valid.val() & self.begins.val();
        self.tickets.arrives_qpn.next = self.call.payload.val().qpn;
        self.tickets.drops.next = self.feed.drops.val();
        self.tickets.opens.next = self.feed.opens.val();
        self.tickets.caller.next = self.feed.caller.val();
        self.tickets.commands.next = self.feed.commands.val();
        self.tickets.closes.next = self.answer.closes.val();
        self.tickets.change_valid.next = self.change_valid.val();
        self.tickets.change.next = self.change.val();
        self.tickets.read_ticket.next = self.reads.ticket.val();
        self.tickets.write_ticket.next = self.writes.ticket.val();

        // Memory.
        StreamSink::<SlotRead>::link(&mut self.read, &mut self.reads.sink);
        StreamSource::<Access>::link(&mut self.read_access, &mut self.reads.source);
        self.reads.caller.next = self.tickets.read_caller.val();
        self.reads.is_refused.next = self.tickets.read_refused.val();
        self.reads.ends.next = self.read_ends.val();
        self.reads.stops.next = self.stops.val();
        self.reads.clears.next = self.restart.clears.val();
        self.writes.sink.valid.next = self.write.valid.val();
        self.writes.sink.payload.next.ticket = self.write.payload.val().ticket;
        self.writes.sink.payload.next.va = self.write.payload.val().va;
        self.writes.sink.payload.next.key = self.write.payload.val().key;
        self.writes.sink.payload.next.len = self.write.payload.val().len;
        self.write.ready.next = self.writes.sink.ready.val();
        StreamSource::<Access>::link(&mut self.write_access, &mut self.writes.source);
        self.writes.caller.next = self.tickets.write_caller.val();
        self.writes.is_refused.next = self.tickets.write_refused.val();
        self.writes.ends.next = self.write_ends.val();
        self.writes.stops.next = self.stops.val();
        self.writes.clears.next = self.restart.clears.val();
        self.owed.clears.next = self.restart.clears.val();
        self.owed.begun[0].next = self.reads.begun.val();
        self.owed.begun_ticket[0].next = self.reads.begun_ticket.val();
        self.owed.ended[0].next = self.reads.ended.val();
        self.owed.ended_ticket[0].next = self.reads.ended_ticket.val();
        self.owed.begun[1].next = self.writes.begun.val();
        self.owed.begun_ticket[1].next = self.writes.begun_ticket.val();
        self.owed.ended[1].next = self.writes.ended.val();
        self.owed.ended_ticket[1].next = self.writes.ended_ticket.val();
        self.owed.of.next = self.tickets.oldest_bit.val();

        // Answers.
        StreamSink::<Beat<D>>::link(&mut self.data_out, &mut self.answer.data_out);
        StreamSink::<SlotResponse>::link(&mut self.response, &mut self.answer.response);
        self.answer.stops.next = self.stops.val();
        self.answer.oldest.next = self.tickets.oldest.val();
        self.answer.caller.next = self.tickets.oldest_caller.val();
        self.answer.is_orphan.next = self.tickets.is_orphan.val();
        self.answer.is_commanded.next = self.tickets.is_commanded.val();
        self.answer.is_quiet.next = self.owed.is_quiet.val();
        self.answer.is_whole.next = !(self.feed.is_feeding.val() & self.tickets.is_youngest.val());
        self.answer.ends.next = self.restart.ends.val();
        self.answer.ends_status.next = self.restart.status.val();
        self.answer.ends_silently.next = self.restart.silently.val();
        StreamSource::<Chunk>::join(&mut self.feed.tells, &mut self.answer.tells);
        StreamSource::<Chunk>::link(&mut self.chunk, &mut self.answer.chunk);
        StreamSource::<Beat<D>>::link(&mut self.chunk_data, &mut self.answer.chunk_data);
        self.answered_ok.next = self.answer.answered_ok.val();
        self.answered_failed.next = self.answer.answered_failed.val();

        // Restart.
        self.restart.limit.next = self.limit.val();
        self.restart.some.next = self.tickets.some.val();
        self.restart.is_commanded.next = self.tickets.is_commanded.val();
        self.restart.is_youngest.next = self.tickets.is_youngest.val();
        self.restart.is_open.next = self.feed.is_open.val();
        self.restart.is_dead.next = self.space.is_dead.val();
        self.restart.moves.next = self.feed.feeds.val();
        self.restart.closes.next = self.answer.closes.val();
        self.restart.is_halted.next = self.feed.is_halted.val();
        self.restart.is_empty.next = self.reads.is_empty.val() & self.writes.is_empty.val();
        self.restart.dma_idle.next = self.dma_idle.val();
        self.restart.ended.next = self.answer.ended.val();
        self.dma_reset.next = self.restart.dma_reset.val();
        self.expired.next = self.restart.expired.val();

        self.busy.next = self.space.busy.val()
            | self.feed.busy.val()
            | self.tickets.some.val()
            | self.owed.some.val()
            | self.answer.busy.val()
            | self.restart.busy.val();
    }
}
