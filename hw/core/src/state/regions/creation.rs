//! What a region may be: nothing that the MMU would translate wrongly. A window begins as nothing at all.

use rust_hdl::prelude::*;
use stroma_abi::Field;
use stroma_abi::desc::Region;
use stroma_abi::desc::region::rights::{LOCAL_WRITE, REMOTE_ATOMIC, REMOTE_WRITE};
use stroma_abi::desc::region::{PAGE_LIST_ENTRY, PAGE_LIST_LINE, PAGE_LOGS};

use crate::constant::{constants, number};
use crate::prim::reg::Reg;

/// Bits of a body.
pub(super) const BODY_BITS: usize = 8 * Region::LEN;
/// Page sizes there are.
const SIZES: usize = PAGE_LOGS.len();
/// log2 of the bytes of the page list that are read at once.
const LINE_LOG: usize = PAGE_LIST_LINE.trailing_zeros() as usize;
/// log2 of the pages whose entries these bytes hold.
const LINE_PAGES_LOG: usize = LINE_LOG - PAGE_LIST_ENTRY.trailing_zeros() as usize;

/// Fields that say nothing about a window, in the order of their bytes.
const FOREIGN: [Field; 8] = [
    Region::BASE,
    Region::LENGTH,
    Region::KEY,
    Region::PAGE,
    Region::DIRECT,
    Region::LIST,
    Region::RIGHTS,
    Region::BINDABLE,
];

/// Ones in these fields.
pub(super) fn ones(fields: impl IntoIterator<Item = Field>) -> Bits<BODY_BITS> {
    let mut bytes = [0; Region::LEN];
    for field in fields {
        field.write(&mut bytes, field.max());
    }
    num_bigint::BigUint::from_bytes_le(&bytes).into()
}

block! {
    /// Judges the body of a create command.
    ///
    /// Refused are, in the order of the body's bytes: a region that wraps past the last address, at `base`; an unknown page
    /// size; at `list`, a page list that does not begin with a line or wraps, or, of a direct region, a first page
    /// that does not begin where a page may, or pages that wrap; at `rights`, memory that peers may change and its owner may not,
    /// as libibverbs has it. All of it may end where the addresses do. Of a window, every field but `pd` that is not zero.
    ///
    /// - **Ports** `body`: of the command; `refused`, `field`: a field holds what it may not, and the byte where the first such
    ///   begins, 0 if there is none; `stored`: the body without what has no name.
    /// - **Latency** 2 cycles, in which `body` stays as it is: three sums follow each other. `stored` has none.
    /// - **Reset** none: nothing is kept.
    pub struct Creation {
        pub clock: Signal<In, Clock>,
        pub body: Signal<In, Bits<BODY_BITS>>,
        pub refused: Signal<Out, Bit>,
        pub field: Signal<Out, Bits<16>>,
        pub stored: Signal<Out, Bits<BODY_BITS>>,
        /// From the start of the region's first page to the region's end.
        span: Reg<Bits<49>>,
        does_wrap: Reg<Bit>,
        /// Bytes from `list` on that the MMU may read, or, of a direct region, give out.
        reach: Reg<Bits<49>>,
        base: Signal<Local, Bits<64>>,
        length: Signal<Local, Bits<48>>,
        list: Signal<Local, Bits<64>>,
        page: Signal<Local, Bits<2>>,
        is_direct: Signal<Local, Bit>,
        within: Signal<Local, Bits<64>>,
        log: Signal<Local, Bits<6>>,
        is_known: Signal<Local, Bit>,
        end: Signal<Local, Bits<65>>,
        last_line: Signal<Local, Bits<49>>,
        list_end: Signal<Local, Bits<65>>,
        is_askew: Signal<Local, Bit>,
        is_window: Signal<Local, Bit>,
        rights: Signal<Local, Bits<5>>,
        base_at: Constant<Bits<8>> = number(Region::BASE.offset()),
        length_at: Constant<Bits<8>> = number(Region::LENGTH.offset()),
        page_at: Constant<Bits<8>> = number(Region::PAGE.offset()),
        direct_at: Constant<Bits<8>> = number(Region::DIRECT.offset()),
        list_at: Constant<Bits<8>> = number(Region::LIST.offset()),
        window_at: Constant<Bits<8>> = number(Region::WINDOW.offset()),
        rights_at: Constant<Bits<8>> = number(Region::RIGHTS.offset()),
        local_write: Constant<Bits<5>> = number(LOCAL_WRITE),
        /// Rights of peers that change memory.
        changing: Constant<Bits<5>> = number(REMOTE_WRITE | REMOTE_ATOMIC),
        rights_byte: Constant<Bits<16>> = number(Region::RIGHTS.byte),
        base_byte: Constant<Bits<16>> = number(Region::BASE.byte),
        page_byte: Constant<Bits<16>> = number(Region::PAGE.byte),
        list_byte: Constant<Bits<16>> = number(Region::LIST.byte),
        size_code: [Constant<Bits<2>>; SIZES] = std::array::from_fn(number),
        size_log: [Constant<Bits<6>>; SIZES] = std::array::from_fn(|page| number(PAGE_LOGS[page])),
        within_page: [Constant<Bits<64>>; SIZES] = std::array::from_fn(|page| number((1_u64 << PAGE_LOGS[page]) - 1)),
        within_line: Constant<Bits<64>> = number(PAGE_LIST_LINE - 1),
        line_log: Constant<Bits<6>> = number(LINE_LOG),
        line_pages_log: Constant<Bits<6>> = number(LINE_PAGES_LOG),
        known: Constant<Bits<BODY_BITS>> = Constant::new(ones(Region::TABLE.iter().map(|entry| entry.field))),
        /// The last first, so that of several the first is told.
        foreign: [Constant<Bits<BODY_BITS>>; FOREIGN.len()] = constants(|at| ones([FOREIGN[FOREIGN.len() - 1 - at]])),
        foreign_byte: [Constant<Bits<16>>; FOREIGN.len()] = std::array::from_fn(|at| number(FOREIGN[FOREIGN.len() - 1 - at].byte)),
    }
}

impl Logic for Creation {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, span, does_wrap, reach);
        self.base.next = self.body.val().get_bits::<64>(self.base_at.val().index());
        self.length.next = self.body.val().get_bits::<48>(self.length_at.val().index());
        self.page.next = self.body.val().get_bits::<2>(self.page_at.val().index());
        self.is_direct.next = self.body.val().get_bit(self.direct_at.val().index());
        self.list.next = self.body.val().get_bits::<64>(self.list_at.val().index());
        self.is_known.next = false;
        self.within.next = 0.into();
        self.log.next = 0.into();
        for i in 0..SIZES {
            if self.page.val() == self.size_code[i].val() {
                self.is_known.next = true;
                self.within.next = self.within_page[i].val();
                self.log.next = self.size_log[i].val();
            }
        }

        self.end.next = bit_cast::<65, 64>(self.base.val()) + bit_cast::<65, 48>(self.length.val());
        self.does_wrap.d.next = self.end.val().get_bit(64) & bit_cast::<64, 65>(self.end.val()).any();
        self.span.d.next =
            bit_cast::<49, 64>(self.base.val() & self.within.val()) + bit_cast::<49, 48>(self.length.val());

        // An empty region has no page, so nothing of its list is ever read.
        self.last_line.next = ((self.span.q.val() - 1) >> self.log.val()) >> self.line_pages_log.val();
        self.reach.d.next = 0.into();
        if self.is_direct.val() {
            self.reach.d.next = self.span.q.val();
        } else if self.length.val().any() {
            self.reach.d.next = (self.last_line.val() + 1) << self.line_log.val();
        }

        self.list_end.next = bit_cast::<65, 64>(self.list.val()) + bit_cast::<65, 49>(self.reach.q.val());
        self.is_askew.next = (self.list.val() & self.within_line.val()).any();
        if self.is_direct.val() {
            self.is_askew.next = (self.list.val() & self.within.val()).any();
        }
        self.is_window.next = self.body.val().get_bit(self.window_at.val().index());
        self.rights.next = self.body.val().get_bits::<5>(self.rights_at.val().index());
        self.refused.next = true;
        self.field.next = 0.into();
        if self.is_window.val() {
            self.refused.next = false;
            for i in 0..8 {
                if (self.body.val() & self.foreign[i].val()).any() {
                    self.refused.next = true;
                    self.field.next = self.foreign_byte[i].val();
                }
            }
        } else if self.does_wrap.q.val() {
            self.field.next = self.base_byte.val();
        } else if !self.is_known.val() {
            self.field.next = self.page_byte.val();
        } else if self.is_askew.val()
            | (self.list_end.val().get_bit(64) & bit_cast::<64, 65>(self.list_end.val()).any())
        {
            self.field.next = self.list_byte.val();
        } else if (self.rights.val() & self.changing.val()).any()
            & !(self.rights.val() & self.local_write.val()).any()
        {
            self.field.next = self.rights_byte.val();
        } else {
            self.refused.next = false;
        }
        self.stored.next = self.body.val() & self.known.val();
    }
}
