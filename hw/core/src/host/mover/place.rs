//! Place: the one stage that decides, in order, what is written and how a work ends.

use rust_hdl::prelude::*;
use stroma_abi::desc::Status;

use super::pair::Move;
use crate::constant::number;
use crate::host::work::{HostWrite, Work};
use crate::prim::reg::Reg;
use crate::record;
use crate::state::access::Cause;
use crate::stream::{StreamSink, StreamSource};

record! {
    /// What becomes of a chunk's bytes; and, behind the last one, of its work.
    pub struct Pass {
        /// The chunk is counted, in this colour.
        pub counts: Bit,
        pub colour: Bit,
        /// A packet is there, and is written.
        pub writes: Bit,
        /// A packet is there, and is thrown away.
        pub drops: Bit,
        /// It is the next of the inline data, or of those read: both are kept, for the one selects a whole beat.
        pub is_inline: Bit,
        pub is_read: Bit,
        /// The work ends with this chunk; the fields below mean something.
        pub ends: Bit,
        /// A completion tells it.
        pub tells: Bit,
        /// The queue pair goes into error.
        pub fails: Bit,
        /// A job is retired, of this colour.
        pub retires: Bit,
        pub job_colour: Bit,
        /// Of the completion.
        pub cq: Bits<24>,
        pub qpn: Bits<24>,
        pub index: Bits<16>,
        pub opcode: Bits<8>,
        pub status: Bits<8>,
        pub vendor: Bits<8>,
        pub length: Bits<32>,
    }
}

block! {
    /// Judges each chunk when all before it are judged, and gives the write commands.
    ///
    /// - **Ports** `moves`: chunks, at least one a work; `ticket`: their works; `verdict`: high if a read failed, one for each
    ///   packet read; `look`, `failed`, `mark`, `open`: as [`Failures`](crate::state::failures::Failures), and `open` says that a chunk may be judged; `write`:
    ///   commands; `pass`: every chunk, no earlier than its command is taken; `busy`: a chunk is inside.
    /// - **Rules** nothing is written of a chunk that is refused or could not be read, of any later chunk of its work, or of
    ///   any later work of its queue pair, which is flushed, refused works included. The first failure is told.
    /// - **Latency** 1 cycle. **Rate** 1 chunk every 2 cycles; behind a `mark` a cycle more, for `open` is low.
    /// - **Backpressure** stalls `moves`. `pass.valid` follows `write.ready` combinationally, `mark` and the sinks' `ready`
    ///   follow the sinks.
    /// - **Reset** forgets the chunk inside, and that its work has failed.
    /// - **Limits** a ticket is there a cycle before its first chunk: `failed` is that of the cycle before.
    pub struct Place {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub moves: StreamSink<Move>,
        pub ticket: StreamSink<Work>,
        pub verdict: StreamSink<Bit>,
        pub look: Signal<Out, Bits<24>>,
        pub failed: Signal<In, Bit>,
        pub mark: Signal<Out, Bit>,
        pub open: Signal<In, Bit>,
        pub write: StreamSource<HostWrite>,
        pub pass: StreamSource<Pass>,
        pub busy: Signal<Out, Bit>,
        /// The queue pair of the ticket on offer had failed in the cycle before.
        has_failed: Reg<Bit>,
        /// The work under way is flushed; has failed, and how.
        is_flushed: Reg<Bit>,
        is_spoilt: Reg<Bit>,
        spoilt_status: Reg<Bits<8>>,
        spoilt_vendor: Reg<Bits<8>>,
        /// The chunk judged last, and its command if that is not taken yet.
        held: Reg<Pass>,
        is_held: Reg<Bit>,
        command: Reg<HostWrite>,
        is_command: Reg<Bit>,
        flushes: Signal<Local, Bit>,
        is_unread: Signal<Local, Bit>,
        fails_now: Signal<Local, Bit>,
        is_bad: Signal<Local, Bit>,
        bad_status: Signal<Local, Bits<8>>,
        bad_vendor: Signal<Local, Bits<8>>,
        is_refused: Signal<Local, Bit>,
        fails: Signal<Local, Bit>,
        goes: Signal<Local, Bit>,
        writes: Signal<Local, Bit>,
        is_told: Signal<Local, Bit>,
        protection: Constant<Bits<8>> = number(Status::LocalProtection as u8),
        general: Constant<Bits<8>> = number(Status::General as u8),
        flushed: Constant<Bits<8>> = number(Status::Flushed as u8),
        page_list: Constant<Bits<3>> = number(Cause::PageList as u8),
    }
}

impl Logic for Place {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, is_flushed, is_spoilt, spoilt_status, spoilt_vendor, held, is_held);
        dff_setup!(self, clock, command, is_command, has_failed);
        self.look.next = self.ticket.payload.val().qpn;
        self.has_failed.d.next = self.failed.val();
        self.flushes.next =
            !self.ticket.payload.val().ends & (self.has_failed.q.val() | self.is_flushed.q.val());
        self.is_unread.next = self.moves.payload.val().is_read & self.verdict.payload.val();
        self.fails_now.next = self.moves.payload.val().cause.any() | self.is_unread.val();
        self.is_bad.next = self.is_spoilt.q.val() | self.fails_now.val();
        self.bad_status.next = self.general.val();
        if self.moves.payload.val().cause.any() & (self.moves.payload.val().cause != self.page_list.val()) {
            self.bad_status.next = self.protection.val();
        }
        self.bad_vendor.next = bit_cast::<8, 3>(self.moves.payload.val().cause);
        if self.is_spoilt.q.val() {
            self.bad_status.next = self.spoilt_status.q.val();
            self.bad_vendor.next = self.spoilt_vendor.q.val();
        }
        self.is_refused.next = self.ticket.payload.val().status.any();
        self.fails.next = !self.ticket.payload.val().ends
            & !self.flushes.val()
            & (self.is_bad.val()
                | (self.is_refused.val() & (self.ticket.payload.val().status != self.flushed.val())));
        self.writes.next = self.moves.payload.val().has_data & !self.is_bad.val() & !self.flushes.val();

        self.goes.next = self.moves.valid.val()
            & self.ticket.valid.val()
            & (self.verdict.valid.val() | !self.moves.payload.val().is_read)
            & self.open.val()
            & !self.is_held.q.val();
        self.moves.ready.next = self.goes.val();
        self.ticket.ready.next = self.goes.val() & self.moves.payload.val().last;
        self.verdict.ready.next = self.goes.val() & self.moves.payload.val().is_read;
        self.mark.next = self.goes.val() & self.moves.payload.val().last & self.fails.val();

        self.write.valid.next = self.is_command.q.val();
        self.write.payload.next = self.command.q.val();
        if self.write.ready.val() {
            self.is_command.d.next = false;
        }
        self.is_told.next = self.write.ready.val() | !self.is_command.q.val();
        self.pass.valid.next = self.is_held.q.val() & self.is_told.val();
        self.pass.payload.next = self.held.q.val();
        if self.pass.ready.val() & self.is_told.val() {
            self.is_held.d.next = false;
        }
        self.busy.next = self.is_held.q.val();

        if self.goes.val() {
            self.is_flushed.d.next = self.flushes.val() & !self.moves.payload.val().last;
            self.is_spoilt.d.next = self.is_bad.val() & !self.moves.payload.val().last;
            self.spoilt_status.d.next = self.bad_status.val();
            self.spoilt_vendor.d.next = self.bad_vendor.val();
            self.is_command.d.next = self.writes.val();
            self.command.d.next.iova = self.moves.payload.val().iova;
            self.command.d.next.len = self.moves.payload.val().len;
            self.command.d.next.qpn = self.ticket.payload.val().qpn;
            self.is_held.d.next = true;
            self.held.d.next.counts = self.moves.payload.val().has_data;
            self.held.d.next.colour = self.moves.payload.val().colour;
            self.held.d.next.writes = self.writes.val();
            self.held.d.next.drops = !self.writes.val()
                & self.moves.payload.val().has_data
                & (self.moves.payload.val().is_inline
                    | (self.moves.payload.val().is_read & !self.verdict.payload.val()));
            self.held.d.next.is_inline = self.moves.payload.val().is_inline;
            self.held.d.next.is_read = !self.moves.payload.val().is_inline;
            self.held.d.next.ends = self.moves.payload.val().last;
            self.held.d.next.fails = self.fails.val();
            self.held.d.next.retires = self.ticket.payload.val().ends;
            self.held.d.next.job_colour = self.ticket.payload.val().colour;
            self.held.d.next.cq = self.ticket.payload.val().cq;
            self.held.d.next.qpn = self.ticket.payload.val().qpn;
            self.held.d.next.index = self.ticket.payload.val().index;
            self.held.d.next.opcode = self.ticket.payload.val().opcode;
            self.held.d.next.tells = !self.ticket.payload.val().ends;
            self.held.d.next.length = 0.into();
            if self.flushes.val() {
                self.held.d.next.status = self.flushed.val();
                self.held.d.next.vendor = 0.into();
            } else if self.is_refused.val() {
                self.held.d.next.status = self.ticket.payload.val().status;
                self.held.d.next.vendor = self.ticket.payload.val().vendor;
            } else if self.is_bad.val() {
                self.held.d.next.status = self.bad_status.val();
                self.held.d.next.vendor = self.bad_vendor.val();
            } else {
                self.held.d.next.tells = self.ticket.payload.val().signaled & !self.ticket.payload.val().ends;
                self.held.d.next.status = 0.into();
                self.held.d.next.vendor = 0.into();
                self.held.d.next.length = self.ticket.payload.val().length;
            }
        }
        if self.reset.val() {
            self.is_flushed.d.next = false;
            self.is_spoilt.d.next = false;
            self.is_held.d.next = false;
            self.is_command.d.next = false;
        }
    }
}
