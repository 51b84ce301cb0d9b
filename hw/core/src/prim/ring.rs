//! The two pointers of a ring buffer. Every FIFO needs them, and `full` and `some` are worth registering once.

use rust_hdl::prelude::*;

use super::reg::Reg;

block! {
    /// Where the next beat is written and read in a memory of `2^LOG` places, and how many are in use.
    ///
    /// - **Ports** `push`, `pop`: a beat enters, a beat leaves (the caller checks `full` and `some`); `write_at`,
    ///   `read_at`: its place; `some`, `full`: registered; `level`: places in use.
    /// - **Latency** 1 cycle from `push` and `pop` to every output. **Rate** one of each per cycle.
    /// - **Backpressure** none: a `push` when `full` or a `pop` without `some` breaks the ring.
    /// - **Reset** empties it.
    /// - **Limits** `LOG` from 1 to 15, so that `level` fits; anything else panics when the block is built.
    pub struct Ring<const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub push: Signal<In, Bit>,
        pub pop: Signal<In, Bit>,
        pub write_at: Signal<Out, Bits<LOG>>,
        pub read_at: Signal<Out, Bits<LOG>>,
        pub some: Signal<Out, Bit>,
        pub full: Signal<Out, Bit>,
        pub level: Signal<Out, Bits<16>>,
        write_pointer: Reg<Bits<LOG>>,
        read_pointer: Reg<Bits<LOG>>,
        is_some: Reg<Bit>,
        is_full: Reg<Bit>,
        distance: Signal<Local, Bits<LOG>>,
        capacity: Constant<Bits<16>> = Constant::new(capacity(LOG)),
    }
}

/// `2^log` as a level.
///
/// # Panics
/// If `log` is not in 1 to 15.
pub(crate) fn capacity(log: usize) -> Bits<16> {
    assert!((1..=15).contains(&log), "a ring has 2 to 32768 places, not 2^{log}");
    (1_u64 << log).into()
}

impl<const LOG: usize> Logic for Ring<LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, write_pointer, read_pointer, is_some, is_full);
        self.write_pointer.d.next = self.write_pointer.q.val() + self.push.val();
        self.read_pointer.d.next = self.read_pointer.q.val() + self.pop.val();
        self.write_at.next = self.write_pointer.q.val();
        self.read_at.next = self.read_pointer.q.val();
        self.some.next = self.is_some.q.val();
        self.full.next = self.is_full.q.val();
        self.distance.next = self.write_pointer.q.val() - self.read_pointer.q.val();
        self.level.next = bit_cast::<16, LOG>(self.distance.val());
        if self.is_full.q.val() {
            self.level.next = self.capacity.val();
        }
        // Equal pointers mean full after a push and empty after a pop; when both happen nothing changes.
        if self.push.val() & !self.pop.val() {
            self.is_some.d.next = true;
            self.is_full.d.next = (self.write_pointer.q.val() + 1) == self.read_pointer.q.val();
        }
        if self.pop.val() & !self.push.val() {
            self.is_some.d.next = (self.read_pointer.q.val() + 1) != self.write_pointer.q.val();
            self.is_full.d.next = false;
        }
        if self.reset.val() {
            self.write_pointer.d.next = 0.into();
            self.read_pointer.d.next = 0.into();
            self.is_some.d.next = false;
            self.is_full.d.next = false;
        }
    }
}
