//! Push windows: WQEs that are stored into the card word by word.

use rust_hdl::prelude::*;
use stroma_abi::regs::map::PUSH_WINDOWS;

use crate::constant::{constants, number};
use crate::host::work::PUSH_UNITS;
use crate::prim::fifo::Fifo;
use crate::prim::ram::{ByteRam, LutRam};
use crate::prim::reg::Reg;
use crate::stream::StreamSource;

/// Words of eight bytes of a unit.
const WORDS: usize = 8;
/// log2 of the units that may wait to be taken.
const ROOM_LOG: usize = 4;

block! {
    /// Four windows of four units for each of `2^PAGES` pages, and a mask a window: which words are there.
    ///
    /// A commit finds the mask whole or not, and empties it. Of a whole one the units are copied out at once, while the
    /// owner lets no other store in: what is stored behind the commit cannot tear what was committed.
    ///
    /// - **Ports** `page`, `window`, `word`, `data`: a word, taken in each cycle with `fills`; without `whole` it is
    ///   missing from then on. `commits`: the window's first `units` units are committed in this cycle; `takes`: they
    ///   are complete and there is room, so `copying` is high from the next cycle on, to and including the one with
    ///   `copied`; `page`, `window` and `units` stay as they are meanwhile, and nothing else happens. `pushed`: the units.
    ///   `scrubbing`: not to be used yet; `busy`: units wait in `pushed`.
    /// - **Latency** a commit of n units takes n + 1 cycles; a unit is on offer 2 cycles after its commit or later.
    /// - **Backpressure** at most 16 units wait; a commit for which there is no room is not taken.
    /// - **Reset** empties all windows, a page a cycle, with `scrubbing` high; forgets waiting units.
    /// - **Limits** `UNITS` is `PAGES + 4`, anything else panics when the block is built. Of `units` other than 1 to 4 none
    ///   are taken.
    pub struct Windows<const PAGES: usize, const UNITS: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub page: Signal<In, Bits<PAGES>>,
        pub window: Signal<In, Bits<2>>,
        pub word: Signal<In, Bits<5>>,
        pub data: Signal<In, Bits<64>>,
        pub fills: Signal<In, Bit>,
        pub whole: Signal<In, Bit>,
        pub commits: Signal<In, Bit>,
        pub units: Signal<In, Bits<4>>,
        pub takes: Signal<Out, Bit>,
        pub copying: Signal<Out, Bit>,
        pub copied: Signal<Out, Bit>,
        pub pushed: StreamSource<Bits<512>>,
        pub scrubbing: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        bytes: ByteRam<512, 64, UNITS>,
        masks: [LutRam<Bits<32>, PAGES>; PUSH_WINDOWS],
        waiting: Fifo<Bits<512>, ROOM_LOG>,
        is_scrubbing: Reg<Bit>,
        scrubbed: Reg<Bits<PAGES>>,
        is_copying: Reg<Bit>,
        /// The unit to be read next.
        unit: Reg<Bits<4>>,
        mask: Signal<Local, Bits<32>>,
        bit: Signal<Local, Bits<32>>,
        changed: Signal<Local, Bits<32>>,
        needed: Signal<Local, Bits<32>>,
        starts: Signal<Local, Bit>,
        base: Signal<Local, Bits<UNITS>>,
        spread: Signal<Local, Bits<512>>,
        lane: Signal<Local, Bits<6>>,
        one: Constant<Bits<32>> = number(1),
        word_bytes: Constant<Bits<64>> = number(0xff),
        /// What the mask of n units has to show.
        wholes: [Constant<Bits<32>>; PUSH_UNITS] = constants(|n| ((1_u64 << (WORDS * (n + 1))) - 1).into()),
        window_at: Constant<Bits<3>> = number(unit_bits(PAGES, UNITS)),
        page_at: Constant<Bits<3>> = number(4),
        room: Constant<Bits<16>> = number(1 << ROOM_LOG),
        last: Constant<Bits<PAGES>> = Constant::new(Bits::mask()),
    }
}

/// log2 of a window's units.
///
/// # Panics
/// When `units` is not what `pages` pages need.
fn unit_bits(pages: usize, units: usize) -> usize {
    assert_eq!(units, pages + 4, "2^{pages} pages have 2^{} units in push windows", pages + 4);
    2
}

impl<const PAGES: usize, const UNITS: usize> Logic for Windows<PAGES, UNITS> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, bytes, waiting);
        dff_setup!(self, clock, is_scrubbing, scrubbed, is_copying, unit);
        self.waiting.reset.next = self.reset.val();
        self.scrubbing.next = self.is_scrubbing.q.val();
        self.busy.next = self.waiting.level.val().any();

        // The mask, and what becomes of it.
        self.mask.next = 0.into();
        for i in 0..PUSH_WINDOWS {
            self.masks[i].clock.next = self.clock.val();
            self.masks[i].read_address.next = self.page.val();
            if self.window.val().index() == i {
                self.mask.next = self.masks[i].read_data.val();
            }
        }
        self.bit.next = self.one.val() << self.word.val();
        self.changed.next = self.mask.val() & !self.bit.val();
        if self.whole.val() {
            self.changed.next = self.mask.val() | self.bit.val();
        }
        for i in 0..PUSH_WINDOWS {
            self.masks[i].write_enable.next = self.is_scrubbing.q.val()
                | ((self.fills.val() | self.commits.val()) & (self.window.val().index() == i));
            self.masks[i].write_address.next = self.page.val();
            self.masks[i].write_data.next = self.changed.val();
            if self.commits.val() {
                self.masks[i].write_data.next = 0.into();
            }
            if self.is_scrubbing.q.val() {
                self.masks[i].write_address.next = self.scrubbed.q.val();
                self.masks[i].write_data.next = 0.into();
            }
        }
        if self.is_scrubbing.q.val() {
            self.scrubbed.d.next = self.scrubbed.q.val() + 1;
            self.is_scrubbing.d.next = self.scrubbed.q.val() != self.last.val();
        }

        // The bytes: every lane sees the word, one takes it.
        self.spread.next = 0.into();
        for _i in 0..WORDS {
            self.spread.next = (self.spread.val() << 64) | bit_cast::<512, 64>(self.data.val());
        }
        self.lane.next = bit_cast::<6, 5>(self.word.val()) << 3;
        self.base.next = (bit_cast::<UNITS, PAGES>(self.page.val()) << self.page_at.val())
            | (bit_cast::<UNITS, 2>(self.window.val()) << self.window_at.val());
        self.bytes.write_enable.next = 0.into();
        if self.fills.val() & self.whole.val() {
            self.bytes.write_enable.next = self.word_bytes.val() << self.lane.val();
        }
        self.bytes.write_address.next = self.base.val() | bit_cast::<UNITS, 5>(self.word.val() >> 3);
        self.bytes.write_data.next = self.spread.val();

        // A commit: the first unit is read in its cycle, each further one while the one before goes.
        self.needed.next = 0.into();
        for i in 0..PUSH_UNITS {
            if self.units.val().index() == i + 1 {
                self.needed.next = self.wholes[i].val();
            }
        }
        self.starts.next = self.commits.val()
            & self.needed.val().any()
            & ((self.mask.val() & self.needed.val()) == self.needed.val())
            & (self.waiting.level.val() + bit_cast::<16, 4>(self.units.val()) <= self.room.val());
        self.takes.next = self.starts.val();
        self.bytes.read_enable.next = true;
        self.bytes.read_address.next = self.base.val();
        self.waiting.sink.payload.next = self.bytes.read_data.val();
        self.waiting.sink.valid.next = self.is_copying.q.val();
        self.copying.next = self.is_copying.q.val();
        self.copied.next = self.is_copying.q.val() & (self.unit.q.val() == self.units.val());
        if self.is_copying.q.val() {
            self.bytes.read_address.next = self.base.val() | bit_cast::<UNITS, 4>(self.unit.q.val());
            self.unit.d.next = self.unit.q.val() + 1;
            self.is_copying.d.next = self.unit.q.val() != self.units.val();
        } else {
            self.unit.d.next = 1.into();
            self.is_copying.d.next = self.starts.val();
        }
        StreamSource::<Bits<512>>::link(&mut self.pushed, &mut self.waiting.source);

        if self.reset.val() {
            self.is_scrubbing.d.next = true;
            self.scrubbed.d.next = 0.into();
            self.is_copying.d.next = false;
        }
    }
}
