//! Takes completions: puts their data where they belong, and knows which requests are answered.

use rust_hdl::prelude::*;
use stroma_hw::constant::number;
use stroma_hw::prim::ram::LutRam;
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::stream::StreamSink;
use stroma_hw::{block, record};

use crate::pcie::requester::RcBeat;
use crate::pcie::requester::fields::{
    DWORD_BITS, ERROR_FUNCTION_RESET, ERROR_LENGTH, ERROR_STATUS, ERROR_TAG, ERROR_TIMEOUT, RC_BYTE_COUNT_AT,
    RC_COMPLETED_AT, RC_DESCRIPTOR_DWORDS, RC_DWORD_COUNT_AT, RC_ERROR_AT, RC_POISONED_AT, RC_STATUS_AT,
    RC_TAG_AT,
};

record! {
    /// How far a request is.
    pub struct Progress {
        /// Beats that are still to come.
        pub due: Bits<4>,
        /// Something went wrong: none of them counts.
        pub failed: Bit,
    }
}

record! {
    /// The completion under way.
    pub struct Packet {
        /// Its tag.
        pub tag: Bits<8>,
        /// A request waits for it.
        pub is_ours: Bit,
        /// Beats of that request.
        pub length: Bits<4>,
        /// Where its next beat goes.
        pub place: Bits<3>,
        /// Beats that are still to come.
        pub left: Bits<7>,
        /// Beats the request lacks when this is through.
        pub due: Bits<4>,
        /// Something was wrong with it, or with one before.
        pub failed: Bit,
        /// It is the last one for its request.
        pub is_last: Bit,
    }
}

block! {
    /// Takes completions of up to `2^LOG` requests, each of 1 to 8 beats of 64 bytes.
    ///
    /// Completions of one request come in the order of their bytes, so the byte count of each is known before it comes: it has to be what is left. The descriptor
    /// takes three dwords, so each beat of payload ends with the first three of the next beat of the packet.
    ///
    /// - **Ports** `rc`: the block's packets; `opens`, `slot`, `beats`: a request is sent; `gives_up`, `lost`: nobody waits for this
    ///   one any more; `waiting`: requests without their last completion; `look`, `failed`: what became of one that does not wait; `ends`, `ended`: one of so many beats has its last completion in this cycle. `write`,
    ///   `write_slot`, `write_place`, `write_data`: payload. `is_unexpected`: a packet came for no request.
    /// - **Errors** a request has failed when any of its completions has an error code, a status, poison, another byte count or
    ///   length than due, or was discontinued. It waits on until its last completion, which says so, or has a status, or ends the request by its error code. A
    ///   completion for a tag that does not wait, and one whose tag the block does not know, goes nowhere.
    /// - **Latency** 2 cycles from the last beat of `rc` to `waiting`. **Rate** 1 beat per cycle; a packet of one beat, which is never good, takes two.
    /// - **Backpressure** none but that: `rc.ready` is a register. No combinational path from port to port, but `look` to `failed`.
    /// - **Reset** forgets all requests; the next beat begins a packet.
    /// - **Limits** `LOG` at most 7.
    pub struct Gather<const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub rc: StreamSink<RcBeat>,
        pub opens: Signal<In, Bit>,
        pub slot: Signal<In, Bits<LOG>>,
        pub beats: Signal<In, Bits<4>>,
        pub gives_up: Signal<In, Bit>,
        pub lost: Signal<In, Bits<LOG>>,
        pub waiting: Signal<Out, Bits<128>>,
        pub look: Signal<In, Bits<LOG>>,
        pub failed: Signal<Out, Bit>,
        pub ends: Signal<Out, Bit>,
        pub ended: Signal<Out, Bits<4>>,
        pub write: Signal<Out, Bit>,
        pub write_slot: Signal<Out, Bits<LOG>>,
        pub write_place: Signal<Out, Bits<3>>,
        pub write_data: Signal<Out, Bits<512>>,
        pub is_unexpected: Signal<Out, Bit>,
        cut: Skid<RcBeat>,
        lengths: LutRam<Bits<4>, LOG>,
        progress: LutRam<Progress, LOG>,
        /// The same, for those who look.
        outcome: LutRam<Progress, LOG>,
        waits: Reg<Bits<128>>,
        /// Requests with a completion; of the others `progress` is old.
        begun: Reg<Bits<128>>,
        inside: Reg<Bit>,
        /// A packet of one beat is being closed.
        closing: Reg<Bit>,
        packet: Reg<Packet>,
        before: Reg<Bits<512>>,
        own: Signal<Local, Bits<LOG>>,
        beat: Signal<Local, RcBeat>,
        takes: Signal<Local, Bit>,
        begins: Signal<Local, Bit>,
        // The descriptor, and what is due.
        tag: Signal<Local, Bits<8>>,
        tag_slot: Signal<Local, Bits<LOG>>,
        error: Signal<Local, Bits<4>>,
        byte_count: Signal<Local, Bits<13>>,
        dword_count: Signal<Local, Bits<11>>,
        status: Signal<Local, Bits<3>>,
        is_completed: Signal<Local, Bit>,
        is_ours: Signal<Local, Bit>,
        known: Signal<Local, Progress>,
        count: Signal<Local, Bits<7>>,
        fits: Signal<Local, Bit>,
        // Its end.
        is_end: Signal<Local, Bit>,
        is_given_up: Signal<Local, Bit>,
        is_short: Signal<Local, Bit>,
        closes: Signal<Local, Bit>,
        made: Signal<Local, Progress>,
        waits_then: Signal<Local, Bits<128>>,
        begun_then: Signal<Local, Bits<128>>,
        tag_at: Constant<Bits<10>> = number(RC_TAG_AT),
        error_at: Constant<Bits<10>> = number(RC_ERROR_AT),
        byte_count_at: Constant<Bits<10>> = number(RC_BYTE_COUNT_AT),
        dword_count_at: Constant<Bits<10>> = number(RC_DWORD_COUNT_AT),
        status_at: Constant<Bits<10>> = number(RC_STATUS_AT),
        completed_at: Constant<Bits<10>> = number(RC_COMPLETED_AT),
        poisoned_at: Constant<Bits<10>> = number(RC_POISONED_AT),
        slot_log: Constant<Bits<4>> = number(LOG),
        unknown_tag: Constant<Bits<4>> = number(ERROR_TAG),
        ends_by_status: Constant<Bits<4>> = number(ERROR_STATUS),
        ends_by_length: Constant<Bits<4>> = number(ERROR_LENGTH),
        ends_by_reset: Constant<Bits<4>> = number(ERROR_FUNCTION_RESET),
        ends_by_timeout: Constant<Bits<4>> = number(ERROR_TIMEOUT),
        descriptor_bits: Constant<Bits<10>> = number(RC_DESCRIPTOR_DWORDS * DWORD_BITS),
        payload_bits: Constant<Bits<10>> = number(512 - RC_DESCRIPTOR_DWORDS * DWORD_BITS),
        tail: Constant<Bits<16>> = number((1 << RC_DESCRIPTOR_DWORDS) - 1),
    }
}

impl<const LOG: usize> Logic for Gather<LOG> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "a packet from its first beat to its last")]
    fn update(&mut self) {
        clock!(self, clock, cut, lengths, progress, outcome);
        dff_setup!(self, clock, waits, begun, inside, closing, packet, before);
        self.cut.reset.next = self.reset.val();
        StreamSink::<RcBeat>::link(&mut self.rc, &mut self.cut.sink);
        self.waiting.next = self.waits.q.val();
        self.outcome.read_address.next = self.look.val();
        self.failed.next = self.outcome.read_data.val().failed;

        self.own.next = bit_cast::<LOG, 8>(self.packet.q.val().tag);
        self.beat.next = self.cut.source.payload.val();
        self.cut.source.ready.next = !self.closing.q.val();
        self.takes.next = self.cut.source.valid.val() & !self.closing.q.val();
        self.begins.next = self.takes.val() & !self.inside.q.val();

        // A packet begins: is it what is due?
        self.tag.next = self.beat.val().data.get_bits::<8>(self.tag_at.val().index());
        self.tag_slot.next = bit_cast::<LOG, 8>(self.tag.val());
        self.error.next = self.beat.val().data.get_bits::<4>(self.error_at.val().index());
        self.byte_count.next = self.beat.val().data.get_bits::<13>(self.byte_count_at.val().index());
        self.dword_count.next = self.beat.val().data.get_bits::<11>(self.dword_count_at.val().index());
        self.status.next = self.beat.val().data.get_bits::<3>(self.status_at.val().index());
        self.is_completed.next = self.beat.val().data.get_bit(self.completed_at.val().index());
        self.is_ours.next = self.waits.q.val().get_bit(self.tag_slot.val().index())
            & !(self.tag.val() >> self.slot_log.val()).any()
            & (self.error.val() != self.unknown_tag.val())
            & !(self.gives_up.val() & (self.lost.val() == self.tag_slot.val()));
        self.lengths.read_address.next = self.tag_slot.val();
        self.progress.read_address.next = self.tag_slot.val();
        self.known.next.due = self.lengths.read_data.val();
        self.known.next.failed = false;
        if self.begun.q.val().get_bit(self.tag_slot.val().index()) {
            self.known.next = self.progress.read_data.val();
        }
        self.count.next = self.dword_count.val().get_bits::<7>(4);
        self.fits.next = (self.byte_count.val() == (bit_cast::<13, 4>(self.known.val().due) << 6))
            & !self.dword_count.val().get_bits::<4>(0).any()
            & self.count.val().any()
            & (self.count.val() <= bit_cast::<7, 4>(self.known.val().due))
            & (self.is_completed.val() == (self.count.val() == bit_cast::<7, 4>(self.known.val().due)));
        self.is_unexpected.next = self.begins.val() & !self.is_ours.val();
        if self.begins.val() {
            self.packet.d.next.tag = self.tag.val();
            self.packet.d.next.is_ours = self.is_ours.val();
            self.packet.d.next.length = self.lengths.read_data.val();
            self.packet.d.next.place = bit_cast::<3, 4>(self.lengths.read_data.val() - self.known.val().due);
            self.packet.d.next.left = self.count.val();
            self.packet.d.next.due = self.known.val().due - bit_cast::<4, 7>(self.count.val());
            self.packet.d.next.failed = self.known.val().failed
                | !self.fits.val()
                | self.error.val().any()
                | self.status.val().any()
                | self.beat.val().data.get_bit(self.poisoned_at.val().index())
                | self.beat.val().discontinue
                | (!self.beat.val().keep.all() & !self.beat.val().last);
            self.packet.d.next.is_last = self.is_completed.val()
                | self.status.val().any()
                | (self.error.val() == self.ends_by_status.val())
                | (self.error.val() == self.ends_by_length.val())
                | (self.error.val() == self.ends_by_reset.val())
                | (self.error.val() == self.ends_by_timeout.val());
            self.inside.d.next = !self.beat.val().last;
        }
        self.closing.d.next = self.begins.val() & self.beat.val().last;

        // It goes on: three dwords of each beat belong to the beat before.
        self.is_end.next = self.takes.val() & self.inside.q.val() & self.beat.val().last;
        self.is_short.next = self.beat.val().discontinue;
        if self.beat.val().last {
            if (self.packet.q.val().left != 1) | (self.beat.val().keep != self.tail.val()) {
                self.is_short.next = true;
            }
        } else if !self.beat.val().keep.all() {
            self.is_short.next = true;
        }
        if self.takes.val() {
            self.before.d.next = self.beat.val().data;
            if self.inside.q.val() {
                self.packet.d.next.place = self.packet.q.val().place + 1;
                if self.packet.q.val().left.any() {
                    self.packet.d.next.left = self.packet.q.val().left - 1;
                }
                self.packet.d.next.failed = self.packet.q.val().failed | self.is_short.val();
                self.inside.d.next = !self.beat.val().last;
            }
        }
        self.write.next = self.takes.val()
            & self.inside.q.val()
            & self.packet.q.val().is_ours
            & !self.packet.q.val().failed
            & self.packet.q.val().left.any();
        self.write_slot.next = self.own.val();
        self.write_place.next = self.packet.q.val().place;
        self.write_data.next = (self.before.q.val() >> self.descriptor_bits.val())
            | (self.beat.val().data << self.payload_bits.val());

        // It is through. One of a single beat has no payload, whatever it says.
        self.closes.next = (self.is_end.val() | self.closing.q.val()) & self.packet.q.val().is_ours;
        self.made.next.due = self.packet.q.val().due;
        self.made.next.failed =
            self.packet.q.val().failed | self.closing.q.val() | (self.is_end.val() & self.is_short.val());
        self.progress.write_enable.next = self.closes.val();
        self.progress.write_address.next = self.own.val();
        self.progress.write_data.next = self.made.val();
        self.outcome.write_enable.next = self.closes.val();
        self.outcome.write_address.next = self.own.val();
        self.outcome.write_data.next = self.made.val();
        self.lengths.write_enable.next = self.opens.val();
        self.lengths.write_address.next = self.slot.val();
        self.lengths.write_data.next = self.beats.val();
        self.is_given_up.next = self.gives_up.val() & (self.lost.val() == self.own.val());
        self.ends.next = self.closes.val() & self.packet.q.val().is_last & !self.is_given_up.val();
        self.ended.next = self.packet.q.val().length;
        self.waits_then.next = self.waits.q.val();
        self.begun_then.next = self.begun.q.val();
        if self.closes.val() {
            self.begun_then.next = self.begun_then.val().replace_bit(self.own.val().index(), true);
            if self.packet.q.val().is_last {
                self.waits_then.next = self.waits_then.val().replace_bit(self.own.val().index(), false);
            }
        }
        if self.gives_up.val() {
            self.waits_then.next = self.waits_then.val().replace_bit(self.lost.val().index(), false);
        }
        if self.is_given_up.val() {
            self.packet.d.next.is_ours = self.begins.val() & self.is_ours.val();
        }
        if self.opens.val() {
            self.waits_then.next = self.waits_then.val().replace_bit(self.slot.val().index(), true);
            self.begun_then.next = self.begun_then.val().replace_bit(self.slot.val().index(), false);
        }
        self.waits.d.next = self.waits_then.val();
        self.begun.d.next = self.begun_then.val();
        if self.reset.val() {
            self.waits.d.next = 0.into();
            self.inside.d.next = false;
            self.closing.d.next = false;
        }
    }
}
