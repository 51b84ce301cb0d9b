//! The TLB: page-list lines kept on the card.
//!
//! A line of the list is kept whole, eight translations under one tag, because a walk brings it whole: one write fills
//! it, and neighbours of a page come for free.

use rust_hdl::prelude::*;

use super::pages::{Entry, LINE_BITS};
use super::tlb_way::Way;
use crate::prim::ram::LutRam;
use crate::prim::reg::Reg;

/// Places a line can have.
pub const WAYS: usize = 4;

block! {
    /// Keeps up to `4 * 2^SETS` lines of the page lists of `2^MRS` regions.
    ///
    /// - **Ports** `read_enable`, `region`, `line`: `hit` tells from the next cycle on whether the line is here, until the
    ///   next read, and `entry` is then the one at place `at` of it, in the same cycle. `fill*`: stores a line, over the
    ///   oldest of its set. `forget`, `forget_region`: starts clearing all lines of a region; `forgetting`:
    ///   that is not done, and `forget` must stay low.
    /// - **Latency** 1 cycle; a read during the fill of its line may miss. **Rate** one read and one fill per cycle.
    /// - **Forgetting** takes two cycles a set, and one more for each fill that comes in between: the
    ///   regions of the lines are kept twice, so lookups go on.
    /// - **Reset** starts clearing everything; lines from before may still be shown until `forgetting` falls.
    pub struct Tlb<const MRS: usize, const SETS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub read_enable: Signal<In, Bit>,
        pub region: Signal<In, Bits<MRS>>,
        pub line: Signal<In, Bits<LINE_BITS>>,
        pub hit: Signal<Out, Bit>,
        pub at: Signal<In, Bits<3>>,
        pub entry: Signal<Out, Bits<64>>,
        pub fill: Signal<In, Bit>,
        pub fill_region: Signal<In, Bits<MRS>>,
        pub fill_line: Signal<In, Bits<LINE_BITS>>,
        pub fill_data: Signal<In, Bits<512>>,
        pub forget: Signal<In, Bit>,
        pub forget_region: Signal<In, Bits<MRS>>,
        pub forgetting: Signal<Out, Bit>,
        ways: [Way<MRS, SETS>; WAYS] = std::array::from_fn(|_| Way::default()),
        /// The entry of each way is there before it is known which way it is.
        sectors: [Entry; WAYS] = std::array::from_fn(|_| Entry::default()),
        asked_region: Reg<Bits<MRS>>,
        asked_line: Reg<Bits<LINE_BITS>>,
        /// The way the next fill of a set takes: the one filled longest ago. It moves on in the cycle behind a fill, so that the
        /// RAM is read and written at places of their own; a second fill of the set in that cycle takes the same way.
        victims: LutRam<Bits<2>, SETS>,
        was_filled: Reg<Bit>,
        filled_set: Reg<Bits<SETS>>,
        next_victim: Reg<Bits<2>>,
        is_forgetting: Reg<Bit>,
        /// The tags of the set `scan` have been read.
        has_read: Reg<Bit>,
        everything: Reg<Bit>,
        leaving: Reg<Bits<MRS>>,
        scan: Reg<Bits<SETS>>,
        read_set: Signal<Local, Bits<SETS>>,
        write_set: Signal<Local, Bits<SETS>>,
        clears: Signal<Local, Bit>,
        last: Constant<Bits<SETS>> = Constant::new(Bits::mask()),
    }
}

impl<const MRS: usize, const SETS: usize> Logic for Tlb<MRS, SETS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, victims);
        dff_setup!(self, clock, asked_region, asked_line);
        dff_setup!(self, clock, was_filled, filled_set, next_victim);
        dff_setup!(self, clock, is_forgetting, has_read, everything, leaving, scan);
        // The region's number spreads small regions, which all begin with line 0.
        self.read_set.next = bit_cast::<SETS, 34>(self.line.val()) ^ bit_cast::<SETS, MRS>(self.region.val());
        if self.read_enable.val() {
            self.asked_region.d.next = self.region.val();
            self.asked_line.d.next = self.line.val();
        }

        self.clears.next = self.is_forgetting.q.val() & self.has_read.q.val() & !self.fill.val();
        self.write_set.next = self.scan.q.val();
        if self.fill.val() {
            self.write_set.next =
                bit_cast::<SETS, 34>(self.fill_line.val()) ^ bit_cast::<SETS, MRS>(self.fill_region.val());
        }
        self.victims.read_address.next = self.write_set.val();
        self.was_filled.d.next = self.fill.val();
        self.filled_set.d.next = self.write_set.val();
        self.next_victim.d.next = self.victims.read_data.val() + 1;
        self.victims.write_enable.next = self.was_filled.q.val();
        self.victims.write_address.next = self.filled_set.q.val();
        self.victims.write_data.next = self.next_victim.q.val();
        self.hit.next = false;
        self.entry.next = self.sectors[0].entry.val();
        for i in 0..WAYS {
            self.ways[i].clock.next = self.clock.val();
            self.ways[i].read_enable.next = self.read_enable.val();
            self.ways[i].read_set.next = self.read_set.val();
            self.ways[i].region.next = self.asked_region.q.val();
            self.ways[i].number.next = self.asked_line.q.val();
            self.sectors[i].line.next = self.ways[i].data.val();
            self.sectors[i].at.next = self.at.val();
            if self.ways[i].hit.val() {
                self.hit.next = true;
                self.entry.next = self.sectors[i].entry.val();
            }
            self.ways[i].set.next = self.write_set.val();
            self.ways[i].fill.next = self.fill.val() & (self.victims.read_data.val().index() == i);
            self.ways[i].fill_region.next = self.fill_region.val();
            self.ways[i].fill_number.next = self.fill_line.val();
            self.ways[i].fill_data.next = self.fill_data.val();
            // A line that came into the set after its owner was read may go with it: it will be walked for again.
            self.ways[i].scan.next = self.scan.q.val();
            self.ways[i].clear.next = self.clears.val();
            self.ways[i].everything.next = self.everything.q.val();
            self.ways[i].leaving.next = self.leaving.q.val();
        }

        self.forgetting.next = self.is_forgetting.q.val();
        self.has_read.d.next = self.is_forgetting.q.val() & !self.has_read.q.val();
        if self.clears.val() {
            self.scan.d.next = self.scan.q.val() + 1;
            self.is_forgetting.d.next = self.scan.q.val() != self.last.val();
        }
        if self.forget.val() {
            self.is_forgetting.d.next = true;
            self.everything.d.next = false;
            self.leaving.d.next = self.forget_region.val();
        }
        if self.reset.val() {
            self.is_forgetting.d.next = true;
            self.has_read.d.next = false;
            self.everything.d.next = true;
            self.scan.d.next = 0.into();
        }
    }
}
