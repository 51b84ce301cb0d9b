//! The access check, which every DMA of the card passes: key, protection domain, window, rights, bounds.

use rust_hdl::prelude::*;
use stroma_abi::desc::region::rights::{REMOTE_ATOMIC, REMOTE_READ, REMOTE_WRITE, RPC};

use super::memory_keys::RegionRow;
use crate::constant::number;
use crate::record;

/// Longest request.
pub const LEN_MAX: usize = 4096;

record! {
    /// A question: where is this piece of memory, and may I?
    pub struct XlatRequest {
        /// Who asks; answers to one client come in the order of its questions.
        pub client: Bits<3>,
        /// Returned with the answer.
        pub tag: Bits<6>,
        /// `L_Key` or `R_Key`: the region's number above a byte.
        pub key: Bits<32>,
        /// Protection domain of the asker.
        pub pd: Bits<16>,
        /// Its queue pair: a memory window is there for one alone.
        pub qpn: Bits<24>,
        /// First byte.
        pub va: Bits<64>,
        /// Bytes, 0 to [`LEN_MAX`]; more are out of bounds.
        pub len: Bits<13>,
        /// Rights it takes.
        pub need: Bits<5>,
    }
}

/// What is asked on behalf of a peer takes one of these.
pub(super) const REMOTE: u8 = REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC | RPC;

/// Why a request was refused. The first that applies is told; `Window` comes behind `Domain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// There is no such region, or its key is another.
    Key = 1,
    /// The region belongs to another protection domain.
    Domain = 2,
    /// The region does not grant what the request needs.
    Rights = 3,
    /// A byte of the request lies outside the region.
    Bounds = 4,
    /// The page list could not be read.
    PageList = 5,
    /// It is a memory window: that of another queue pair, or asked for by this host, which uses the region instead.
    Window = 6,
}

block! {
    /// Judges one request. Logic only.
    ///
    /// - **Ports** `request`: what is asked; `row`: the region its key names; `cause`: 0, or the [`Cause`] of refusal.
    /// - **Latency** 0 cycles. **Reset** none.
    pub struct Access {
        pub request: Signal<In, XlatRequest>,
        pub row: Signal<In, RegionRow>,
        pub cause: Signal<Out, Bits<3>>,
        end: Signal<Local, Bits<65>>,
        is_outside: Signal<Local, Bit>,
        /// A window, and not for this request.
        is_barred: Signal<Local, Bit>,
        longest: Constant<Bits<13>> = number(LEN_MAX),
        key: Constant<Bits<3>> = number(Cause::Key as u64),
        domain: Constant<Bits<3>> = number(Cause::Domain as u64),
        window: Constant<Bits<3>> = number(Cause::Window as u64),
        rights: Constant<Bits<3>> = number(Cause::Rights as u64),
        bounds: Constant<Bits<3>> = number(Cause::Bounds as u64),
        remote: Constant<Bits<5>> = number(REMOTE),
    }
}

impl Logic for Access {
    #[hdl_gen]
    fn update(&mut self) {
        // Counted from the region's base, nothing wraps: an address below it is refused on its own.
        self.end.next = bit_cast::<65, 64>(self.request.val().va - self.row.val().base)
            + bit_cast::<65, 13>(self.request.val().len);
        self.is_outside.next = (self.request.val().va < self.row.val().base)
            | (self.end.val() > bit_cast::<65, 48>(self.row.val().length))
            | (self.request.val().len > self.longest.val());
        self.is_barred.next = self.row.val().window
            & (!(self.request.val().need & self.remote.val()).any()
                | (self.request.val().qpn != self.row.val().qpn));
        self.cause.next = 0.into();
        if !self.row.val().valid | (bit_cast::<8, 32>(self.request.val().key) != self.row.val().key) {
            self.cause.next = self.key.val();
        } else if self.request.val().pd != self.row.val().pd {
            self.cause.next = self.domain.val();
        } else if self.is_barred.val() {
            self.cause.next = self.window.val();
        } else if (self.request.val().need & !self.row.val().rights).any() {
            self.cause.next = self.rights.val();
        } else if self.is_outside.val() {
            self.cause.next = self.bounds.val();
        }
    }
}
