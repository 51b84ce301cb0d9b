//! Whether a window may be bound, or its key ended, as a work asks.

use rust_hdl::prelude::*;
use stroma_abi::desc::Region;
use stroma_abi::desc::region::rights::{LOCAL_WRITE, REMOTE_ATOMIC, REMOTE_WRITE};

use super::creation::BODY_BITS;
use super::table::Kept;
use crate::constant::number;
use crate::state::command::{KeyCause, KeyVerb, KeyWork};

block! {
    /// Judges one work. Logic only.
    ///
    /// - **Ports** `work`: what is asked, its verb a [`KeyVerb`]; `window`: what the table keeps under the number of the work's
    ///   key; `region`: the same of the region to bind to, which no other verb looks at; `cause`: 0, or the first
    ///   [`KeyCause`] of refusal.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Consent<const MRS: usize> {
        pub work: Signal<In, KeyWork>,
        pub window: Signal<In, Kept<MRS>>,
        pub region: Signal<In, Kept<MRS>>,
        pub cause: Signal<Out, Bits<3>>,
        window_body: Signal<Local, Bits<BODY_BITS>>,
        region_body: Signal<Local, Bits<BODY_BITS>>,
        is_window: Signal<Local, Bit>,
        is_region: Signal<Local, Bit>,
        is_key: Signal<Local, Bit>,
        region_base: Signal<Local, Bits<64>>,
        region_rights: Signal<Local, Bits<5>>,
        end: Signal<Local, Bits<65>>,
        is_too_much: Signal<Local, Bit>,
        is_outside: Signal<Local, Bit>,
        bind: Constant<Bits<2>> = number(KeyVerb::Bind as u64),
        part: Constant<Bits<2>> = number(KeyVerb::Part as u64),
        no_window: Constant<Bits<3>> = number(KeyCause::Window as u64),
        not_so_bound: Constant<Bits<3>> = number(KeyCause::Bound as u64),
        no_region: Constant<Bits<3>> = number(KeyCause::Region as u64),
        rights: Constant<Bits<3>> = number(KeyCause::Rights as u64),
        bounds: Constant<Bits<3>> = number(KeyCause::Bounds as u64),
        queue_pair: Constant<Bits<3>> = number(KeyCause::QueuePair as u64),
        local_write: Constant<Bits<5>> = number(LOCAL_WRITE),
        /// Rights of peers that change memory.
        changing: Constant<Bits<5>> = number(REMOTE_WRITE | REMOTE_ATOMIC),
        base_at: Constant<Bits<8>> = number(Region::BASE.offset()),
        length_at: Constant<Bits<8>> = number(Region::LENGTH.offset()),
        key_at: Constant<Bits<8>> = number(Region::KEY.offset()),
        pd_at: Constant<Bits<8>> = number(Region::PD.offset()),
        rights_at: Constant<Bits<8>> = number(Region::RIGHTS.offset()),
        bindable_at: Constant<Bits<8>> = number(Region::BINDABLE.offset()),
        window_at: Constant<Bits<8>> = number(Region::WINDOW.offset()),
    }
}

impl<const MRS: usize> Logic for Consent<MRS> {
    #[hdl_gen]
    fn update(&mut self) {
        self.window_body.next = self.window.val().body;
        self.is_window.next = self.window.val().exists
            & self.window_body.val().get_bit(self.window_at.val().index())
            & (self.window_body.val().get_bits::<16>(self.pd_at.val().index()) == self.work.val().pd);
        self.is_key.next = self.window.val().bound
            & (self.window_body.val().get_bits::<8>(self.key_at.val().index())
                == bit_cast::<8, 32>(self.work.val().key));

        // A window is not bindable, so none stands for another.
        self.region_body.next = self.region.val().body;
        self.is_region.next = self.region.val().exists
            & self.region_body.val().get_bit(self.bindable_at.val().index())
            & (self.region_body.val().get_bits::<16>(self.pd_at.val().index()) == self.work.val().pd)
            & (self.region_body.val().get_bits::<8>(self.key_at.val().index())
                == bit_cast::<8, 32>(self.work.val().region));
        self.region_rights.next = self.region_body.val().get_bits::<5>(self.rights_at.val().index());
        self.is_too_much.next = (self.work.val().rights & self.local_write.val()).any()
            | ((self.work.val().rights & self.changing.val()).any()
                & !(self.region_rights.val() & self.local_write.val()).any());
        // Counted from the region's base, nothing wraps: an address below it is refused on its own.
        self.region_base.next = self.region_body.val().get_bits::<64>(self.base_at.val().index());
        self.end.next = bit_cast::<65, 64>(self.work.val().base - self.region_base.val())
            + bit_cast::<65, 48>(self.work.val().length);
        self.is_outside.next = !self.work.val().length.any()
            | (self.work.val().base < self.region_base.val())
            | (self.end.val()
                > bit_cast::<65, 48>(self.region_body.val().get_bits::<48>(self.length_at.val().index())));

        self.cause.next = 0.into();
        if !self.is_window.val() {
            self.cause.next = self.no_window.val();
        } else if self.work.val().verb == self.bind.val() {
            if self.window.val().bound {
                self.cause.next = self.not_so_bound.val();
            } else if !self.is_region.val() {
                self.cause.next = self.no_region.val();
            } else if self.is_too_much.val() {
                self.cause.next = self.rights.val();
            } else if self.is_outside.val() {
                self.cause.next = self.bounds.val();
            }
        } else if !self.is_key.val() {
            self.cause.next = self.not_so_bound.val();
        } else if (self.work.val().verb == self.part.val()) & (self.window.val().qpn != self.work.val().qpn) {
            self.cause.next = self.queue_pair.val();
        }
    }
}
