//! Page arithmetic: from a place in a region to an entry of its page list, and back to an address.

use rust_hdl::prelude::*;
use stroma_abi::desc::region::PAGE_LOGS;

use super::access::XlatRequest;
use super::memory_keys::{ORIGIN_BITS, RegionRow};
use crate::constant::number;
use crate::record;

/// Bits of the number of a page within its region.
pub const PAGE_BITS: usize = 37;
/// Bits of the number of a line of eight page-list entries.
pub const LINE_BITS: usize = PAGE_BITS - 3;

record! {
    /// Where a request lies in its region.
    pub struct Place {
        /// The page of its first byte, counted from the region's first page, also through a window.
        pub page: Bits<PAGE_BITS>,
        /// Place of that byte in the page.
        pub offset: Bits<64>,
        /// Bytes in that page.
        pub first: Bits<13>,
        /// Bytes in the next page; a request touches no third, for it is no longer than the smallest page.
        pub rest: Bits<13>,
        /// Address of the first byte if the pages follow each other.
        pub direct: Bits<64>,
    }
}

block! {
    /// Finds the place of a request that is within bounds. Logic only.
    ///
    /// - **Ports** `request`, `row`: what is asked of which region; `place`: where it is.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Pages {
        pub request: Signal<In, XlatRequest>,
        pub row: Signal<In, RegionRow>,
        pub place: Signal<Out, Place>,
        origin: Signal<Local, Bits<64>>,
        page_of_va: Signal<Local, Bits<64>>,
        page_of_origin: Signal<Local, Bits<64>>,
        within: Signal<Local, Bits<64>>,
        bytes: Signal<Local, Bits<31>>,
        offset: Signal<Local, Bits<64>>,
        end: Signal<Local, Bits<31>>,
        rest: Signal<Local, Bits<13>>,
        log: [Constant<Bits<6>>; 3] = std::array::from_fn(|page| number(PAGE_LOGS[page])),
        size: [Constant<Bits<31>>; 3] = std::array::from_fn(|page| number(1_u64 << PAGE_LOGS[page])),
        within_page: [Constant<Bits<64>>; 3] = std::array::from_fn(|page| number((1_u64 << PAGE_LOGS[page]) - 1)),
    }
}

impl Logic for Pages {
    #[hdl_gen]
    fn update(&mut self) {
        self.origin.next = bit_cast::<64, ORIGIN_BITS>(self.row.val().origin) << self.log[0].val();
        self.page_of_va.next = self.request.val().va >> self.log[2].val();
        self.page_of_origin.next = self.origin.val() >> self.log[2].val();
        self.within.next = self.within_page[2].val();
        self.bytes.next = self.size[2].val();
        for i in 0..2 {
            if self.row.val().page.index() == i {
                self.page_of_va.next = self.request.val().va >> self.log[i].val();
                self.page_of_origin.next = self.origin.val() >> self.log[i].val();
                self.within.next = self.within_page[i].val();
                self.bytes.next = self.size[i].val();
            }
        }
        self.offset.next = self.request.val().va & self.within.val();
        self.end.next = bit_cast::<31, 64>(self.offset.val()) + bit_cast::<31, 13>(self.request.val().len);
        self.rest.next = 0.into();
        if self.end.val() > self.bytes.val() {
            self.rest.next = bit_cast::<13, 31>(self.end.val() - self.bytes.val());
        }
        self.place.next.page = bit_cast::<37, 64>(self.page_of_va.val() - self.page_of_origin.val());
        self.place.next.offset = self.offset.val();
        self.place.next.first = self.request.val().len - self.rest.val();
        self.place.next.rest = self.rest.val();
        self.place.next.direct = (bit_cast::<64, 58>(self.row.val().list) << 6)
            + (self.request.val().va - (self.origin.val() & !self.within.val()));
    }
}

block! {
    /// The address behind a page-list entry. Logic only.
    ///
    /// - **Ports** `entry`: of the page list; `page`: the region's page size; `offset`: place in the page; `iova`: the
    ///   address. Bits of the entry below the page size are ignored.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Frame {
        pub entry: Signal<In, Bits<64>>,
        pub page: Signal<In, Bits<2>>,
        pub offset: Signal<In, Bits<64>>,
        pub iova: Signal<Out, Bits<64>>,
        within: Signal<Local, Bits<64>>,
        within_page: [Constant<Bits<64>>; 3] = std::array::from_fn(|page| number((1_u64 << PAGE_LOGS[page]) - 1)),
    }
}

impl Logic for Frame {
    #[hdl_gen]
    fn update(&mut self) {
        self.within.next = self.within_page[2].val();
        for i in 0..2 {
            if self.page.val().index() == i {
                self.within.next = self.within_page[i].val();
            }
        }
        self.iova.next = (self.entry.val() & !self.within.val()) | self.offset.val();
    }
}

block! {
    /// One of the eight entries of a page-list line. Logic only.
    ///
    /// - **Ports** `line`: eight entries, the first lowest; `at`: which; `entry`: that one.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Entry {
        pub line: Signal<In, Bits<512>>,
        pub at: Signal<In, Bits<3>>,
        pub entry: Signal<Out, Bits<64>>,
    }
}

impl Logic for Entry {
    #[hdl_gen]
    fn update(&mut self) {
        self.entry.next = self.line.val().get_bits::<64>(0);
        for i in 0..8 {
            if self.at.val().index() == i {
                self.entry.next = self.line.val().get_bits::<64>(i * 64);
            }
        }
    }
}
