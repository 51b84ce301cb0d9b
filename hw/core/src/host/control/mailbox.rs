//! The command mailbox: the driver writes a command, the owner of the table answers.

use rust_hdl::prelude::*;
use stroma_abi::desc::mailbox::{BODY_AT, Command, CommandStatus, MAILBOX_LEN, ObjectKind, Reply};
use stroma_abi::regs::map::mailbox;

use super::place::{PLACE_BITS, RegisterStore, bit, flag, part, place};
use crate::constant::number;
use crate::prim::reg::Reg;
use crate::state::command::{ObjectCommand, ObjectReply};
use crate::stream::{StreamSink, StreamSource};

/// Owners of tables, in the order of their `ObjectKind`: queue pairs, CQs, regions, SRQs; then who shows statistics.
pub const OWNERS: usize = ObjectKind::ALL.len();
/// 64-bit words of each direction.
const WORDS: usize = MAILBOX_LEN / 8;

block! {
    /// Keeps the registers of the block `mailbox`, and hands commands to their owners, one at a time.
    ///
    /// A reply is a thousand bits wide, and a signal that chooses among those of the owners goes to all of them: it takes most of
    /// a cycle to get there. So a reply is seen in one cycle and taken in the next, and registers choose. For the same reason
    /// reset does not clear `output`; a bit says whether it was written since.
    ///
    /// - **Ports** `place`: eight aligned bytes of BAR0; `word`: what these registers show there, 0 elsewhere; `store`:
    ///   stores to BAR0; `ready`: commands may run; `command`, `reply`: to the owner of each kind of object, and its answer;
    ///   `busy`: a command is running.
    /// - **Latency** 1 cycle from `place` to `word`, and from the store of `go` to `command`; 2 from `reply` to `done`, and from
    ///   the `go` of a kind without an owner.
    /// - **Backpressure** an owner takes the command when it likes. `reply` is taken in the second cycle of its offer; one that
    ///   nobody waits for is dropped.
    /// - **Reset** clears all registers and forgets a command that runs; the owners have to be reset with it.
    /// - **Limits** `go` is ignored while a command runs and without `ready`; stores to `input` are ignored while one runs.
    pub struct Mailbox {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub place: Signal<In, Bits<PLACE_BITS>>,
        pub word: Signal<Out, Bits<64>>,
        pub store: Signal<In, RegisterStore>,
        pub ready: Signal<In, Bit>,
        pub command: [StreamSource<ObjectCommand>; OWNERS],
        pub reply: [StreamSink<ObjectReply>; OWNERS],
        pub busy: Signal<Out, Bit>,
        found: Reg<Bits<64>>,
        input_words: [Reg<Bits<64>>; WORDS],
        output_bits: Reg<Bits<1024>>,
        /// Owners to whom the command is on offer, and the one whose answer is awaited.
        asks: Reg<Bits<OWNERS>>,
        awaits: Reg<Bits<OWNERS>>,
        /// Owners whose reply is taken in this cycle; the one of them whose answer it is; nobody has objects of that kind; so
        /// `output` is written in this cycle.
        hears: Reg<Bits<OWNERS>>,
        answers: Reg<Bits<OWNERS>>,
        refuses: Reg<Bit>,
        writes: Reg<Bit>,
        /// `output` was written since reset.
        is_written: Reg<Bit>,
        is_done: Reg<Bit>,
        is_running: Signal<Local, Bit>,
        piece: Signal<Local, Bits<64>>,
        text: Signal<Local, Bits<1024>>,
        kind: Signal<Local, Bits<8>>,
        owner: Signal<Local, Bits<OWNERS>>,
        offer: Signal<Local, ObjectCommand>,
        go_bit: Signal<Local, Bits<64>>,
        goes: Signal<Local, Bit>,
        asking: Signal<Local, Bits<OWNERS>>,
        heard: Signal<Local, Bits<OWNERS>>,
        answering: Signal<Local, Bits<OWNERS>>,
        lacks_owner: Signal<Local, Bit>,
        told: Signal<Local, ObjectReply>,
        answer: Signal<Local, ObjectReply>,
        nothing: Constant<ObjectReply> = Constant::new(ObjectReply::default()),
        unknown_kind: Constant<Bits<16>> = number(CommandStatus::UnknownKind as u64),
        kinds: [Constant<Bits<8>>; OWNERS] = std::array::from_fn(|owner| number(ObjectKind::ALL[owner].0 as u64)),
        verb_at: Constant<Bits<11>> = number(Command::VERB.offset()),
        kind_at: Constant<Bits<11>> = number(Command::OBJECT_KIND.offset()),
        modifier_at: Constant<Bits<11>> = number(Command::MODIFIER.offset()),
        object_at: Constant<Bits<11>> = number(Command::OBJECT.offset()),
        attributes_at: Constant<Bits<11>> = number(Command::ATTRIBUTES.offset()),
        status_at: Constant<Bits<11>> = number(Reply::STATUS.offset()),
        token_at: Constant<Bits<11>> = number(Reply::TOKEN.offset()),
        reply_object_at: Constant<Bits<11>> = number(Reply::OBJECT.offset()),
        field_at: Constant<Bits<11>> = number(Reply::FIELD.offset()),
        body_at: Constant<Bits<11>> = number(BODY_AT * 8),
        go_place: Constant<Bits<PLACE_BITS>> = place(&mailbox::BLOCK, &mailbox::GO, 0),
        go_flag: Constant<Bits<64>> = flag(bit(&mailbox::BLOCK, &mailbox::GO)),
        state_place: Constant<Bits<PLACE_BITS>> = place(&mailbox::BLOCK, &mailbox::STATE, 0),
        busy_flag: Constant<Bits<64>> = flag(part(&mailbox::BLOCK, &mailbox::STATE, "busy")),
        done_flag: Constant<Bits<64>> = flag(part(&mailbox::BLOCK, &mailbox::STATE, "done")),
        input_places: [Constant<Bits<PLACE_BITS>>; WORDS] =
            std::array::from_fn(|word| place(&mailbox::BLOCK, &mailbox::INPUT, 2 * word)),
        output_places: [Constant<Bits<PLACE_BITS>>; WORDS] =
            std::array::from_fn(|word| place(&mailbox::BLOCK, &mailbox::OUTPUT, 2 * word)),
    }
}

impl Logic for Mailbox {
    #[hdl_gen]
    #[expect(
        clippy::too_many_lines,
        reason = "both directions of the mailbox, and the registers that show them"
    )]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            found,
            output_bits,
            asks,
            awaits,
            hears,
            answers,
            refuses,
            writes,
            is_written,
            is_done
        );
        self.is_running.next = self.awaits.q.val().any() | self.refuses.q.val();
        self.busy.next = self.is_running.val();

        // The command as it stands in `input`, which rests while it runs.
        for i in 0..WORDS {
            self.input_words[i].clock.next = self.clock.val();
            self.input_words[i].d.next = self.input_words[i].q.val();
            if self.store.val().valid
                & (self.store.val().place == self.input_places[i].val())
                & !self.is_running.val()
            {
                self.input_words[i].d.next = (self.input_words[i].q.val() & !self.store.val().mask)
                    | (self.store.val().data & self.store.val().mask);
            }
            if self.reset.val() {
                self.input_words[i].d.next = 0.into();
            }
        }
        self.text.next = 0.into();
        for i in 0..WORDS {
            self.piece.next = self.input_words[15 - i].q.val();
            self.text.next = (self.text.val() << 64) | bit_cast::<1024, 64>(self.piece.val());
        }
        self.kind.next = bit_cast::<8, 1024>(self.text.val() >> self.kind_at.val());
        self.offer.next.verb = bit_cast::<8, 1024>(self.text.val() >> self.verb_at.val());
        self.offer.next.object = bit_cast::<32, 1024>(self.text.val() >> self.object_at.val());
        self.offer.next.attributes = bit_cast::<64, 1024>(self.text.val() >> self.attributes_at.val());
        self.offer.next.body = bit_cast::<896, 1024>(self.text.val() >> self.body_at.val());

        self.go_bit.next = self.store.val().data & self.store.val().mask & self.go_flag.val();
        self.goes.next = self.store.val().valid
            & (self.store.val().place == self.go_place.val())
            & self.go_bit.val().any()
            & !self.is_running.val()
            & self.ready.val();
        self.owner.next = 0.into();
        self.asking.next = self.asks.q.val();
        self.heard.next = 0.into();
        self.answering.next = 0.into();
        self.answer.next = self.nothing.val();
        for i in 0..OWNERS {
            if self.kind.val() == self.kinds[i].val() {
                self.owner.next = self.owner.val().replace_bit(i, true);
            }
            self.command[i].payload.next = self.offer.val();
            self.command[i].valid.next = self.asks.q.val().get_bit(i);
            if self.command[i].ready.val() {
                self.asking.next = self.asking.val().replace_bit(i, false);
            }
            self.reply[i].ready.next = self.hears.q.val().get_bit(i);
            if self.reply[i].valid.val() & !self.hears.q.val().get_bit(i) {
                self.heard.next = self.heard.val().replace_bit(i, true);
                if self.awaits.q.val().get_bit(i) & !self.asks.q.val().get_bit(i) {
                    self.answering.next = self.answering.val().replace_bit(i, true);
                }
            }
            // At most one of them answers.
            self.told.next = self.reply[i].payload.val();
            if self.answers.q.val().get_bit(i) {
                self.answer.next.status = self.answer.val().status | self.told.val().status;
                self.answer.next.field = self.answer.val().field | self.told.val().field;
                self.answer.next.body = self.answer.val().body | self.told.val().body;
            }
        }
        if self.refuses.q.val() {
            self.answer.next.status = self.unknown_kind.val();
        }
        self.hears.d.next = self.heard.val();
        self.answers.d.next = self.answering.val();
        self.lacks_owner.next = self.goes.val() & !self.owner.val().any();
        self.refuses.d.next = self.lacks_owner.val();
        self.writes.d.next = self.answering.val().any() | self.lacks_owner.val();
        self.asks.d.next = self.asking.val();
        if self.goes.val() {
            self.asks.d.next = self.owner.val();
            self.awaits.d.next = self.owner.val();
            self.is_done.d.next = false;
        }
        if self.writes.q.val() {
            self.awaits.d.next = 0.into();
            self.is_done.d.next = true;
            self.is_written.d.next = true;
            self.output_bits.d.next = (bit_cast::<1024, 16>(self.answer.val().status)
                << self.status_at.val())
                | (bit_cast::<1024, 16>(bit_cast::<16, 1024>(self.text.val() >> self.modifier_at.val()))
                    << self.token_at.val())
                | (bit_cast::<1024, 32>(self.offer.val().object) << self.reply_object_at.val())
                | (bit_cast::<1024, 16>(self.answer.val().field) << self.field_at.val())
                | (bit_cast::<1024, 896>(self.answer.val().body) << self.body_at.val());
        }

        self.found.d.next = 0.into();
        for i in 0..WORDS {
            if self.place.val() == self.input_places[i].val() {
                self.found.d.next = self.input_words[i].q.val();
            }
            if (self.place.val() == self.output_places[i].val()) & self.is_written.q.val() {
                self.found.d.next = self.output_bits.q.val().get_bits::<64>(i * 64);
            }
        }
        if self.place.val() == self.state_place.val() {
            if self.is_running.val() {
                self.found.d.next = self.busy_flag.val();
            } else if self.is_done.q.val() {
                self.found.d.next = self.done_flag.val();
            }
        }
        self.word.next = self.found.q.val();

        if self.reset.val() {
            self.asks.d.next = 0.into();
            self.awaits.d.next = 0.into();
            self.hears.d.next = 0.into();
            self.answers.d.next = 0.into();
            self.refuses.d.next = false;
            self.writes.d.next = false;
            self.is_written.d.next = false;
            self.is_done.d.next = false;
        }
    }
}
