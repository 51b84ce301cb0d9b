//! Whom an RPC is for, and whether there is room.

use rust_hdl::prelude::*;
use stroma_abi::Field;
use stroma_abi::wire::{RpcStatus, RpcTarget};

use super::classify::Kind;
use super::measure::MTU_LOG;
use super::standing::Standing;
use crate::constant::{constants, number};
use crate::fabric::records::{KERNEL_BITS, NO_KERNEL};
use crate::record;
use crate::transport::records::Arrival;

/// Most kernels: all numbers but [`NO_KERNEL`].
pub const KERNELS: usize = NO_KERNEL as usize;

/// Lowest bit of a field of an `RpcTarget` that stands in an address field.
pub(super) const fn target_at(field: Field) -> usize {
    8 * RpcTarget::LEN - field.byte * 8 - field.width
}

record! {
    /// Who carries out an RPC, and what its answer may take.
    pub struct Callee {
        /// The kernel, or [`NO_KERNEL`].
        pub kernel: Bits<KERNEL_BITS>,
        /// Without one: the `RpcStatus` that is the answer.
        pub refusal: Bits<3>,
        /// PSNs that the answer takes.
        pub reserved: Bits<9>,
        /// It is a packet for a kernel that has no room for it.
        pub lacks_room: Bit,
    }
}

block! {
    /// Finds the kernel of an RPC: where it begins by its op-code, then in what is known of it. Combinational.
    ///
    /// Where several kernels have an op-code, they take turns, and one without room is passed over: a request is refused for want
    /// of room when none of them has any.
    ///
    /// An answer that may be longer than a place of the result area is `TooLong`, whoever is asked for; without an area only an
    /// RPC without an answer is not. Otherwise an op-code that nobody has is `UnknownOperation`.
    ///
    /// - **Ports** `arrival`, `kind`: the request; `standing`: what is known of its queue pair; `room`: a bit for each kernel that
    ///   takes the beginning of a request; `room_more`: for each that takes a packet of the stream it has; `behind`: a bit for each
    ///   kernel behind the one that was called last. `callee`: who carries it out.
    /// - **Limits** up to 15 kernels, whose numbers are the places of their op-codes. `callee` means nothing of what breaks the
    ///   rules.
    pub struct Callees {
        pub arrival: Signal<In, Arrival>,
        pub kind: Signal<In, Kind>,
        pub standing: Signal<In, Standing>,
        pub room: Signal<In, Bits<16>>,
        pub room_more: Signal<In, Bits<16>>,
        pub behind: Signal<In, Bits<16>>,
        pub callee: Signal<Out, Callee>,
        operation: Signal<Local, Bits<16>>,
        response_max: Signal<Local, Bits<18>>,
        most: Signal<Local, Bits<18>>,
        mtu: Signal<Local, Bits<18>>,
        packets: Signal<Local, Bits<9>>,
        is_too_long: Signal<Local, Bit>,
        is_known: Signal<Local, Bit>,
        /// A bit for each kernel that has the op-code; those of them with room, those whose turn it is, and the first of these.
        fitting: Signal<Local, Bits<16>>,
        free: Signal<Local, Bits<16>>,
        in_turn: Signal<Local, Bits<16>>,
        first: Signal<Local, Bits<16>>,
        number: Signal<Local, Bits<KERNEL_BITS>>,
        /// A bit for each kernel that goes on, and for none, which needs no room.
        goes_on: Signal<Local, Bits<16>>,
        has_room: Signal<Local, Bit>,
        operations: [Constant<Bits<16>>; KERNELS] = constants(|_| 0.into()),
        /// A bit for each op-code that counts.
        present: Constant<Bits<16>> = number(0_u64),
        /// Kernels whose numbers have this bit.
        with_bit: [Constant<Bits<16>>; KERNEL_BITS] = constants(|bit| {
            (0..KERNELS).filter(|kernel| kernel >> bit & 1 == 1).fold(0_u64, |mask, kernel| mask | 1 << kernel).into()
        }),
        nobody: Constant<Bits<KERNEL_BITS>> = number(NO_KERNEL),
        always: Constant<Bits<16>> = number(1_u64 << NO_KERNEL),
        too_long: Constant<Bits<3>> = number(RpcStatus::TooLong as u32),
        unknown: Constant<Bits<3>> = number(RpcStatus::UnknownOperation as u32),
        operation_at: Constant<Bits<7>> = number(target_at(RpcTarget::OPERATION)),
        response_max_at: Constant<Bits<7>> = number(target_at(RpcTarget::RESPONSE_MAX)),
        smallest_mtu: Constant<Bits<18>> = number(1 << MTU_LOG),
        mtu_log: Constant<Bits<5>> = number(MTU_LOG),
        byte: Constant<Bits<18>> = number(1_u64),
    }
}

impl Callees {
    /// Kernels with these op-codes, in slots of which some may be empty.
    ///
    /// # Panics
    /// If there are more than 15.
    #[must_use]
    pub fn new(operations: &[Option<u16>]) -> Self {
        assert!(operations.len() <= KERNELS, "{} kernels are too many", operations.len());
        let of = |at: usize| operations.get(at).copied().flatten();
        Self {
            operations: constants(|at| u64::from(of(at).unwrap_or_default()).into()),
            present: number((0..KERNELS).fold(0_u64, |mask, at| mask | u64::from(of(at).is_some()) << at)),
            ..Self::default()
        }
    }
}

impl Logic for Callees {
    #[hdl_gen]
    fn update(&mut self) {
        self.operation.next = bit_cast::<16, 64>(self.arrival.val().va >> self.operation_at.val());
        self.response_max.next = bit_cast::<18, 64>(self.arrival.val().va >> self.response_max_at.val());

        // An answer without data has one packet, too.
        self.mtu.next = self.smallest_mtu.val() << self.arrival.val().path_mtu;
        self.packets.next = bit_cast::<9, 18>(
            ((self.response_max.val() + self.mtu.val() - 1) >> self.mtu_log.val())
                >> self.arrival.val().path_mtu,
        );
        if !self.response_max.val().any() {
            self.packets.next = 1.into();
        }
        self.most.next = self.byte.val() << self.arrival.val().result_log;
        if !self.arrival.val().result_log.any() {
            self.most.next = 0.into();
        }
        self.is_too_long.next = self.response_max.val() > self.most.val();

        self.fitting.next = 0.into();
        for i in 0..15 {
            self.fitting.next = self.fitting.val().replace_bit(
                i,
                self.present.val().get_bit(i) & (self.operation.val() == self.operations[i].val()),
            );
        }
        self.is_known.next = self.fitting.val().any();
        self.free.next = self.fitting.val() & self.room.val();
        self.in_turn.next = self.free.val();
        if (self.free.val() & self.behind.val()).any() {
            self.in_turn.next = self.free.val() & self.behind.val();
        }
        // x & -x is the lowest bit of x.
        self.first.next = self.in_turn.val() & (!self.in_turn.val() + 1);
        self.number.next = 0.into();
        for i in 0..4 {
            self.number.next =
                self.number.val().replace_bit(i, (self.first.val() & self.with_bit[i].val()).any());
        }

        self.goes_on.next = self.room_more.val() | self.always.val();
        if self.kind.val().begins {
            self.callee.next.kernel = self.number.val();
            self.callee.next.refusal = 0.into();
            self.callee.next.reserved = self.packets.val();
            self.has_room.next = self.free.val().any();
            if self.is_too_long.val() | !self.is_known.val() {
                self.callee.next.kernel = self.nobody.val();
                self.callee.next.refusal = self.unknown.val();
                self.has_room.next = true;
            }
            if self.is_too_long.val() {
                self.callee.next.refusal = self.too_long.val();
            }
        } else {
            self.callee.next.kernel = self.standing.val().kernel;
            self.callee.next.refusal = self.standing.val().refusal;
            self.callee.next.reserved = self.standing.val().reserved;
            self.has_room.next = self.goes_on.val().get_bit(self.standing.val().kernel.index());
        }
        self.callee.next.lacks_room = self.kind.val().is_call & !self.has_room.val();
    }
}
