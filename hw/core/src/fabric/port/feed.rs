//! Feed: requests become invocations, packet by packet.

use rust_hdl::prelude::*;
use stroma_abi::wire::RpcStatus;

use super::records::{Caller, Item};
use super::room::STREAM_BITS;
use super::shift::Shift;
use crate::constant::number;
use crate::fabric::records::Chunk;
use crate::prim::reg::Reg;
use crate::slot::{PARAMETER_BITS, SlotCommand, TICKET_BITS};
use crate::stream::{Beat, StreamSink, StreamSource};

/// What is done with the packet under way.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// There is none.
    Idle,
    /// Its parameters are taken.
    Collect,
    /// The command is offered.
    Give,
    /// Its data goes to the kernel.
    Pass,
    /// The end of a stream that is no more is told.
    Tell,
    /// It is thrown away.
    Discard,
}

block! {
    /// Takes packets in order, and gives the kernel a command for each request and what follows its parameters.
    ///
    /// All payload is among the beats, wanted or not: whether a stream still counts is asked when its packet has its turn. So no
    /// payload has to be found again and taken out.
    ///
    /// - **Ports** `item`, `beats`: the packets, and their payload. `command`, `data_in`: to the kernel; no data before its command is taken. `may_give`: a command may be offered.
    ///   `has_ticket`, `ticket`: the next one; `opens`, `caller`: it is given away; `drops`: a header goes without; `commands`: the command is
    ///   taken. `stream`, `next_stream`: number of the stream that is fed, or was last, and of the one after it; `is_open`: more of it has to come; `is_feeding`: the kernel has not all of
    ///   the youngest request; `is_dead`, `is_next_dead`: it was
    ///   aborted, the next one was; `kills`: it is now. `feeds`: a beat of the youngest request is taken from those; `returns`: a packet needs its place no more. `tells`: a stream that was
    ///   aborted has come to its end. `halts`: the kernel is reset, and the packet under way is thrown away, unless its command has not been
    ///   taken; `is_halted`: that has happened. `forgets`: that command is over, too; `ends_stream`: so is the stream. `busy`: a packet is
    ///   under way.
    /// - **Latency** 1 cycle from `item` to `command`, and 1 for each beat of parameters; 2 more to `data_in`, 3 if that begins with a beat. **Rate** 1 beat per cycle in the middle of a stream, without a gap
    ///   between its packets.
    /// - **Backpressure** stalls `item` and `beats`. No combinational path from port to port but what `halts` and the room say.
    /// - **Reset** forgets the packet under way.
    pub struct Feed<const D: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub item: StreamSink<Item>,
        pub beats: StreamSink<Beat<D>>,
        pub command: StreamSource<SlotCommand>,
        pub data_in: StreamSource<Beat<D>>,
        pub may_give: Signal<In, Bit>,
        pub has_ticket: Signal<In, Bit>,
        pub ticket: Signal<In, Bits<TICKET_BITS>>,
        pub opens: Signal<Out, Bit>,
        pub caller: Signal<Out, Caller>,
        pub drops: Signal<Out, Bit>,
        pub commands: Signal<Out, Bit>,
        pub stream: Signal<Out, Bits<STREAM_BITS>>,
        pub next_stream: Signal<Out, Bits<STREAM_BITS>>,
        pub is_open: Signal<Out, Bit>,
        pub is_feeding: Signal<Out, Bit>,
        pub is_dead: Signal<In, Bit>,
        pub is_next_dead: Signal<In, Bit>,
        pub kills: Signal<Out, Bit>,
        pub feeds: Signal<Out, Bit>,
        pub returns: Signal<Out, Bit>,
        pub tells: StreamSource<Chunk>,
        pub halts: Signal<In, Bit>,
        pub is_halted: Signal<Out, Bit>,
        pub forgets: Signal<In, Bit>,
        pub ends_stream: Signal<In, Bit>,
        pub busy: Signal<Out, Bit>,
        shift: Shift<D>,
        step: Reg<Step>,
        order: Reg<SlotCommand>,
        /// Words of parameters, and beats of them that have come.
        words: Reg<Bits<5>>,
        collected: Reg<Bits<3>>,
        /// Beats of the packet are left.
        is_rest: Reg<Bit>,
        /// The command was taken.
        is_told: Reg<Bit>,
        number: Reg<Bits<STREAM_BITS>>,
        /// The one after that, so that nobody has to add before he asks whether it was aborted.
        next_number: Reg<Bits<STREAM_BITS>>,
        has_stream: Reg<Bit>,
        /// The stream never began: it is over for those who reserve, too.
        is_void: Reg<Bit>,
        told: Reg<Chunk>,
        now: Signal<Local, Item>,
        is_gone: Signal<Local, Bit>,
        is_live: Signal<Local, Bit>,
        may_look: Signal<Local, Bit>,
        looks: Signal<Local, Bit>,
        continues: Signal<Local, Bit>,
        takes: Signal<Local, Bit>,
        passes: Signal<Local, Bit>,
        moves: Signal<Local, Bit>,
        discards: Signal<Local, Bit>,
        target: Signal<Local, Bits<64>>,
        words_now: Signal<Local, Bits<5>>,
        skip: Signal<Local, Bits<7>>,
        /// Words that have come with the beat on offer.
        reached: Signal<Local, Bits<5>>,
        placed: Signal<Local, Bits<PARAMETER_BITS>>,
        mask: Signal<Local, Bits<PARAMETER_BITS>>,
        ones: Constant<Bits<PARAMETER_BITS>> = Constant::new(Bits::mask()),
        is_narrow: Constant<Bit> = Constant::new(D < PARAMETER_BITS),
        beat_words: Constant<Bits<5>> = number(D / 32),
        aborted: Constant<Bits<32>> = number(RpcStatus::Aborted as u32),
    }
}

impl<const D: usize> Logic for Feed<D> {
    #[expect(
        clippy::too_many_lines,
        reason = "the steps of a packet, and a line for each field of a command"
    )]
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, shift);
        dff_setup!(
            self,
            clock,
            step,
            order,
            words,
            collected,
            is_rest,
            is_told,
            number,
            next_number,
            has_stream,
            told
        );
        dff_setup!(self, clock, is_void);
        self.now.next = self.item.payload.val();
        self.stream.next = self.number.q.val();
        self.next_stream.next = self.next_number.q.val();
        self.is_open.next = self.has_stream.q.val();
        self.is_feeding.next =
            self.has_stream.q.val() | (self.step.q.val() == Step::Pass) | !self.shift.is_idle.val();
        self.busy.next = (self.step.q.val() != Step::Idle) | !self.shift.is_idle.val();

        self.caller.next.qpn = self.now.val().qpn;
        self.caller.next.pd = self.now.val().pd;
        self.caller.next.path_mtu = self.now.val().path_mtu;
        self.caller.next.place = self.now.val().place;
        self.caller.next.may_read = self.now.val().may_read;
        self.caller.next.may_write = self.now.val().may_write;
        self.target.next = self.now.val().target;
        self.caller.next.response_max = self.target.val().get_bits::<17>(32);
        self.words_now.next = self.target.val().get_bits::<5>(16);
        self.skip.next = bit_cast::<7, 5>(self.words_now.val()) << 2;

        // A stream that was aborted while it is fed has to be taken from the kernel first.
        self.may_look.next =
            self.item.valid.val() & !self.halts.val() & !(self.has_stream.q.val() & self.is_dead.val());
        self.looks.next = self.may_look.val() & (self.step.q.val() == Step::Idle);
        self.is_gone.next = self.now.val().gives_up | (!self.now.val().ends & self.is_next_dead.val());
        // One that is fed is the one that began last: before another comes to be fed, it has ended, or was aborted and taken away.
        self.is_live.next = self.has_stream.q.val() & self.now.val().is_own;

        self.beats.ready.next = false;
        self.passes.next = false;
        self.discards.next = false;
        if (self.step.q.val() == Step::Collect) | ((self.step.q.val() == Step::Pass) & !self.halts.val()) {
            self.beats.ready.next = self.shift.sink.ready.val();
            self.passes.next = self.beats.valid.val();
        }
        if self.step.q.val() == Step::Discard {
            self.beats.ready.next = true;
            self.discards.next = self.beats.valid.val();
        }
        self.feeds.next = self.passes.val() & self.shift.sink.ready.val();
        self.moves.next = (self.passes.val() & self.shift.sink.ready.val()) | self.discards.val();
        self.shift.sink.valid.next = self.passes.val();
        self.shift.sink.payload.next = self.beats.payload.val();
        self.shift.skip.next = self.skip.val();
        self.shift.keep.next = self.now.val().length - bit_cast::<32, 7>(self.skip.val());
        self.shift.gate.next = self.is_told.q.val() & !self.halts.val();
        // What the kernel was about to get; data of an invocation without a command stays.
        self.shift.reset.next = self.reset.val()
            | self.forgets.val()
            | (self.halts.val()
                & ((self.step.q.val() == Step::Idle)
                    | (self.step.q.val() == Step::Tell)
                    | (self.step.q.val() == Step::Discard)));
        StreamSource::<Beat<D>>::link(&mut self.data_in, &mut self.shift.source);

        self.mask.next = !(self.ones.val() << (bit_cast::<10, 5>(self.words.q.val()) << 5));
        self.placed.next = bit_cast::<PARAMETER_BITS, D>(self.beats.payload.val().data);
        self.reached.next = self.beat_words.val();
        if self.is_narrow.val() {
            self.placed.next = bit_cast::<PARAMETER_BITS, D>(self.beats.payload.val().data)
                << (bit_cast::<10, 3>(self.collected.q.val()) << 6);
            self.reached.next = (bit_cast::<5, 3>(self.collected.q.val()) + 1) << 1;
        }

        self.opens.next = false;
        self.drops.next = false;
        self.kills.next = self.ends_stream.val() | self.is_void.q.val();
        self.is_void.d.next = false;
        self.takes.next = false;
        self.shift.starts.next = false;
        self.returns.next = self.moves.val() & self.beats.payload.val().eop;
        self.commands.next = false;
        self.continues.next = false;
        if self.looks.val() {
            if self.now.val().begins {
                if self.is_gone.val() {
                    self.takes.next = true;
                    self.drops.next = true;
                    if !self.now.val().ends {
                        self.number.d.next = self.next_number.q.val();
                        self.next_number.d.next = self.next_number.q.val() + 1;
                        self.is_void.d.next = true;
                    }
                    if self.now.val().has_payload {
                        self.step.d.next = Step::Discard;
                    }
                } else if self.has_ticket.val() & self.shift.is_idle.val() {
                    self.takes.next = true;
                    self.opens.next = true;
                    self.shift.starts.next = true;
                    self.is_told.d.next = false;
                    self.is_rest.d.next = self.now.val().has_payload;
                    self.collected.d.next = 0.into();
                    self.words.d.next = self.words_now.val();
                    self.order.d.next.ticket = self.ticket.val();
                    self.order.d.next.qpn = self.now.val().qpn;
                    self.order.d.next.op = self.target.val().get_bits::<16>(0);
                    self.order.d.next.flags = self.target.val().get_bits::<8>(24);
                    self.order.d.next.parameter_words = self.target.val().get_bits::<8>(16);
                    self.order.d.next.key = self.now.val().key;
                    self.order.d.next.request_len = self.now.val().length;
                    self.order.d.next.response_max = self.target.val().get_bits::<32>(32);
                    self.order.d.next.pd = self.now.val().pd;
                    self.order.d.next.parameters = 0.into();
                    if !self.now.val().ends {
                        self.number.d.next = self.next_number.q.val();
                        self.next_number.d.next = self.next_number.q.val() + 1;
                        self.has_stream.d.next = true;
                    }
                    self.step.d.next = Step::Give;
                    if self.words_now.val().any() & self.now.val().has_payload {
                        self.step.d.next = Step::Collect;
                    }
                }
            } else {
                self.takes.next = true;
                if self.now.val().gives_up {
                    self.returns.next = true;
                    self.kills.next = self.is_live.val() | self.is_void.q.val();
                } else if self.is_live.val() {
                    self.continues.next = true;
                    self.step.d.next = Step::Pass;
                } else {
                    self.step.d.next = Step::Discard;
                    if self.now.val().ends {
                        self.step.d.next = Step::Tell;
                    }
                }
            }
        }
        if (self.step.q.val() == Step::Collect) & self.moves.val() {
            self.order.d.next.parameters =
                self.order.q.val().parameters | (self.placed.val() & self.mask.val());
            self.collected.d.next = self.collected.q.val() + 1;
            self.is_rest.d.next = !self.beats.payload.val().eop;
            if (self.reached.val() >= self.words.q.val()) | self.beats.payload.val().eop {
                self.step.d.next = Step::Give;
            }
        }
        self.command.valid.next = (self.step.q.val() == Step::Give) & !self.halts.val() & self.may_give.val();
        self.command.payload.next = self.order.q.val();
        if self.step.q.val() == Step::Give {
            if self.halts.val() {
                if self.forgets.val() {
                    self.step.d.next = Step::Idle;
                    if self.is_rest.q.val() {
                        self.step.d.next = Step::Discard;
                    }
                }
            } else if self.command.ready.val() & self.may_give.val() {
                self.commands.next = true;
                self.is_told.d.next = true;
                self.step.d.next = Step::Idle;
                if self.is_rest.q.val() {
                    self.step.d.next = Step::Pass;
                }
            }
        }
        if self.step.q.val() == Step::Pass {
            if self.halts.val() {
                self.step.d.next = Step::Discard;
            } else if self.moves.val() & self.beats.payload.val().eop {
                self.step.d.next = Step::Idle;
                if self.may_look.val()
                    & !self.now.val().begins
                    & !self.now.val().gives_up
                    & self.is_live.val()
                {
                    self.takes.next = true;
                    self.continues.next = true;
                    self.step.d.next = Step::Pass;
                }
            }
        }
        if (self.step.q.val() == Step::Tell) & self.tells.ready.val() {
            self.step.d.next = Step::Discard;
        }
        if self.discards.val() & self.beats.payload.val().eop {
            self.step.d.next = Step::Idle;
        }
        if self.continues.val() & self.now.val().ends {
            self.has_stream.d.next = false;
        }
        if self.ends_stream.val() {
            self.has_stream.d.next = false;
        }
        self.item.ready.next = self.takes.val();
        self.is_halted.next = (self.step.q.val() == Step::Idle) | (self.step.q.val() == Step::Give);

        if self.looks.val() {
            self.told.d.next.qpn = self.now.val().qpn;
            self.told.d.next.pd = self.now.val().pd;
            self.told.d.next.path_mtu = self.now.val().path_mtu;
            self.told.d.next.place = self.now.val().place;
            self.told.d.next.offset = 0.into();
            self.told.d.next.len = 0.into();
            self.told.d.next.ends = true;
            self.told.d.next.status = self.aborted.val();
            self.told.d.next.is_orphan = false;
        }
        self.tells.valid.next = self.step.q.val() == Step::Tell;
        self.tells.payload.next = self.told.q.val();
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.number.d.next = 0.into();
            self.next_number.d.next = 1.into();
            self.has_stream.d.next = false;
            self.is_told.d.next = false;
            self.is_void.d.next = false;
        }
    }
}
