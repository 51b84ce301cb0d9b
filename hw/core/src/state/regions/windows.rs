//! What works ask of windows: to bind one to a part of a region, or to end its key.

use rust_hdl::prelude::*;
use stroma_abi::desc::Region;

use super::consent::Consent;
use super::creation::{BODY_BITS, ones};
use super::row_of::RowOf;
use super::table::{Kept, TableUse};
use crate::constant::number;
use crate::prim::reg::Reg;
use crate::state::command::{KeyVerb, KeyWork};
use crate::state::memory_keys::{RegionRow, RowWrite};
use crate::stream::{StreamSink, StreamSource};

/// What is done with the work it holds.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    /// It holds none.
    Idle,
    /// Asks the table for the next place, when nobody else is there.
    Seek,
    /// Is there a window of the queue pair that has ended?
    Find,
    /// Asks the table for the window, when nobody else is there.
    Look,
    /// Keeps it, and asks for the region under it, or to be under it.
    Window,
    /// Both decide.
    Judge,
    /// Writes the table.
    Act,
    /// Tells the MMU.
    Tell,
    /// Replies.
    Answer,
}

block! {
    /// Carries out one work at a time, as [`Regions`](super::Regions) promises.
    ///
    /// Once at the table it waits for nothing but the MMU to take a row, which no drain and no command holds up.
    ///
    /// When a queue pair ends, its windows do: the table is gone through, and each of them has its key ended as by a work of this host. Works
    /// go on between two places.
    ///
    /// - **Ports** `work`, `reply`, `row`, `leaves`, `leaver`, `left`: as there; `parts`: a window that was bound has ended otherwise. `open`: the table is clean. `free`: nobody else is at the table, nor
    ///   waits for it. `holds`: its work is. `turn`, `kept`, `bound_count`: to the table and from it. `busy`: a work is inside.
    /// - **Latency, rate, back-pressure** as there.
    /// - **Reset** forgets the work.
    pub struct Windows<const MRS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub work: StreamSink<KeyWork>,
        pub reply: StreamSource<Bits<3>>,
        pub row: StreamSource<RowWrite<MRS>>,
        pub open: Signal<In, Bit>,
        pub free: Signal<In, Bit>,
        pub holds: Signal<Out, Bit>,
        pub turn: Signal<Out, TableUse<MRS>>,
        pub kept: Signal<In, Kept<MRS>>,
        pub bound_count: Signal<In, Bits<MRS>>,
        pub leaves: Signal<In, Bit>,
        pub leaver: Signal<In, Bits<24>>,
        pub left: Signal<Out, Bit>,
        pub parts: Signal<In, Bit>,
        pub busy: Signal<Out, Bit>,
        consent: Consent<MRS>,
        row_of: RowOf,
        step: Reg<Step>,
        held: Reg<KeyWork>,
        window: Reg<Kept<MRS>>,
        cause: Reg<Bits<3>>,
        /// Windows that are bound.
        bound: Reg<Bits<MRS>>,
        /// A queue pair has ended; the place to be looked at next; all have been.
        is_leaving: Reg<Bit>,
        place: Reg<Bits<MRS>>,
        is_through: Reg<Bit>,
        /// What is carried out is no work, but the end of a window with its queue pair: nobody waits for an answer.
        ends_alone: Reg<Bit>,
        is_mine: Signal<Local, Bit>,
        is_left: Signal<Local, Bit>,
        binds: Signal<Local, Bit>,
        acts: Signal<Local, Bit>,
        /// The window's number, and that of the region.
        number: Signal<Local, Bits<MRS>>,
        parent: Signal<Local, Bits<MRS>>,
        /// The window as it is bound to nothing.
        bare: Signal<Local, Bits<BODY_BITS>>,
        stored: Signal<Local, Kept<MRS>>,
        told: Signal<Local, RegionRow>,
        bind: Constant<Bits<2>> = number(KeyVerb::Bind as u64),
        invalidate: Constant<Bits<2>> = number(KeyVerb::Invalidate as u64),
        pd_at: Constant<Bits<8>> = number(Region::PD.offset()),
        last: Constant<Bits<MRS>> = Constant::new(Bits::mask()),
        nothing: Constant<RegionRow> = Constant::new(RegionRow::default()),
        own: Constant<Bits<BODY_BITS>> = Constant::new(ones([Region::PD, Region::WINDOW])),
        base_at: Constant<Bits<8>> = number(Region::BASE.offset()),
        length_at: Constant<Bits<8>> = number(Region::LENGTH.offset()),
        key_at: Constant<Bits<8>> = number(Region::KEY.offset()),
        rights_at: Constant<Bits<8>> = number(Region::RIGHTS.offset()),
    }
}

impl<const MRS: usize> Logic for Windows<MRS> {
    #[hdl_gen]
    #[expect(clippy::too_many_lines, reason = "an arm for each step, and what all of them share")]
    fn update(&mut self) {
        dff_setup!(self, clock, step, held, window, cause, bound, is_leaving, place, is_through, ends_alone);
        self.busy.next = (self.step.q.val() != Step::Idle) | self.is_leaving.q.val();
        self.holds.next = (self.step.q.val() == Step::Find)
            | (self.step.q.val() == Step::Window)
            | (self.step.q.val() == Step::Judge)
            | (self.step.q.val() == Step::Act)
            | (self.step.q.val() == Step::Tell);
        self.binds.next = self.held.q.val().verb == self.bind.val();
        self.number.next = bit_cast::<MRS, 32>(self.held.q.val().key >> 8);
        self.parent.next = self.window.q.val().parent;
        if self.binds.val() {
            self.parent.next = bit_cast::<MRS, 32>(self.held.q.val().region >> 8);
        }

        self.turn.next.read = (self.step.q.val() == Step::Seek)
            | (self.step.q.val() == Step::Look)
            | (self.step.q.val() == Step::Window);
        self.turn.next.index = self.held.q.val().key >> 8;
        if self.step.q.val() == Step::Seek {
            self.turn.next.index = bit_cast::<32, MRS>(self.place.q.val());
        }
        if self.step.q.val() == Step::Window {
            self.turn.next.index = bit_cast::<32, MRS>(self.kept.val().parent);
            if self.binds.val() {
                self.turn.next.index = self.held.q.val().region >> 8;
            }
        }
        self.consent.work.next = self.held.q.val();
        self.consent.window.next = self.window.q.val();
        self.consent.region.next = self.kept.val();

        // The window, its region's count and the MMU's row change in the same turn.
        self.bare.next = self.window.q.val().body & self.own.val();
        self.stored.next.exists = true;
        self.stored.next.bound = self.binds.val();
        self.stored.next.parent = 0.into();
        self.stored.next.qpn = 0.into();
        self.stored.next.body = self.bare.val();
        self.turn.next.count_windows = self.bound_count.val() - 1;
        if self.binds.val() {
            self.stored.next.parent = self.parent.val();
            self.stored.next.qpn = self.held.q.val().qpn;
            self.stored.next.body = self.bare.val()
                | (bit_cast::<BODY_BITS, 64>(self.held.q.val().base) << self.base_at.val())
                | (bit_cast::<BODY_BITS, 48>(self.held.q.val().length) << self.length_at.val())
                | (bit_cast::<BODY_BITS, 8>(bit_cast::<8, 32>(self.held.q.val().key)) << self.key_at.val())
                | (bit_cast::<BODY_BITS, 5>(self.held.q.val().rights) << self.rights_at.val());
            self.turn.next.count_windows = self.bound_count.val() + 1;
        }
        self.acts.next = (self.step.q.val() == Step::Act) & !self.cause.q.val().any();
        self.turn.next.write = self.acts.val();
        self.turn.next.write_index = self.number.val();
        self.turn.next.write_kept = self.stored.val();
        self.turn.next.count = self.acts.val();
        self.turn.next.count_index = self.parent.val();

        self.row_of.number.next = bit_cast::<24, MRS>(self.parent.val());
        self.row_of.body.next = self.kept.val().body;
        self.told.next = self.nothing.val();
        if self.binds.val() {
            self.told.next = self.row_of.row.val();
            self.told.next.window = true;
            self.told.next.qpn = self.held.q.val().qpn;
            self.told.next.key = bit_cast::<8, 32>(self.held.q.val().key);
            self.told.next.rights = self.held.q.val().rights;
            self.told.next.base = self.held.q.val().base;
            self.told.next.length = self.held.q.val().length;
        }
        self.row.valid.next = self.step.q.val() == Step::Tell;
        self.row.payload.next.region = self.number.val();
        self.row.payload.next.row = self.told.val();
        if self.parts.val() | (self.acts.val() & !self.binds.val()) {
            self.bound.d.next = self.bound.q.val() - 1;
        } else if self.acts.val() {
            self.bound.d.next = self.bound.q.val() + 1;
        }

        // A queue pair has no windows any more: none is left of anybody, or all places have been looked at.
        if self.leaves.val() {
            self.is_leaving.d.next = true;
            self.is_through.d.next = false;
            self.place.d.next = 0.into();
        }
        self.is_mine.next = self.kept.val().bound & (self.kept.val().qpn == self.leaver.val());
        self.is_left.next = self.is_leaving.q.val()
            & (self.step.q.val() == Step::Idle)
            & (self.is_through.q.val() | !self.bound.q.val().any());
        if self.is_left.val() {
            self.is_leaving.d.next = false;
        }
        self.left.next = self.is_left.val();
        self.work.ready.next = self.open.val() & (self.step.q.val() == Step::Idle);
        self.reply.valid.next = self.step.q.val() == Step::Answer;
        self.reply.payload.next = self.cause.q.val();

        match self.step.q.val() {
            Step::Idle => {
                self.ends_alone.d.next = false;
                if self.open.val() & self.work.valid.val() {
                    self.held.d.next = self.work.payload.val();
                    self.step.d.next = Step::Look;
                } else if self.is_leaving.q.val() & !self.is_left.val() {
                    self.step.d.next = Step::Seek;
                }
            }
            Step::Seek => {
                if self.free.val() {
                    self.step.d.next = Step::Find;
                }
            }
            Step::Find => {
                self.place.d.next = self.place.q.val() + 1;
                self.is_through.d.next = self.place.q.val() == self.last.val();
                self.step.d.next = Step::Seek;
                if (self.place.q.val() == self.last.val()) | self.work.valid.val() {
                    self.step.d.next = Step::Idle;
                }
                if self.is_mine.val() {
                    self.ends_alone.d.next = true;
                    self.held.d.next.verb = self.invalidate.val();
                    self.held.d.next.qpn = self.leaver.val();
                    self.held.d.next.pd = self.kept.val().body.get_bits::<16>(self.pd_at.val().index());
                    self.held.d.next.key = (bit_cast::<32, MRS>(self.place.q.val()) << 8)
                        | bit_cast::<32, 8>(self.kept.val().body.get_bits::<8>(self.key_at.val().index()));
                    self.step.d.next = Step::Look;
                }
            }
            Step::Look => {
                if self.free.val() {
                    self.step.d.next = Step::Window;
                }
            }
            Step::Window => {
                self.window.d.next = self.kept.val();
                self.step.d.next = Step::Judge;
            }
            Step::Judge => {
                self.cause.d.next = self.consent.cause.val();
                self.step.d.next = Step::Act;
            }
            Step::Act => {
                self.step.d.next = Step::Tell;
                if self.cause.q.val().any() {
                    self.step.d.next = Step::Answer;
                    if self.ends_alone.q.val() {
                        self.step.d.next = Step::Idle;
                    }
                }
            }
            Step::Tell => {
                if self.row.ready.val() {
                    self.step.d.next = Step::Answer;
                    if self.ends_alone.q.val() {
                        self.step.d.next = Step::Idle;
                    }
                }
            }
            Step::Answer => {
                if self.reply.ready.val() {
                    self.step.d.next = Step::Idle;
                }
            }
        }
        if self.reset.val() {
            self.step.d.next = Step::Idle;
            self.bound.d.next = 0.into();
            self.is_leaving.d.next = false;
        }
    }
}
